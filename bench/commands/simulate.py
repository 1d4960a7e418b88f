"""One run of an algorithm: `simulate`, its claims checked by `audit`, and told arrival by arrival by `explain`."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.commands import shared
from ratiobench.bench.family.capabilities import BidCurve
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import find_used_signs
from ratiobench.bench.family.registry import refuse_other_family, require_algorithms
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.results import ratios
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.show import align_columns, count_text, csv_text, format_number, ratio_text, value_text, write_csv
from ratiobench.bench.storage.payload import format_error, json_number, run_payload
from ratiobench.formulations.report import Exact, SolveReport, Status
from ratiobench.instances.io.errors import InputError, require_known
from ratiobench.instances.io.files import read_bytes, write_atomically
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.referee import sandbox
from ratiobench.online.referee.arrival_count import ArrivalCount, counted_arrivals
from ratiobench.online.run_context import RunContext, run_context
from ratiobench.online.user_algorithm import name_algorithms

if TYPE_CHECKING:
    import pandas as pd

READABLE = 24  # Characters up to which `audit` prints a fraction as it is


@command("running the algorithm")
def simulate(
    file: arg.Instance,
    algorithm: arg.Algorithms,
    *,
    cost: arg.Cost = None,
    limit: arg.Seconds = None,
    isolate: arg.Isolate = None,
    no_migration: bool = False,
    no_opt: bool = False,
    certificate: Annotated[Path | None, arg.Option(arg.File(), "CERT")] = None,
    solution: arg.Output = None,
    csv: arg.Output = None,
    timeline: arg.Timeline = None,
    prior: arg.Prior = None,
) -> Steps[Any]:
    """Run online algorithms under the referee, one or several side by side.

    Parameters
    ----------
    file : instance file, .json or .json.gz; - for standard input. In Python also an instance, or a list of these.
    algorithm : name[:key=value,...], as `list algorithms` names them, or package.module:Class; several are compared in
        a table. In Python also a class, an object of one, or a list of these.
    limit : time limit of a run in seconds; a run that reaches it is not valid.
    no_migration : keep every task on one node; the referee refuses any other decision.
    no_opt : do not compute OPT, and do not print ratios.
    certificate : take OPT from this certificate, which is verified first; without it OPT is computed.
    solution : write the decisions, for `check`; a schedule of jobs also as FILE.swf.
    csv : write the table, one row per algorithm.
    timeline : write a page with load, prices, a Gantt chart of the nodes and the reasons of rejections; FILE.svg: only
        the Gantt chart of one algorithm.

    Returns
    -------
    The run, an `OnlineRun`: ``welfare`` in the family's unit, ``valid``, ``decisions``, ``constants``, ... With a list
    of instances or a list of algorithms a list of runs in its order; with both, of each instance such a list.

    Raises
    ------
    InputError : an instance, algorithm or option that cannot be used; a sandbox that is asked for and cannot be made; a
        file for the decisions or the page of one run, if there are several.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> run = ratiobench.simulate(named("thm5_T5_3tasks"), "greedy")
    >>> run.valid, run.welfare, run.admitted
    (True, 312, 3)
    >>> [run.admitted for run in ratiobench.simulate([named("thm5_T5_3tasks"), named("tiny_contention")], "greedy")]
    [3, 3]
    """
    if no_opt and certificate:
        raise InputError("--certificate", "", "not allowed with --no-opt")
    sandbox.choose(isolate)
    several, some = isinstance(file, list | tuple), isinstance(algorithm, list | tuple)
    files = list(file) if several else [file]
    pairs = [shared.read_given(each, cost) for each in files]
    names, own = name_algorithms(algorithm, {kind for family, _ in pairs for kind in family.secret_types()})
    if not names:
        raise InputError("algorithm", "", "none is named")
    if len(files) > 1:
        for name, value in (("solution", solution), ("timeline", timeline), ("csv", csv)):
            if value is not None:
                raise InputError(name, "", f"is of one run; {len(files) * len(names)} are asked for")
    wanted, hidden = sandbox.requested(isolate), shared.folders_of(prior, certificate, solution, timeline, csv)
    is_table = len(set(names)) > 1 or bool(certificate or csv)
    made = []
    with contextlib.ExitStack() as stack:
        if len(files) * len(own) > 1:
            from ratiobench.bench.evaluation.isolation import share_sandboxes

            share_sandboxes(stack, (family for family, _ in pairs), wanted)
        for each, (family, given) in zip(files, pairs, strict=True):
            context = RunContext(limit, wanted, own, hidden=(*shared.folders_of(each), *hidden))
            made.append(_Simulation(each, family, given, context, no_migration, no_opt, certificate, is_table))
            made[-1].run(names, prior, solution, timeline)

    def result() -> Any:
        rows = [[each.finished(name) for name in names] for each in made]
        runs: list[Any] = rows if some else [row[0] for row in rows]
        return runs if several else runs[0]

    if len(made) != 1:
        yield Outcome(result)
        return
    (one,) = made
    if shows := (yield Outcome(result, one.document, lambda: int(len(one.ended) < len(one.runs)))):
        yield from one.lines()
    yield from one.files(solution, csv, timeline)
    if shows and not is_table:
        yield from one.opt_lines()  # at last, since OPT may take long


@dataclass
class _Simulation:
    """The runs on one instance by the names of their algorithms, or why one failed; of a table OPT, too."""

    file: Any
    family: Family
    instance: Any
    context: RunContext
    no_migration: bool
    no_opt: bool
    certificate: Path | None
    table: bool  # whether it is a table with OPT, in place of one run in full
    runs: dict[str, OnlineRun | Exception] = field(default_factory=dict)
    opt: SolveReport | None = None

    def run(self, algorithms: Sequence[str], prior: Any, solution: Path | None, timeline: Path | None) -> None:
        family, names = self.family, list(dict.fromkeys(algorithms))
        if self.no_migration:
            self.instance = family.without_migration(self.instance)
        if timeline and family.timeline is None:
            raise InputError("--timeline", "", f"the family {family.name} has no time lines")
        if timeline and timeline.suffix.lower() == shared.PICTURE:
            shared.require_gantt(family, "; name a page, FILE.html")
            if len(names) != 1:
                problem = f"{shared.PICTURE} is the chart of one algorithm, not of {len(names)}"
                raise InputError("--timeline", "", problem)
        if solution is not None and len(names) > 1:
            raise InputError("--solution", "", f"whose? {len(names)} algorithms are named; run the one alone")
        if not self.table and not self.context.own:
            refuse_other_family(family, names[0])
        with run_context(self.context):
            if self.table:
                require_algorithms(family, names)
            with shared.name_the_file(self.file, self.instance):
                if self.certificate:
                    set_current("checking the certificate")
                    data, source = read_bytes(self.certificate)
                    document = family.load_document(self.instance, data, source)
                    self.opt = family.read_certified(self.instance, document, source)
                other = None if prior is None else shared.read_given(prior)[1]
                for name in names:
                    set_current(f"running {name}")
                    try:
                        with counted_arrivals(partial(_tell_count, name)):
                            self.runs[name] = family.run(self.instance, name, other)
                    except InputError:
                        raise
                    except Exception as error:
                        if not self.table:
                            raise
                        self.runs[name] = error
        if self.opt is not None:
            self.opt = self._tightened(self.opt)

    def finished(self, name: str) -> OnlineRun:
        run = self.runs[name]
        if isinstance(run, Exception):
            raise run
        return run

    @property
    def ended(self) -> list[OnlineRun]:
        """Those that did not fail."""
        return [run for run in self.runs.values() if not isinstance(run, Exception)]

    def find_opt(self) -> SolveReport | None:
        """OPT, which is looked for when it is first asked for, since it may take long; None if no run is valid."""
        if self.opt is None and not self.no_opt and any(run.valid for run in self.ended):
            with shared.name_the_file(self.file, self.instance), run_context(self.context):
                set_current("looking for OPT")
                self.opt = self._tightened(self.family.solve(self.instance, SolveSettings()))
        return self.opt

    def _tightened(self, opt: SolveReport) -> SolveReport:
        """A valid run is a verified solution: the best one may move the end of the interval that it can."""
        sense, best = self.family.sense, opt
        for run in self.ended:
            if not run.valid:
                continue
            ratios.require_bound(opt.lower, opt.upper, run.welfare, sense, run.label)
            if ratios.is_better(run.welfare, getattr(best, sense.verified), sense):
                ends: dict[str, Any] = {"lower": opt.lower, "upper": opt.upper, sense.verified: run.welfare}
                status = Status.OPTIMAL if ends["lower"] == ends["upper"] else Status.INTERVAL
                best = replace(best, solution=run.decisions, status=status, **ends)
        return best

    def ratio(self, run: OnlineRun) -> ratios.Ratio | None:
        """OPT/ALG; None without OPT or a valid run."""
        if self.opt is None or not run.valid:
            return None
        return ratios.ratio(self.opt.lower, self.opt.upper, run.welfare, self.family.sense)

    def lines(self) -> Iterator[str]:
        if not self.table:
            yield from _run_lines(self.family, self.instance, self.ended[0])
            return
        yield from self.opt_lines()
        if self.opt is None and not self.no_opt:
            yield "No run is valid, so OPT was not computed."
        yield align_columns([self._line(name, run) for name, run in self.runs.items()]).removesuffix("\n")
        if any(Source.ORACLE in run.sources for run in self.ended):
            yield "* its constants are computed from the instance itself, future included (oracle)."
        for run in self.ended:
            if known := proof_status_text(self.family, run):
                yield f"{run.label}: {known}"
        for run in self.ended:
            if not run.valid:
                yield f"{run.label}:"
                yield from shared.violation_lines(run)

    def opt_lines(self) -> Iterator[str]:
        """OPT, and the ratio of one run."""
        if (opt := self.find_opt()) is None:
            return
        yield shared.interval_text(opt.lower, opt.upper, self.family.unit, " without migration" * self.no_migration)
        found = f"proof: {opt.proof}, {opt.formulation} / {opt.backend}"
        yield f"  {found if self.certificate is None else 'by the certificate, verified'}"
        if not self.table:
            yield f"{self.family.sense.ratio} = {self.ratio(self.ended[0])}"

    def _line(self, name: str, run: OnlineRun | Exception) -> dict[str, str]:
        family, cells = self.family, self._cells(name, run)
        line = {"algorithm": cells["label"], family.objective: format_number(cells.get("welfare"))}
        if self.opt is not None:
            row: Any = SimpleNamespace(**cells)
            line[family.sense.ratio] = ratio_text(row, family.sense) if "ratio_kind" in cells else "-"
        if family.accounts is not None:
            line["profit"] = cells.get("profit", "-")
        seconds = f"{cells['seconds']:.3f}" if "seconds" in cells else "-"
        return line | {"admitted": str(cells.get("admitted", "-")), "seconds": seconds, "state": cells["state"]}

    def _cells(self, name: str, run: OnlineRun | Exception) -> dict[str, Any]:
        """The cells of a run by column of a CSV file, as in `results.csv`."""
        if isinstance(run, Exception):
            return {"label": name, "state": f"failed: {format_error(run)}"}
        family = self.family
        cells: dict[str, Any] = {"label": run.label + " *" * (Source.ORACLE in run.sources)}
        cells["state"] = "ok" if run.valid else "invalid"
        cells |= {"welfare": Fraction(run.welfare), "admitted": run.admitted, "seconds": run.seconds}
        if (account := account_of(family, self.instance, run)) is not None:
            # What list prices, the bids, would bring, if nobody pays
            cells["profit"] = value_text(account["profit"], family) + " (list prices)" * (run.revenue is None)
        if self.opt is not None and run.valid:
            cells |= ratios.columns(self.opt.lower, self.opt.upper, run.welfare, family.sense)
        return cells

    def document(self) -> dict[str, Any]:
        """The run, which is a solution document, too; or OPT and all runs."""
        if not self.table:
            return self._run_document(self.ended[0])
        opt, runs = self.find_opt(), []
        for name, each in self.runs.items():
            if isinstance(each, Exception):
                runs.append({"algorithm": name, "failed": format_error(each)})
            else:
                runs.append(self._run_document(each) | {"ratio": shared.ratio_document(self.ratio(each))})
        ends = None if opt is None else shared.ends_document(opt)
        return {"instance": self.family.identity(self.instance), "opt": ends, "runs": runs}

    def _run_document(self, run: OnlineRun) -> dict[str, Any]:
        about = {"instance": self.family.identity(self.instance)} | ({"migration": False} if self.no_migration else {})
        payload = run_payload(run, account_of(self.family, self.instance, run))
        return payload | {"value": payload["welfare"]} | about | self.family.solution_document(run.decisions)

    def files(self, solution: Path | None, csv: Path | None, timeline: Path | None) -> Iterator[str]:
        """The table, the decisions, the page with the time lines."""
        opt = self.find_opt() if self.table and (csv or timeline) else self.opt
        write_csv(csv, [{"algorithm": name} | self._cells(name, run) for name, run in self.runs.items()])
        if solution is not None and self.ended:
            shared.write_solution(solution, self.family, self.instance, self.ended[0].decisions)
        if timeline:
            best = None if opt is None else (opt.lower, opt.upper, opt.solution)
            shared.write_timeline(timeline, self.family, self.instance, self.file, self.ended, best)
            yield f"time line: {timeline}"


def _tell_count(name: str, count: ArrivalCount | None) -> None:
    set_current(f"running {name}" if count is None else f"running {name}: {count.text}", again=True)


def _run_lines(family: Family, instance: Any, run: OnlineRun) -> Iterator[str]:
    tasks = run.arrivals or len(family.solution_document(run.decisions)["decisions"])
    earned = f"{family.objective} {ratios.format_truncated(run.welfare)} {family.unit}"
    yield f"{run.label}: {earned}, admitted {run.admitted} of {tasks}"
    if standing := proof_status_text(family, run):
        yield standing
    if (account := account_of(family, instance, run)) is not None:
        revenue = value_text(account["bids"] if run.revenue is None else run.revenue, family)
        costs = value_text(account["vendors"] + account["energy"], family)
        paid = "at list prices (the bids) " if run.revenue is None else ""
        yield f"{paid}revenue {revenue}, cost {costs}, profit {value_text(account['profit'], family)}"
    elif run.revenue is not None:
        yield f"revenue {ratios.format_truncated(run.revenue)} {family.unit}"
    for constant in run.constants:
        source = ", ".join(filter(None, (constant.source, constant.detail)))
        about = f", about {float(constant.value):.6g}" if constant.value.denominator > 1 else ""
        yield f"constant {constant.name} = {constant.value}{about} ({source})"
    yield from shared.violation_lines(run, len(run.violations))
    # It is unknown for a user's algorithm, and nothing here depends on it.
    arithmetic = "" if run.arithmetic == "unknown" else f"arithmetic {run.arithmetic}, "
    yield f"{arithmetic}{run.seconds:.3f} s from the start of the algorithm to its last decision"


def proof_status_text(family: Family, run: OnlineRun) -> str:
    """What the run was shown of earlier days, and what is proved of its algorithm; empty if nothing is known."""
    text = [f"history: {run.history}"] if run.history else []
    text += [f"{name}: {value}" for name, value in family.proof_status(run.algorithm).items()]
    return "; ".join(text)


def account_of(family: Family, instance: Any, run: OnlineRun) -> dict[str, Exact] | None:
    """What a valid run earned and spent, and its profit; None if the family does not say."""
    if family.accounts is None or not run.valid:
        return None
    account = dict(family.accounts(instance, run))
    earned = account["bids"] if run.revenue is None else run.revenue
    return account | {"profit": earned - account["vendors"] - account["energy"]}


# Types of the columns of `audit`; the exact sides, `witness`, `figures` and `failing` hold Python objects
AUDIT_TYPES: Mapping[str, Any] = {
    "claim": "string",
    "verdict": "category",
    "left": "float64",
    "right": "float64",
    "reason": "string",
}


def _checks_table(checks: Sequence[Check]) -> pd.DataFrame:
    import pandas as pd

    names = [field.name for field in fields(Check)]
    frame = pd.DataFrame([[getattr(check, name) for name in names] for check in checks], columns=names, dtype=object)
    frame = frame.rename(columns={"name": "claim", "status": "verdict"})
    frame[["left_exact", "right_exact"]] = frame[["left", "right"]]
    return frame.astype({**AUDIT_TYPES, "verdict": pd.CategoricalDtype([each.value for each in Verdict])})


@command("solving, running and checking")
def audit(
    file: arg.Instance,
    algorithm: arg.Algorithm,
    claims: Annotated[Any, arg.Option(arg.Text(), "NAME", flags=("--claim",), several=True)] = (),
    *,
    cost: arg.Cost = None,
    isolate: arg.Isolate = None,
    formulation: arg.Formulation = "auto",
    backend: arg.Backend = "auto",
    gap: arg.Gap = 0.0,
    effort: arg.Effort = None,
    seconds: arg.Seconds = None,
    task: Annotated[int | None, arg.Option(arg.Integer(0, 10**9 - 1), "I")] = None,
    curve: Annotated[Path | None, arg.Option(arg.NewFile(takes_dash=True), "CSV")] = None,
    csv: arg.Output = None,
    prior: arg.Prior = None,
) -> Steps[pd.DataFrame]:
    """Check the claims of the theory on one run.

    Parameters
    ----------
    algorithm : name[:key=value,...], as `list algorithms` names them, or package.module:Class. In Python also a class,
        or an object of one.
    claims : check only these claims.
    task : examine the gain of this bidder (from 0) by misreports in depth; OPT is not computed.
    curve : also write the utility of --task over its bid; - for standard output, without other output.
    csv : write the checks, one row each, with exact figures.

    Returns
    -------
    A row per claim ``left <= right``. Columns as `AUDIT_TYPES`, and ``failing``: the assumptions of the claim's proof
    that fail on the run, None if the check does not separate them from the claim. ``attrs`` has ``algorithm``,
    ``valid``, ``value``, ``lower``, ``upper`` (exact) and ``ratio`` (text; empty where the run is not valid).

    Raises
    ------
    InputError : a file, algorithm or option that cannot be used, or a claim that audits do not check.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> table = ratiobench.audit(named("thm5_T5_3tasks"), "greedy")
    >>> "violated" in list(table["verdict"])
    False
    """
    if curve is not None and task is None:
        raise InputError("--curve", "", "needs --task I, the number of the bidder")
    is_curve_alone = str(curve) == "-"
    if is_curve_alone and claims:
        raise InputError("--curve", "", "--curve - prints the curve only, so it cannot be combined with --claim")
    family, instance = shared.read_given(file, cost)
    if task is None and not family.statements():
        instead = "`explain FILE` says where its cost comes from, `check FILE` verifies schedules and certificates"
        raise InputError("audit", "", f"the family {family.name} has no claims; {instead}")
    (name,), own = name_algorithms([algorithm], family.secret_types())
    reference = ratio = bids = None
    with run_context(shared.user_context(family, isolate, own, file, prior, csv, curve)):
        # An algorithm or a claim that does not exist is refused before any work.
        require_algorithms(family, [name])
        known = [each.name for each in family.statements() if not each.proof]
        for claim in claims if family.claims is not None else ():
            require_known(claim, known, "--claim", "", "list claims")
        with shared.name_the_file(file, instance):
            if task is None:
                settings = shared.solve_settings(family, formulation, backend, gap, effort, seconds)
                reference = family.solve(instance, settings)
                run = family.run(instance, name, None if prior is None else shared.read_given(prior)[1])
                checks = family.audit(instance, run, reference, claims)
                if run.valid:
                    ratio = ratios.ratio(reference.lower, reference.upper, run.welfare, family.sense)
            else:
                if family.bidding is None:
                    option = "--task" if curve is None else "--curve"
                    raise InputError(option, "", f"the family {family.name} has no auctions")
                if curve is not None:
                    bids = family.bidding.utility_curve(instance, name, task)
                if not is_curve_alone:
                    run = family.run(instance, name)
                    checks = family.bidding.audit_bidder(instance, run, task, claims)
    if bids is not None and is_curve_alone:
        if (yield Outcome[Any](lambda: bids)):
            yield csv_text(bids.rows).removesuffix("\n")
            print(_curve_line("-", bids), file=sys.stderr)
        return

    def result() -> pd.DataFrame:
        frame = _checks_table(checks)
        frame.attrs = {"algorithm": run.label, "valid": run.valid, "value": run.welfare}
        if reference is not None:
            text = "" if ratio is None else str(ratio)
            frame.attrs |= {"lower": reference.lower, "upper": reference.upper, "ratio": text}
        return frame

    def document() -> dict[str, Any]:
        about: dict[str, Any] = {"instance": family.identity(instance), "algorithm": run.label}
        about |= {} if task is None else {"task": task}
        about |= {} if bids is None else {"note": bids.note, "pieces": list(map(dict, bids.rows))}
        about |= {"valid": run.valid, "violations": list(map(str, run.violations)), "welfare": json_number(run.welfare)}
        about |= {} if reference is None else shared.ends_document(reference) | {"ratio": shared.ratio_document(ratio)}
        return about | {"checks": [check.document() for check in checks]}

    yield Outcome(result, document)
    if bids is not None:
        yield _curve_line(str(curve), bids)
    what = [f"task {task}"] if task is not None else [] if ratio is None else [f"{family.sense.ratio} {ratio}"]
    yield f"{run.label}: {' '.join(what if run.valid else [*what, '(INVALID run)'])}"
    yield from shared.violation_lines(run)
    yield from _check_lines(checks, family.notation(), gathered=not claims)
    rows = [check.document() for check in checks]
    write_csv(csv, [{key: row[key] for key in row if key not in ("figures", "witness")} for row in rows])
    if bids is not None:
        write_csv(curve, bids.rows)


def _curve_line(name: str, curve: BidCurve) -> str:
    return f"{name}: {count_text(len(curve.rows), 'piece')}" + (f" by {curve.note}" if curve.note else "")


def _check_lines(checks: Sequence[Check], signs: Sequence[tuple[str, str]], *, gathered: bool) -> Iterator[str]:
    """The summary, the checks, the figures that they share; claims about other algorithms each, or `gathered`."""
    if len(checks) > 1:
        yield _summary(checks)
    values: dict[str, list[Any]] = {}
    elsewhere: dict[str, list[str]] = {}
    for check in checks:
        if check.reason.startswith(ANOTHER):
            elsewhere.setdefault(check.reason, []).append(check.name)
            continue
        for name, value in check.figures.items():
            values.setdefault(name, []).append(value)
    shared = {name: found[0] for name, found in values.items() if len(found) > 1 and len(set(found)) == 1}
    for check in checks:
        if check.reason in elsewhere:
            if not gathered:
                yield f"{check.name}: {check.status} ({check.reason})"
            continue
        reason = f"  ({check.reason})" if check.reason else ""
        yield f"{check.name}: {check.status}" + (f"  {_sides(check)}" if _sides(check) else "") + reason
        for name, value in check.figures.items():
            if shared.get(name, ...) != value:
                yield f"    {name} = {_readable(value)}"
        if check.witness:
            yield f"    witness: {json.dumps(check.witness)}"
    for reason, claims in elsewhere.items() if gathered else ():
        yield f"not applicable ({reason}): {', '.join(claims)}"
    if shared:
        yield "figures of several claims:"
        for name, value in shared.items():
            yield f"    {name} = {_readable(value)}"
        if named := find_used_signs(" ".join(shared), signs):
            yield "symbols:"
            yield from (f"    {sign}: {meaning}" for sign, meaning in named)


def _sides(check: Check) -> str:
    sign = {Verdict.VIOLATED: ">", Verdict.UNDECIDED: "<=?"}.get(check.status, "<=")
    return "" if check.left is None else f"{_readable(check.left)} {sign} {_readable(check.right)}"


def _summary(checks: Sequence[Check]) -> str:
    """How many checks gave each verdict; those that are violated with both sides: `1 violated: NAME 26 > 49/2`."""
    parts = []
    for verdict in (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE):
        found = [check for check in checks if check.status is verdict]
        message = f"{len(found)} {'hold' if verdict is Verdict.HOLDS and len(found) != 1 else verdict.value}"
        if verdict in (Verdict.VIOLATED, Verdict.UNDECIDED) and found:
            sides = _sides if verdict is Verdict.VIOLATED else lambda check: ""
            message += ": " + ", ".join(f"{check.name} {sides(check)}".rstrip() for check in found)
        if found or verdict is Verdict.VIOLATED:
            parts.append(message)
    return "; ".join(parts)


def _readable(value: Fraction | int | str | None) -> str:
    """An exact figure as text shows it: a long fraction as a decimal that was cut off; --json has it in full."""
    text = "-" if value is None else str(value)
    is_long = len(text) > READABLE and re.fullmatch(r"-?[0-9]+/[0-9]+", text)
    return ratios.format_truncated(Fraction(text)) if is_long else text


@command("solving, running and checking")
def explain(
    file: arg.Instance,
    *,
    algorithm: arg.Algorithm = "",
    claim: str = "",
    cost: arg.Cost = None,
    isolate: arg.Isolate = None,
    formulation: arg.Formulation = "auto",
    backend: arg.Backend = "auto",
    gap: arg.Gap = 0.0,
    effort: arg.Effort = None,
    seconds: arg.Seconds = None,
    html: Annotated[Path | None, arg.Option(arg.NewFile(), "OUT")] = None,
) -> Steps[Any]:
    """Explain a run on a small instance arrival by arrival, with both sides of a claim.

    Parameters
    ----------
    algorithm : name[:key=value,...], as `list algorithms` names them, or package.module:Class; by default the family's.
    claim : claim that is evaluated at the end; by default the family's headline.
    html : also write a page, in one file.
    """
    from ratiobench.bench.report import explain as explanations

    family, instance = shared.read_given(file, cost)
    settings = shared.solve_settings(family, formulation, backend, gap, effort, seconds)
    with shared.name_the_file(file, instance), run_context(shared.user_context(family, isolate, {}, file, html)):
        explained = explanations.explain(family, instance, algorithm, claim, settings)

    yield Outcome(lambda: explained, partial(explanations.explain_document, explained))
    yield explanations.text(explained)
    if html is not None:
        write_atomically(html, explanations.render_explanation(explained).encode())
        yield f"page: {html}"
