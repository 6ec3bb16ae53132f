"""What ``assay collect``, ``assay serve`` and ``assay lint`` do; each function returns an exit code.

0 is done, 1 is done in part (asks are left, findings were made), and what was given wrongly is raised: the command line
turns that into one line and exit code 2.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

import pandas as pd

from assay.ask.choosing import (
    Choice,
    CommandError,
    choose,
    connection_to,
    prompt_path,
    require_price,
    say_textless,
    surrounding_study,
)
from assay.ask.client import Connection
from assay.ask.collection import DEFAULT_CONCURRENCY, collect
from assay.ask.export import export_answers, require_superseded, tidy_rows
from assay.ask.lint import lint_prompt
from assay.ask.local import LocalModel
from assay.ask.plan import Plan, distinct, make_plan, unsettled
from assay.ask.request import Ask, Patience, Settings
from assay.ask.source import Source, load_source
from assay.ask.store import Store
from assay.files import Output, identity, require_apart, require_outputs, shown_path
from assay.loops import complete
from assay.rules import Price, PriceSheet

_LOCAL_PATIENCE: Final = Patience(timeout=600.0)
"""On a busy machine a small model may take minutes for a long prompt."""


def collect_answers(
    study: str,
    prompts: Sequence[str],
    *,
    model: str | None = None,
    local: bool = False,
    gguf: Path | None = None,
    base_url: str | None = None,
    run: int = 0,
    limit: int | None = None,
    max_cost: str | None = None,
    prices: Path | None = None,
    concurrency: int | None = None,
    store: Path | None = None,
    export: Path | None = None,
    dry_run: bool = False,
    planned: Callable[[Plan], object] = print,
) -> int:
    """Ask the items of a study and print a summary.

    Parameters
    ----------
    study : str
        Name of a study, or path of its folder. Its answers need not be there.
    prompts : sequence of str
        Paths of prompt files, or names of prompts of the study.
    model : str, optional
        Name of the model, or of the Azure deployment. Needed unless the model is local.
    local : bool
        Ask the embedded model, or `gguf`, started for the purpose.
    gguf : Path, optional
    base_url : str, optional
        Of a compatible server.
    run : int
        Which repetition, from 0.
    limit : int, optional
        Ask the first so many items alone.
    max_cost : str, optional
        US dollars.
    prices : Path, optional
        A price file; see `PriceSheet.from_json`.
    concurrency : int, optional
        Asks in flight; by default 8, and 1 for a local model.
    store : Path, optional
        By default ``reports/answers/<study>.sqlite`` under the root of the repository.
    export : Path, optional
        Write the answers of the store as parquet as well.
    dry_run : bool
        Say what would be asked, and what it would take, and ask nothing.
    planned : callable
        Told the plan of a dry run.

    Returns
    -------
    int
        0 if every ask has an outcome in the store that stands. A failure that is the answer's stands, such as a refusal
        or one of a content filter: it is not asked again. 1 if some asks are left, wait in a batch, or failed in a way
        that is the provider's, after which they are asked again when this is called again.
    """
    chosen = choose(study, prompts, run=run, limit=limit, max_cost=max_cost, prices=prices, store=store)
    source, sheet = chosen.source, chosen.prices
    local = local or gguf is not None
    if local and (model is not None or base_url is not None):
        raise CommandError("--local asks a model of its own: leave out --model and --base-url")
    if not local and model is None:
        raise CommandError("--model is needed, or --local for the embedded model")
    if export is not None:
        _require_export(export, chosen, gguf, dry_run)
    say_textless(source)
    here = LocalModel(gguf) if local else None
    name = str(model) if here is None else here.name
    if here is not None:
        # What runs here is paid for otherwise.
        sheet = PriceSheet({**sheet.prices, name: Price(0, 0)})
    require_price(chosen.budget, sheet, name)
    asks = chosen.asks(name, Settings(patience=_LOCAL_PATIENCE) if local else Settings())
    different, path = distinct(asks), chosen.store
    with _stored(path) as known:
        if export is not None and _is_own(export, source):
            require_superseded(known, export)
        if dry_run:
            planned(make_plan(known, asks, source.taxonomy, source.fields, prices=sheet))
            return 0
        new = unsettled(known.states(different), different)
    with contextlib.ExitStack() as stack:
        connection = None
        if new:
            if here is not None:
                stack.enter_context(here)
            connection = connection_to(base_url if here is None else here.base_url)
        opened = stack.enter_context(Store(path))
        if here is not None:
            opened.note(f"sha256 of the weights of {name}", here.sha256)
        at_once = concurrency or (1 if local else DEFAULT_CONCURRENCY)
        complete(_collect(connection, opened, asks, source, at_once, chosen.budget, sheet))
        print_summary(opened, asks, source)
        left = unsettled(opened.states(different), different)
        if left:
            print(f"{left:,} of {len(different):,} asks have no outcome that stands; call again to ask them")
        print(f"store: {path}")
        if export is not None:
            count = export_answers(opened, export, source.taxonomy, source.fields, prices=sheet)
            print(f"{export}: {count:,} rows")
        elif absent := [file for file in source.answers if not file.exists()]:
            print(f"the study has no answers yet: --export {shown_path(absent[0])} makes these its own")
    return 1 if left else 0


def _require_export(export: Path, chosen: Choice, gguf: Path | None, dry_run: bool) -> None:
    """Refuse an export that would destroy what is read; to the study's own file of answers it may go."""
    own = {identity(file) for file in chosen.source.answers if _is_own(export, chosen.source)}
    read = [file for file in (*chosen.files, *([] if gguf is None else [gguf])) if identity(file) not in own]
    # A dry run makes no folder, so it cannot try whether the places can be written.
    require = require_apart if dry_run else require_outputs
    require([Output("--export", export, (".parquet",)), Output("--store", chosen.store)], read)


def _is_own(export: Path, source: Source) -> bool:
    """Tell whether a file is one of the study's own for answers."""
    return identity(export) in {identity(file) for file in source.answers}


def _stored(path: Path) -> Store:
    """Open a store, or an empty one in memory where there is none: nothing is made."""
    return Store(path if path.exists() else ":memory:")


def serve(*, gguf: Path | None = None, port: int = 0, slots: int = 1, threads: int | None = None) -> int:
    """Serve the embedded model, or another, on loopback until this is interrupted.

    Parameters
    ----------
    gguf : Path, optional
    port : int
        0 for a free one.
    slots : int
        Completions at one time.
    threads : int, optional

    Returns
    -------
    int
        0 when it is told to end, 1 if the server ends by itself.
    """
    with LocalModel(gguf, port=port, slots=slots, threads=threads) as model:
        print(f"model: {model.name}")
        print(f"weights: sha256 {model.sha256}")
        print(f"base URL: {model.base_url} (no key; Ctrl-C ends it)", flush=True)
        try:
            code = model.wait()
        except KeyboardInterrupt:
            return 0
    print(f"assay: the server ended by itself (exit code {code})", file=sys.stderr)
    return 1


def lint(prompts: Sequence[str], *, study: str | None = None) -> int:
    """Check prompt files and print what is wrong with them, one finding a line.

    Parameters
    ----------
    prompts : sequence of str
        Paths, or names of prompts of the study.
    study : str, optional
        Name or path of the study whose items they ask, for the classes and for leaks; by default the one in whose
        folder a prompt lies.

    Returns
    -------
    int
        0 if nothing is wrong, 1 if something is.
    """
    findings = 0
    for given in prompts:
        source = load_source(study) if study is not None else surrounding_study(Path(given))
        path = Path(given) if source is None else prompt_path(given, source)
        if not path.is_file():
            raise CommandError(f"{given}: no such file")
        found = lint_prompt(path, source)  # type: ignore[arg-type]  # it looks at what both have
        findings += len(found)
        for one in found:
            print(one)
        if not found:
            print(f"{path}: nothing to find fault with")
        if source is None:
            print(f"{path}: in no study, so neither its labels nor leaks of items were looked for; give --study")
    return 1 if findings else 0


async def _collect(
    connection: Connection | None,
    store: Store,
    asks: Sequence[Ask],
    source: Source,
    concurrency: int,
    budget: Decimal | None,
    prices: PriceSheet,
) -> None:
    async with connection or contextlib.nullcontext():
        done = await collect(
            connection,
            store,
            asks,
            source.taxonomy,
            source.fields,
            concurrency=concurrency,
            max_cost_usd=budget,
            prices=prices,
        )
    print(done)


def print_summary(store: Store, asks: Sequence[Ask], source: Source) -> None:
    """Print, for each prompt and elicitation, how many answers are right, wrong and unreadable, of what was wanted."""
    wanted = {ask.key for ask in asks}
    labels = dict(zip(source.items["item_id"], source.items["label"], strict=True))
    counts: Counter[tuple[str, str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for row in tidy_rows(store, source.taxonomy, source.fields):
        key = (row["item_id"], row["requested_model"], row["prompt_hash"], row["settings_digest"], row["run"])
        if key not in wanted:
            continue
        how = "unreadable" if row["error"] else "right" if row["predicted"] == labels[row["item_id"]] else "wrong"
        counts[row["prompt"], row["elicitation"], how] += 1
        if row["error"]:
            kinds[row["error"]] += 1
    if not counts:
        return
    table = pd.Series(counts).unstack(fill_value=0).reindex(columns=["right", "wrong", "unreadable"], fill_value=0)
    print(table.rename_axis(["prompt", "elicitation"]).reset_index().to_string(index=False))
    if kinds:
        told = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
        print(f"unreadable, each kind of confidence counted: {told}")
