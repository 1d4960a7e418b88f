"""The commands of family `cluster` alone: `import` and `backtest`, as functions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.arguments import Isolate, Outcome, Output, Steps, command
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import write_text

if TYPE_CHECKING:
    from ratiobench.bench.cluster.backtest import Backtest
    from ratiobench.instances.cluster.logs import Report
    from ratiobench.instances.cluster.model import Instance


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported log."""

    instance: Instance
    report: Report  # what the import counted
    file: Path | None  # that was written; None for none


@dataclass(frozen=True, slots=True)
class Backtested:
    """A backtest and its page."""

    result: Backtest  # all figures
    page: Path | None  # its file; None for none


@command("reading the logs")
def import_logs(
    logs: tuple[Path, ...],
    *,
    cluster: Path,
    out: Output = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
) -> Steps[Imported]:
    """Make one instance of an operator's logs, and report what became of their jobs.

    Parameters
    ----------
    logs : log files, plain or gzip; several are one log.
    cluster : TOML file with the nodes, and who may use them.
    out : file of the instance, .json or .json.gz; without it only the report is made.
    format : of the logs, as `list logs` names them; by default as their names and first characters say.
    columns : names of the columns of a CSV log.
    skip_bad : skip lines that cannot be read, and count them.

    Returns
    -------
    The instance and the report.

    Raises
    ------
    InputError : a file that cannot be read or written; names file, line, field and value.
    """
    from ratiobench.instances.cluster import logs as readers
    from ratiobench.instances.cluster.format import write

    if not logs:
        raise InputError("import", "", "the following arguments are required: LOG")
    if out is not None and os.path.lexists(out):
        raise InputError(str(out), "", "is there already; an import writes a new file")
    name = "log" if out is None else out.name.partition(".")[0] or "log"
    made = Imported(*readers.import_logs(logs, str(cluster), format or "", columns, skip_bad, name), out)
    if out is not None:
        write(made.instance, out)
    yield Outcome(lambda: made, lambda: made.report.summary() | {"file": None if out is None else str(out)})
    yield str(made.report)
    yield f"instance: {out}" if out else "nothing was written (--out FILE writes the instance)"


@command("replaying the log")
def backtest(
    file: Any,
    *,
    policies: tuple[str, ...] = (),
    today: str = "easy",
    what_if: tuple[str, ...] = (),
    seconds: float = 20.0,
    isolate: Isolate = None,
    out: Output = None,
) -> Steps[Backtested]:
    """Replay a log under many policies, against OPT, and recommend one.

    Parameters
    ----------
    file : instance or its file, as `import` writes it.
    policies : names as `list algorithms` has them, or own ones MODULE:CLASS; by default the usual rules and replan.
    today : the policy that runs the cluster today.
    what_if : changes of the cluster: nodes=+4, pool.NAME=+8, load=1.2, limits=true, maintenance=FROM..TO:N, quota=FILE.
    seconds : that OPT of each cost is looked for; 0 for not at all.
    isolate : run own policies in a sandbox, or without one; by default in one if it can be had.
    out : file of the page with tables and pictures, FILE.html.

    Returns
    -------
    The result; its page is written.

    Raises
    ------
    InputError : an instance, policy or change that cannot be used.

    Examples
    --------
    >>> import ratiobench
    >>> month = ratiobench.generate("month:days=3,nodes=2,jobs=60")
    >>> found = ratiobench.backtest(month.popitem()[1], policies=["easy:order=shortest"], seconds=0)
    >>> [row.name for row in found.result.policies]
    ['easy', 'easy:order=shortest']
    """
    import msgspec

    from ratiobench.bench.cluster import FAMILY
    from ratiobench.bench.cluster.backtest import run_backtest
    from ratiobench.bench.cluster.page import list_answers, list_basis, list_tables, render_page
    from ratiobench.bench.family.registry import require_algorithms
    from ratiobench.bench.show import align_columns
    from ratiobench.instances.cluster.format import read
    from ratiobench.instances.cluster.model import Instance
    from ratiobench.online.cluster.algorithms import DEFAULTS
    from ratiobench.online.run_context import RunContext, run_context

    instance = file if isinstance(file, Instance) else read(file)
    if not len(instance.jobs):
        raise InputError(instance.name if file is instance else str(file), "jobs", "there are none")
    changes = re.split(",(?=[^,=]+=)", ",".join(what_if)) if what_if else []  # names of files may have commas
    hidden = () if file is instance else (str(Path(file).absolute().parent),)
    with run_context(RunContext(isolate=FAMILY.choose_isolation(isolate), hidden=hidden)):
        require_algorithms(FAMILY, (today, *policies))
        result = run_backtest(instance, policies or DEFAULTS, today, changes, seconds)
    if out is not None:
        write_text(out, render_page(result))
    yield Outcome(lambda: Backtested(result, out), lambda: dict(msgspec.to_builtins(result)))
    yield from list_answers(result)
    for title, rows in list_tables(result).items():
        yield f"\n{title}"
        yield align_columns(rows).removesuffix("\n")
    yield ""
    yield from list_basis(result)
    if out is not None:
        yield f"page: {out}"


COMMANDS = {"import": import_logs, "backtest": backtest}
