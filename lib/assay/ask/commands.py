"""What ``assay collect``, ``assay serve`` and ``assay lint`` do; each function returns an exit code.

0 is done, 1 is done in part (asks are left, findings were made), and what was given wrongly is raised: the command line
turns that into one line and exit code 2.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

import pandas as pd

from assay.ask.choosing import (
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
from assay.ask.export import export_answers, tidy_rows
from assay.ask.lint import lint_prompt
from assay.ask.local import LocalModel
from assay.ask.plan import Plan, distinct, make_plan, unsettled
from assay.ask.request import Ask, Patience, Settings
from assay.ask.source import Source, load_source
from assay.ask.store import Store
from assay.files import Output, require_apart, require_outputs
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
        read = [*chosen.files, *([] if gguf is None else [gguf])]
        # A dry run makes no folder, so it cannot try whether the places can be written.
        require = require_apart if dry_run else require_outputs
        require([Output("--export", export, (".parquet",)), Output("--store", chosen.store)], read)
    say_textless(source)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(_prepared(gguf, dry_run)) if local else None
        name = server.name if server is not None else str(model)
        if server is not None:
            # What runs here is paid for otherwise.
            sheet = PriceSheet({**sheet.prices, name: Price(0, 0)})
        require_price(chosen.budget, sheet, name)
        asks = chosen.asks(name, Settings(patience=_LOCAL_PATIENCE) if local else Settings())
        path = chosen.store
        if dry_run:
            opened = stack.enter_context(Store(path if path.exists() else ":memory:"))
            planned(make_plan(opened, asks, source.taxonomy, source.fields, prices=sheet))
            return 0
        connection = connection_to(server.base_url if server is not None else base_url)
        opened = stack.enter_context(Store(path))
        if server is not None:
            opened.note(f"sha256 of the weights of {name}", server.sha256)
        at_once = concurrency or (1 if local else DEFAULT_CONCURRENCY)
        complete(_collect(connection, opened, asks, source, at_once, chosen.budget, sheet))
        print_summary(opened, asks, source)
        different = distinct(asks)
        left = unsettled(opened.states(different), different)
        if left:
            print(f"{left:,} of {len(different):,} asks have no outcome that stands; call again to ask them")
        print(f"store: {path}")
        if export is not None:
            count = export_answers(opened, export, source.taxonomy, source.fields, prices=sheet)
            print(f"{export}: {count:,} rows")
    return 1 if left else 0


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
    connection: Connection,
    store: Store,
    asks: Sequence[Ask],
    source: Source,
    concurrency: int,
    budget: Decimal | None,
    prices: PriceSheet,
) -> None:
    async with connection:
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


@contextlib.contextmanager
def _prepared(gguf: Path | None, dry_run: bool) -> Iterator[LocalModel]:
    """Give the local model, started unless nothing is to be asked of it."""
    model = LocalModel(gguf)
    if dry_run:
        yield model
    else:
        with model:
            yield model
