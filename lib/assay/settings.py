"""What a notebook may be told: one typed model for each notebook; `assay.parameters` checks what was given by it.

To add a notebook, write its model and enter it in `NOTEBOOKS`.
"""

import contextlib
from decimal import Decimal, InvalidOperation
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


OptionalName = Annotated[str | None, BeforeValidator(_empty_is_none)]
Share = Annotated[float, Field(ge=0, le=1)]


class Settings(BaseModel):
    """What every notebook about a study accepts. Each description says what is allowed, and errors repeat it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    in_report: ClassVar[bool] = True
    """Whether ``assay report`` runs the notebook; one that asks models does not belong there."""

    writes: ClassVar[tuple[str, ...]] = ("record",)
    """Settings that are paths of files that a run writes, each run its own; blank for the usual place or for none."""

    reads: ClassVar[tuple[str, ...]] = ()
    """Settings that are paths of files that a run reads beside its study; blank for none."""

    acts: ClassVar[tuple[str, ...]] = ()
    """Settings of what a run does beyond reading a study, which no study may turn on for whoever reports on it."""

    study: str = Field(description="the name of a study or the path of its folder", min_length=1)
    model: OptionalName = Field(None, description="the name of a model in the study, or None")
    prompt: OptionalName = Field(None, description="the name of a prompt in the study, or None")
    calibration: Annotated[Literal["classifier", "language_model"] | None, BeforeValidator(_empty_is_none)] = Field(
        None, description="classifier, language_model or None"
    )
    elicitation: Annotated[Literal["verbal", "token", "vote"] | None, BeforeValidator(_empty_is_none)] = Field(
        None, description="verbal, token, vote or None"
    )
    tags: str = Field(
        "",
        description='"" or name=value pairs between commas',
        pattern=r"^\s*$|^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$",
    )
    part: Literal["all", "tuning", "certification"] = Field("all", description="all, tuning or certification")
    seed: int | None = Field(None, ge=0, lt=2**63, description="a whole number from 0, or None for the study's own")
    record: str = Field("", description='the path of the record to write, or "" for the usual place')

    @property
    def selection(self) -> dict[str, str]:
        """The tags as a mapping, ``{"set": "semigran"}`` for ``set=semigran``."""
        pairs = (pair.split("=") for pair in self.tags.split(",") if pair.strip())
        return {name.strip(): value.strip() for name, value in pairs}


class CollectSettings(Settings):
    """For 00_collect: what did the models say, and is it fit to use. It asks nothing unless `ask` says so."""

    reads: ClassVar[tuple[str, ...]] = ("prices", "store")

    acts: ClassVar[tuple[str, ...]] = ("ask", "store")

    asking: ClassVar[tuple[str, ...]] = (
        "local", "base_url", "run", "limit", "max_cost", "prices", "concurrency", "store", "dry_run",
    )  # fmt: skip
    """Settings that mean something only where a model is asked."""

    ask: bool = Field(False, description="True to ask a model, False to look at the answers that the study has")
    local: bool = Field(False, description="True for the embedded model, else False")
    base_url: str = Field("", description='the address of a compatible server, or "" for that of the environment')
    run: int = Field(0, ge=0, description="a whole number from 0")
    limit: int | None = Field(None, ge=1, description="a whole number from 1, or None for all items")
    max_cost: str = Field("", description='US dollars as text, such as "2.50", or "" for no limit')
    prices: str = Field("", description='the path of a price file, or "" for none: costs are then unknown')
    concurrency: int | None = Field(None, ge=1, le=1000, description="a whole number from 1 to 1000, or None")
    store: str = Field("", description='the path of the store of answers, or "" for the usual place')
    dry_run: bool = Field(False, description="True to say what would be asked and ask nothing")

    @field_validator("max_cost", mode="after")
    @classmethod
    def _us_dollars(cls, value: str) -> str:
        if value:
            with contextlib.suppress(InvalidOperation):
                amount = Decimal(value)
                if amount.is_finite() and amount >= 0:
                    return value
            raise ValueError("no amount")
        return value

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if not self.ask:
            idle = [name for name in self.asking if getattr(self, name) != type(self).model_fields[name].default]
            if idle:
                raise ValueError(
                    f"{', '.join(idle)} {'says' if len(idle) == 1 else 'say'} how to ask a model, and ask is False: set "
                    f"ask to True, or leave {'it' if len(idle) == 1 else 'them'} out"
                )
            return self
        if self.prompt is None:
            raise ValueError("prompt must name a prompt of the study to ask with, got None")
        if self.local and (self.model is not None or self.base_url):
            raise ValueError("local asks a model of its own: leave out model and base_url")
        if not self.local and self.model is None:
            raise ValueError("model must name the model to ask, unless local is True, got None")
        if self.max_cost and not self.local and not self.prices:
            raise ValueError("max_cost needs to know what the model costs: name a price file in prices")
        return self


class CalibrateSettings(Settings):
    """For 10_calibrate: is the confidence real."""

    bins: int = Field(10, ge=1, le=200, description="a whole number from 1 to 200")
    binning: Literal["mass", "width"] = Field("mass", description="mass or width")
    resamples: int = Field(2000, ge=100, le=100_000, description="a whole number from 100 to 100000")


class PointSettings(Settings):
    """For notebooks about an operating point."""

    threshold: Share | None = Field(None, description="a number from 0 to 1, or None to have it tuned")
    tie_margin: Share | None = Field(None, description="a number from 0 to 1, or None to have it tuned")
    delta: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="a number above 0 and below 1, or None for the delta of each gate"
    )
    grid: int = Field(101, ge=11, le=1001, description="a whole number from 11 to 1001")


class ThresholdsSettings(PointSettings):
    """For 20_thresholds: which threshold and tie margin."""

    writes: ClassVar[tuple[str, ...]] = ("record", "policy")

    policy: str = Field("", description='the path of the policy file to write, or "" for none')


class PromptsSettings(Settings):
    """For 30_prompts: which prompt, and is the difference real."""

    part: Literal["all", "tuning", "certification"] = Field("tuning", description="all, tuning or certification")
    primary: str | list[str] = Field("accuracy", description="the name of a metric, or several between commas")
    permutations: int | None = Field(
        None, ge=100, le=1_000_000, description="a whole number from 100 to 1000000, or None for as many as are needed"
    )

    @field_validator("primary", mode="after")
    @classmethod
    def _names(cls, value: str | list[str]) -> list[str]:
        names = [name.strip() for name in (value.split(",") if isinstance(value, str) else value)]
        if not names or not all(names) or len(set(names)) < len(names):
            raise ValueError("empty or repeated name")
        return names


class RoutingSettings(Settings):
    """For 40_routing: when may the cheap model answer."""

    writes: ClassVar[tuple[str, ...]] = ("record", "policy")

    reads: ClassVar[tuple[str, ...]] = ("prices",)

    part: Literal["all", "tuning", "certification"] = Field("tuning", description="all, tuning or certification")
    cheap: str = Field("", description='the name of a series (its model, or model and prompt between commas), or ""')
    expensive: str = Field(
        "", description='the name of a series (its model, or model and prompt between commas), or ""'
    )
    min_questions: int = Field(20, ge=1, le=1_000_000, description="a whole number from 1 to 1000000")
    max_disagreement_rate: Share = Field(0.05, description="a number from 0 to 1")
    confidence_floors: str | list[float] = Field(
        "",
        validate_default=True,
        description='numbers from 0 to 1 between commas, none twice, or "" for the usual ones',
    )
    margin_floors: str | list[float] = Field(
        "",
        validate_default=True,
        description='numbers from 0 to 1 between commas, none twice, or "" for the usual ones',
    )
    prices: str = Field("", description='the path of a price file, or "" for none: costs are then unknown')
    policy: str = Field("", description='the path of the routing policy to write, or "" for none')

    @field_validator("confidence_floors", "margin_floors", mode="after")
    @classmethod
    def _floors(cls, value: str | list[float]) -> list[float]:
        given = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        floors = sorted(float(one) for one in given)
        if not all(0 <= one <= 1 for one in floors) or len(set(floors)) < len(floors):
            raise ValueError("out of range or repeated")
        return floors


class ReviewSettings(PointSettings):
    """For 90_review: the page that is signed."""


NOTEBOOKS: dict[str, type[Settings]] = {
    "00_collect": CollectSettings,
    "10_calibrate": CalibrateSettings,
    "20_thresholds": ThresholdsSettings,
    "30_prompts": PromptsSettings,
    "40_routing": RoutingSettings,
    "90_review": ReviewSettings,
}
