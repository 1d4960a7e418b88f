"""Claims of the papers on EdgeFlow and ElasticFlow, checked on one run against the certified interval on OPT.

Four checks also play the same policy without edge servers, or another policy on the same jobs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from ratiobench.bench.family.checks import ANOTHER, Check, Verdict, compare_sides
from ratiobench.bench.family.source import read_sources
from ratiobench.bench.theory.claim import Case, Claim, keep_by_content, make_claims
from ratiobench.formulations.edgeflow.check import check
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.edgeflow.format import content_hash
from ratiobench.instances.edgeflow.model import Instance
from ratiobench.online.edgeflow import registry
from ratiobench.online.edgeflow.run import run
from ratiobench.online.outcome import OnlineRun

AUDITS = "4"  # Version of all checks. Raise it with every claim that is added and every check whose outcome changes.
NOTATION = (
    ("met", "jobs whose work is done by their deadlines"),
    ("OPT", "the most jobs that any schedule meets, all jobs known beforehand; an interval [lower, upper]"),
    ("without", "the same jobs and GPUs, and no edge servers"),
)
# The least factor that the EdgeFlow paper prints, read as times as many; read as times more it would be 2.1
MARGIN = Fraction(11, 10)
# The policies of the EdgeFlow paper's comparison; none of them uses edge servers
BASELINES = ("edf", "gandiva", "tiresias", "afs", "elasticflow")
RIVAL = "hold:edge=none"  # The policy whose runs show what the cloud alone can meet: it declines no job for good
ADMISSION = ("block", "margin")  # Options of `elasticflow` that say how its admission is read
WITNESSES = 8  # Jobs of a witness that are named


# Whose runs a claim is about: empty, or why it does not apply.


def _uses_edge(run: OnlineRun) -> bool:
    spec = registry.parse(run.algorithm)
    return spec.head not in BASELINES or spec.options.get("edge", "none") != "none"


def _baseline(case: Case[Instance]) -> str:
    return f"{ANOTHER}EdgeFlow's baselines" if _uses_edge(case.run) else ""


def _elasticflow(case: Case[Instance]) -> str:
    head = registry.parse(case.run.algorithm).head
    return "" if head == "elasticflow" and not _uses_edge(case.run) else f"{ANOTHER}`elasticflow`"


def _admission(case: Case[Instance]) -> str:
    spec = registry.parse(case.run.algorithm)
    others = {key: value for key, value in spec.options.items() if key not in ADMISSION}
    same = spec.head == "elasticflow" and others.items() <= registry.parse("elasticflow").options.items()
    return "" if same else f"{ANOTHER}`elasticflow` with no option but those of its admission"


def _on_edge(case: Case[Instance]) -> str:
    if not _uses_edge(case.run):
        return f"{ANOTHER}policies that use edge servers"
    return "" if case.instance.edge else "there are no edge servers"


def _room(case: Case[Instance]) -> Check:
    _, run, reference = case
    left = MARGIN * run.admitted
    found = compare_sides(left, reference.upper, "1.1 met <= upper end of OPT", sure=left <= reference.lower)
    return replace(found, figures={"met": run.admitted, "lower": reference.lower, "upper": reference.upper})


def _worth(case: Case[Instance]) -> Check:
    instance, run, reference = case
    without = _without(instance, run.algorithm).admitted
    reason = "1.1 times what the policy meets without edge servers <= upper end of OPT with them"
    found = compare_sides(MARGIN * without, reference.upper, reason, sure=False)
    return replace(found, figures={"at_most": int(reference.upper) - without, "without": without})


def _helps(case: Case[Instance]) -> Check:
    instance, run, _ = case
    without = _without(instance, run.algorithm)
    found = compare_sides(without.admitted, run.admitted, "met without edge servers <= met with them")
    if found.status is Verdict.HOLDS:
        return found
    one, other = check(instance, without.decisions).met, check(instance, run.decisions).met
    lost = [i for i in range(instance.jobs) if one[i] and not other[i]][:WITNESSES]
    moved = sorted({i for i, pieces in enumerate(run.decisions) if any(piece.place for piece in pieces)})
    return replace(found, witness={"met_only_without": lost, "ran_on_the_edge": moved[:WITNESSES]})


def _guaranteed(case: Case[Instance]) -> Check:
    instance, run, _ = case
    met = check(instance, run.decisions).met
    missed = [i for i, pieces in enumerate(run.decisions) if pieces and not met[i]]
    found = compare_sides(len(missed), 0, "jobs that were admitted and missed <= 0")
    return replace(found, witness={"jobs": missed[:WITNESSES]}) if missed else found


def _for_good(case: Case[Instance]) -> Check:
    """Against the better of two verified schedules without edge servers, which the policy does not use.

    One is the schedule behind OPT's lower end without its jobs on the edge, the other a run of `RIVAL`.
    """
    instance, run, reference = case
    rival = check(instance, _play(instance, RIVAL).decisions).met
    theirs = max(find_met_in_cloud(instance, reference), rival, key=sum)
    reason = "met by the best schedule known, in the cloud alone <= met"
    found = compare_sides(sum(theirs), run.admitted, reason, sure=reference.upper <= run.admitted)
    if found.status is not Verdict.VIOLATED:
        return found
    shut = [i for i, pieces in enumerate(run.decisions) if theirs[i] and not pieces]
    figures = {"never_ran_and_can_be_met": len(shut)}
    return replace(found, witness={"never_ran_and_can_be_met": shut[:WITNESSES]}, figures=figures)


def _aware(case: Case[Instance]) -> Check:
    instance, run, _ = case
    other = _play(instance, "afs").admitted
    return compare_sides(other, run.admitted, "met by `afs` <= met by `elasticflow`")


def find_met_in_cloud(instance: Instance, reference: SolveReport) -> tuple[bool, ...]:
    """Per job, whether the verified schedule meets it without an edge server; without the others it stays valid."""
    if reference.solution is None:
        return ()
    met = check(instance, reference.solution).met
    return tuple(met[i] and not any(p.place for p in pieces) for i, pieces in enumerate(reference.solution))


def _without(instance: Instance, algorithm: str) -> OnlineRun:
    return _play(replace(instance, edge=(), cache={}), algorithm)


_play = keep_by_content(content_hash, 16)(run)


_EDGEFLOW = "EdgeFlow, section 5.3"
_false_claim = partial(Claim, standing="false in general")
# The claims in the order in which an audit checks them
CLAIMS: tuple[Claim[Case[Instance]], ...] = (
    _false_claim(
        name="room",
        statement=(
            "A scheduler with the idle edge servers meets 1.1 times as many deadlines as each of Gandiva, Tiresias, "
            "AFS, EDF and ElasticFlow."
        ),
        source=f"{_EDGEFLOW}: higher by 1.1 to 7.3 times on its own traces; read as times as many, not as times more",
        assumptions="a run of one of the five",
        flaw="where a policy meets almost all deadlines that can be met, no scheduler can meet a tenth more.",
        applies=_baseline,
        check=_room,
    ),
    _false_claim(
        name="edge_worth",
        statement=(
            "The idle edge servers are worth a tenth more deadlines to a scheduler that uses the cloud as well as this "
            "policy does."
        ),
        source="examined by this project; EdgeFlow's figures do not separate servers from a better plan",
        assumptions="a run of a policy that uses edge servers, where there are some",
        flaw=(
            "one slower GPU per server, a few hours a day, is little beside the cloud: the bound with the servers "
            "is hardly above the deadlines met without them."
        ),
        asked=True,
        applies=_on_edge,
        check=_worth,
    ),
    _false_claim(
        name="edge_helps",
        statement="Idle edge servers never lower the number of deadlines that a policy meets.",
        source=f"{_EDGEFLOW} and Figure 5 (ElasticFlow+Edge is not below ElasticFlow)",
        assumptions="a run of a policy that uses edge servers, where there are some",
        repaired="Off-load only a job that ends on the server in time, before the window does.",
        flaw=(
            "a job that moves to a slower server comes back late when the window ends, and jobs that were "
            "admitted meanwhile take its GPUs."
        ),
        applies=_on_edge,
        check=_helps,
    ),
    _false_claim(
        name="guarantee",
        statement="Every job that ElasticFlow admits meets its deadline.",
        source="ElasticFlow, section 4: admitted jobs are guaranteed",
        assumptions="a run of `elasticflow` without edge servers",
        flaw=(
            "each new plan may change shares, and every change costs a stall. The plan that admits a job leaves "
            "at most 30 s for stalls (none with `margin=none`); more stalls may come."
        ),
        applies=_elasticflow,
        check=_guaranteed,
    ),
    _false_claim(
        name="for_good",
        statement="ElasticFlow misses no deadline because its rejections are final.",
        source="examined by this project; ElasticFlow, section 4, admits or declines each job once",
        assumptions="a run of `elasticflow` without edge servers",
        repaired="Choose the jobs to meet anew at every event (`hold`).",
        flaw=(
            "a job that takes many GPU seconds is admitted while GPUs are free, and shuts out small ones that "
            "come later."
        ),
        asked=True,
        applies=_elasticflow,
        check=_for_good,
    ),
    _false_claim(
        name="aware",
        statement="ElasticFlow, which knows deadlines, meets no fewer of them than AFS, which does not.",
        source=f"{_EDGEFLOW}: AFS is low because it is not aware of deadlines",
        assumptions="a run of `elasticflow`, whose admission may be read as `block` and `margin` say",
        flaw=(
            "a good division of the GPUs may meet more deadlines than an admission that is never taken back, "
            "the more so where an admitted job that will be late blocks newcomers (`block=artifact`)."
        ),
        applies=_admission,
        check=_aware,
    ),
)
THEORY = make_claims(CLAIMS, AUDITS, NOTATION, Case[Instance])
audit = THEORY.audit
SOURCES = read_sources(Path(__file__).with_name("sources.toml"))
