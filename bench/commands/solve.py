"""OPT of an instance: `opt`, `crosscheck`, `export`, `check`; and where instances come from: `generate`, `instance`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.commands import shared
from ratiobench.bench.family.contract import Family
from ratiobench.bench.results import ratios
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.errors import CommandError, InputError, make_printable, shorten
from ratiobench.instances.io.files import read_bytes, text_of, write_atomically

if TYPE_CHECKING:
    import pandas as pd

BREACHES = 20  # Violated constraints that the text of `check` shows; its document has all
WIDEST = 600  # Characters of a reason


class NoCertificateError(CommandError):
    """A certificate was asked for, and none was found."""


def instance(file: Any) -> Any:
    """Read an instance of any family.

    Parameters
    ----------
    file : path of a .json or .json.gz file; ``-`` for standard input.

    Returns
    -------
    The instance, of the class of the family that its format names.

    Raises
    ------
    InputError : a file that cannot be read or is no instance; names the file, the field and the value.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import path
    >>> ratiobench.instance(path("thm5_T5_3tasks")).slots
    5
    """
    return shared.read_given(file)[1]


@command("looking for OPT")
def opt(
    file: arg.Instance,
    *,
    cost: arg.Cost = None,
    formulation: arg.Formulation = "auto",
    backend: arg.Backend = "auto",
    gap: arg.Gap = 0.0,
    effort: arg.Effort = None,
    seconds: arg.Seconds = None,
    no_migration: bool = False,
    solution: arg.Output = None,
    certificate: Annotated[Path | None, arg.Option(arg.NewFile(), "CERT")] = None,
    timeline: arg.Timeline = None,
    log: Annotated[Path | None, arg.Option(arg.NewFile(), "CSV")] = None,
) -> Steps[SolveReport]:
    """Compute OPT, or a certified interval on it.

    Parameters
    ----------
    no_migration : compute the optimum where every task stays on one node.
    solution : write the decisions of the best solution, for `check`; a schedule of jobs also as FILE.swf.
    certificate : write the certificate of the interval, for `check --certificate`.
    timeline : write a page with the Gantt chart of the best solution found; FILE.svg: only the chart.
    log : write the times at which each end of the interval moved.

    Returns
    -------
    The report: ``lower`` <= OPT <= ``upper`` in the family's unit, ``proof`` of the upper end, ``solution`` that
    attains the lower end.

    Raises
    ------
    InputError : a file, instance or option that cannot be used.
    NoCertificateError : a certificate is to be written, and none was found.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> ratiobench.opt(named("thm5_T5_3tasks")).interval
    'OPT = 312'
    """
    family, given = shared.read_given(file, cost)
    if timeline:
        shared.require_gantt(family)
    with shared.name_the_file(file, given):
        if no_migration:
            given = family.without_migration(given)
        settings = shared.solve_settings(family, formulation, backend, gap, effort, seconds)
        report = (family.certify if certificate else family.solve)(given, settings)
    proof = report.certificate

    def document() -> dict[str, Any]:
        from ratiobench.bench.storage.payload import report_payload

        about: dict[str, Any] = {"instance": family.identity(given), "gap": ratios.gap(report.lower, report.upper)}
        about |= {"certified": proof and shared.ends_document(proof)} if certificate else {}
        about |= {"migration": False} if no_migration else {}
        return {**report_payload(report), **about, **family.solution_document(report.solution)}

    yield Outcome(lambda: report, document)
    yield shared.interval_text(report.lower, report.upper, family.unit, " without migration" * no_migration)
    limited = ", time-limited" if report.time_limited else ""
    yield f"{family.sense.bound} bound proved by: {report.proof} ({report.formulation} / {report.backend}{limited})"
    if report.solver is not None:
        yield f"answer of the solver: {report.solver.text()}"
    if no_migration:
        yield f"{family.sense.verified} bound: a verified solution that keeps every task on one node"
    if report.message:
        yield report.message
    if certificate and proof and report.upper < proof.upper:
        end = ratios.format_number(proof.upper, up=True)
        yield f"the certificate proves no more than {end}: a bound by {report.proof} cannot be certified"
    yield f"{report.seconds:.3f} s"
    shared.write_solution(solution, family, given, report.solution)
    if timeline:
        shared.write_timeline(timeline, family, given, file, [], (report.lower, report.upper, report.solution))
    if log:
        lines = [f"{second:.3f},{lower},{upper}\n" for second, lower, upper in report.trail]
        write_atomically(log, "".join(["seconds,lower,upper\n", *lines]).encode())
    if certificate and proof is None:
        raise NoCertificateError(f"{certificate}: not written, no certificate was found")
    if certificate:
        family.write_certificate(proof, certificate)


@dataclass(frozen=True)
class CrossCheckResult:
    """The answers of solvers for one instance, and whether they agree.

    Parameters
    ----------
    rows : a row for each formulation and solver: ``formulation``, ``backend``, ``solver`` (version), ``columns``,
        ``rows``, ``build_seconds``, ``solve_seconds``, ``status``, ``solver_bound`` and ``solver_value`` as the solver
        states them, ``verified`` (exact value of its solution), ``agrees``, ``reason``.
    verdict : ``all agree``, or who differs.
    lower, upper : the best verified value, and the least bound that nothing contradicts, in the family's unit.
    """

    rows: pd.DataFrame
    verdict: str
    lower: int | None
    upper: int | None

    @property
    def agree(self) -> bool:
        """No solver is contradicted."""
        return self.verdict == "all agree"

    def __repr__(self) -> str:
        return f"<CrossChecked: {self.verdict}, {len(self.rows)} rows, OPT in [{self.lower}, {self.upper}]>"


@command("cross-checking")
def crosscheck(
    file: arg.Instance, *, cost: arg.Cost = None, effort: arg.Count = 1, seconds: arg.Seconds = None
) -> Steps[CrossCheckResult]:
    """Solve the printed problem with several tools and solvers, and compare with the certified interval.

    Problem P as printed is built in PuLP and in OR-Tools, and solved by HiGHS and CBC.

    Parameters
    ----------
    effort : units of work for each row.
    seconds : time limit of each row in seconds, in place of the effort.

    Returns
    -------
    A `CrossCheckResult` with a row for each formulation and solver.

    Raises
    ------
    InputError : a family without such a check, or an option out of range.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> ratiobench.crosscheck(named("thm5_T5_3tasks")).verdict  # doctest: +SKIP
    'all agree'

    Source: main paper, problem (4).
    """
    family, given = shared.read_given(file, cost)
    with shared.name_the_file(file, given):
        answers = family.crosscheck(given, effort=effort or 1, seconds=seconds, tell=set_current)

    def result() -> CrossCheckResult:
        import pandas as pd

        return CrossCheckResult(pd.DataFrame(answers.documents()), answers.verdict, answers.lower, answers.upper)

    def document() -> dict[str, Any]:
        about = {"instance": family.identity(given), "verdict": answers.verdict}
        ends = {"lower": answers.lower, "upper": answers.upper}
        counts = {"optimal": answers.optimal(), "answered": answers.answered()}
        return {**about, **ends, **counts, "rows": answers.documents()}

    yield Outcome(result, document)
    from ratiobench.bench.show import align_columns, crosscheck_lines

    yield align_columns(crosscheck_lines(answers)).removesuffix("\n")
    for row, why in zip(answers.rows, answers.differs, strict=True):
        message = why or row.answer.message
        if message:
            yield make_printable(f"{row.answer.formulation} / {row.answer.backend}: {message}", WIDEST)
    interval = f"no interval on OPT {family.unit}"
    if answers.lower is not None and answers.upper is not None:
        interval = shared.interval_text(answers.lower, answers.upper, family.unit)
    ended = f"{answers.optimal()} of {len(answers.rows)} rows end as optimal"
    yield f"{answers.verdict}: {interval} ({ended})"


@command("building the model")
def export(
    file: arg.Instance,
    *,
    format: Annotated[str, arg.Option(arg.Choice(("mps", "lp")))],
    cost: arg.Cost = None,
    formulation: arg.Formulation = "auto",
) -> Steps[str]:
    """Print the model for another solver.

    Parameters
    ----------
    format : format of the text.
    """
    family, given = shared.read_given(file, cost)
    model = family.export(given, format, formulation)
    document = {"format": format, "formulation": formulation, "model": model}
    yield Outcome(lambda: model, lambda: document)
    yield model.removesuffix("\n")


@command("making instances")
def generate(
    what: Annotated[Any, arg.Option(arg.Anything("text"), "SUITE")],
    *,
    only: arg.Patterns = (),
    tier: arg.Groups = (),
    scale: arg.Scale = "full",
    over: arg.Axes = (),
    out: Annotated[Path | None, arg.Option(arg.File(), "DIR", default=arg.NEEDED)] = None,
    **keys: Any,
) -> Steps[dict[str, Any]]:
    """Write the instances of a suite, a file of recipes, or one recipe.

    Parameters
    ----------
    what : name of a suite, a file FILE.toml, or a recipe RECIPE:KEY=VALUE,... (`list recipes`).
    out : folder to write; it is created.
    keys : of a recipe, such as ``tasks=3000, vendors={"count": 2}``; a list makes a grid.

    Returns
    -------
    Instances by the names of their cases.

    Raises
    ------
    InputError : a key or value that cannot be used; names both.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.generate("paper", tasks=5, slots=6, nodes=2)["paper"].tasks
    5
    """
    from ratiobench.bench.family.registry import families, find_suite
    from ratiobench.bench.family.suite_file import suite_of
    from ratiobench.bench.running.runner import filter_cases, generate_cases, scale_suite

    if keys:
        document = {"instance": [{"recipe": str(what), **keys}]}
        family, suite = suite_of(document, str(what), Path(), families(), alone=True)
    else:
        family, suite = find_suite(str(what))
    suite = scale_suite(suite.select_axes(over), scale)
    cases = filter_cases(suite, only, tier)
    written = [] if out is None else generate_cases(family, cases, out)
    shows = yield Outcome(lambda: {case.name: family.make(case.recipe) for case in cases}, lambda: written)
    for row in written if shows else ():
        yield f"{row['file']}  {row['instance']}"
        for note in row.get("notes", ()):
            print(f"ratiobench: {make_printable(row['case'], 200)}: {make_printable(note, 300)}", file=sys.stderr)


class _SolutionWord(str):
    """A word of the command line where a solution must stand: a certificate has an option of its own."""


class _Solution(arg.Anything):
    def parsed(self, text: str) -> Any:
        return _SolutionWord(text)


@command("checking")
def check(
    file: arg.Instance,
    judged: Annotated[Any, arg.Option(_Solution(), "SOLUTION")] = None,
    *,
    certificate: Annotated[Any, arg.Option(arg.Anything(), "CERT")] = None,
    cost: arg.Cost = None,
    no_migration: bool = False,
    explain: bool = False,
    timeline: arg.Timeline = None,
) -> Steps[Mapping[str, Any]]:
    """Verify a solution, or the certificate of an interval on OPT, exactly.

    The code that verifies shares nothing with solvers.

    Parameters
    ----------
    judged : solution file; - for standard input. In Python also a run (`ratiobench.simulate`), a report
        (`ratiobench.opt`), the document of a solution or of a certificate, or its file.
    certificate : certificate file, in place of a solution; - for standard input.
    no_migration : require also that every task stays on one node.
    explain : print the statement that a certificate proves, and its content.
    timeline : write a page with the Gantt chart of a valid solution; FILE.svg: only the chart.

    Returns
    -------
    ``valid``; of a solution its value, ``violations`` and more; of a certificate ``lower``, ``upper``, ``problem``.

    Raises
    ------
    InputError : a document that is neither a solution nor a certificate, or of another instance.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> instance = named("thm5_T5_3tasks")
    >>> ratiobench.check(instance, ratiobench.simulate(instance, "greedy"))["valid"]
    True
    """
    if (judged is None) == (certificate is None):
        problem = "needs SOLUTION or --certificate CERT" if judged is None else "SOLUTION is not allowed with it"
        raise InputError("check" if judged is None else "--certificate", "", problem)
    word = judged if certificate is None else certificate
    family, given = shared.read_given(file, cost)
    held = next((name for name in ("decisions", "solution") if hasattr(word, name)), "")  # of a run, of a report
    if isinstance(word, Mapping) or held:
        document = family.solution_document(getattr(word, held)) if held else dict(word)
        source = "document"
    elif not isinstance(word, str | os.PathLike):
        problem = "is neither a run, a report, a solution or certificate nor a file of one"
        raise InputError("check", "", f"{shorten(word)} {problem}")
    else:
        data, source = read_bytes(word)
        document = family.load_document(given, data, source)
    proof = certificate is not None or (is_certificate(document) and not isinstance(word, _SolutionWord))
    if timeline and proof:
        raise InputError("--timeline", "", "it draws a solution")
    if timeline:
        shared.require_gantt(family)
    if is_certificate(document) and not proof:
        raise InputError(source, "", "it is a certificate of an interval on OPT, no solution: --certificate checks it")
    is_solution = isinstance(document, dict) and "decisions" in document and "sha256" not in document
    if proof and not is_certificate(document) and is_solution:
        raise InputError(source, "", "it is a solution, no certificate: `check FILE SOLUTION` checks it")
    about = document.get("cost") if proof and isinstance(document, dict) else None
    about = about if isinstance(about, str) else ""  # of a family with several costs
    if about and cost not in (None, about):
        raise InputError(source, "cost", f"the certificate is about {about[:40]}, not {cost}")
    if explain and not proof:
        raise InputError("--explain", "", "it goes with --certificate")
    if no_migration:
        given = family.without_migration(given)
    verdict = (family.check_certificate if proof else family.check)(given, document, source)

    def values() -> dict[str, Any]:
        from ratiobench.bench.storage.payload import json_number

        return {key: json_number(value) if isinstance(value, Fraction) else value for key, value in verdict.items()}

    yield Outcome(lambda: verdict, None if explain else values, lambda: int(not verdict["valid"]))
    yield "valid" if verdict["valid"] else "NOT VALID"
    if not proof:
        yield from _solution_lines(family, verdict)
    elif verdict["valid"]:
        where = f" ({about})" if about else " without migration" * no_migration
        yield shared.interval_text(verdict["lower"], verdict["upper"], family.unit, where)
    else:
        yield str(verdict["problem"])
    if explain:
        yield f"the certificate proves: {family.certificate_proves}"
        if verdict["valid"] and family.certificate_sum is not None:
            yield family.certificate_sum(given, document)
        yield text_of(document).removesuffix("\n")
    if timeline and not verdict["valid"]:
        yield f"{timeline} was not written: the solution is not valid"
    elif timeline:
        solution = family.parse_solution(document, source)
        shared.write_timeline(timeline, family, given, file, [], (verdict[family.objective], None, solution))
        yield f"time line: {timeline}"


def is_certificate(document: Any) -> bool:
    """Whether a document says that it is a certificate."""
    return isinstance(document, dict) and "certificate" in str(document.get("format"))


def _solution_lines(family: Family, verdict: Mapping[str, Any]) -> Iterator[str]:
    for key, value in verdict.items():
        if key not in ("valid", "violations"):
            figure = ratios.format_truncated(value) if isinstance(value, int | Fraction) else value
            yield f"{family.objective if key == 'welfare' else key} {'-' if figure is None else figure}"
    violations: Sequence[Any] = verdict["violations"]
    yield from map(str, violations[:BREACHES])
    if len(violations) > BREACHES:
        yield f"{len(violations) - BREACHES} more (--json shows all)"
