"""The suites of family `edgeflow`: the EdgeFlow paper's figures on drawn days, ElasticFlow's on its own traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ratiobench.bench.family.suite import Case, Plot, PrintedMean, SolveSettings, Suite
from ratiobench.instances.edgeflow.generate import names
from ratiobench.instances.edgeflow.tables import PUBLISHED

# ElasticFlow, Figures 6(b), 8(a) and 8(b), by trace
PUBLISHED_RATIOS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "testbed": {"edf": "0.087", "gandiva": "0.210", "tiresias": "0.456", "elasticflow": "0.667"},
        "t4": {"edf": "0.118", "gandiva": "0.090", "tiresias": "0.287", "elasticflow": "0.728"},
        "philly_103959": {"edf": "0.01", "gandiva": "0.15", "tiresias": "0.32", "elasticflow": "0.87"},
        "cluster01": {"edf": "0.182", "gandiva": "0.246", "tiresias": "0.478", "elasticflow": "0.788"},
        "cluster06": {"edf": "0.105", "gandiva": "0.381", "tiresias": "0.466", "elasticflow": "0.607"},
        "cluster10": {"edf": "0.769", "gandiva": "0.354", "tiresias": "0.473", "elasticflow": "0.981"},
    }
)
# EdgeFlow, section 5.3: its ratio is "higher by 1.1 to 7.3 times" than the baselines'. Read here as so many times as
# many deadlines, from least to most; read as times more, they would be 2.1 to 8.3 times as many.
TIMES = ("1.1", "7.3")
# EdgeFlow, section 5.3: moves per job, those between cloud and edge, seconds of overhead per job (about)
MOVES, CROSSINGS, STALLED_S = "34.9", "0.6", "180"


# Readings of ElasticFlow's admission: the default, the margin kept for admitted jobs, the artifact's letter
READINGS = ("elasticflow", "elasticflow:margin=all", "elasticflow:block=artifact,margin=none")
BASELINES = ("edf", "edf:share=elastic", "gandiva", "tiresias", "afs", *READINGS)
ON_EDGE = ("elasticflow:edge=any", "edgeflow", "hold")
ALGORITHMS = (*BASELINES, *ON_EDGE)  # Everyone: the paper's baselines, and those that use edge servers
# Figure 5: EdgeFlow, and its three rules off one by one
ABLATION = (
    "elasticflow", "elasticflow:edge=any", "elasticflow:edge=ending", "edgeflow", "edgeflow:stay=no",
    "edgeflow:offload=no", "edgeflow:rescue=no", "hold:edge=none", "hold",
)  # fmt: skip
LATE = ("edf", "gandiva", "tiresias", "afs")
OPT = SolveSettings()

_SIZES = ((64, 8), (32, 4), (16, 2))
_DAYS = (0, 5, 10, 15, 20)
_RECONSTRUCTED = "`edgeflow` is reconstructed: the published text of its off-loading rule is not known to us. "
_DRAWN = (
    "Arrivals of the trace's day, shares and durations from its joint table, models and deadlines drawn: the paper "
    "prints neither them nor how many jobs there are. "
)


def _size(gpus: int, servers: int) -> str:
    return f"{gpus} + {servers}"


def _day(group: str, day: int, algorithms: tuple[str, ...], **recipe: Any) -> Case:
    name = f"{group}, day {day}"
    whole = {"kind": "gpu-day", "cluster": "pai", "day": day, "jobs": 200, "seed": ["trace1", day], **recipe}
    return Case(name, {**whole, "name": name}, algorithms, OPT, group)


def _satisfied(name: str, title: str, groups: tuple[str, ...], axis: str, note: str = "", **more: Any) -> Plot:
    return Plot(name, title, "satisfied", groups, axis, note=note, **more)


def _trace1() -> Suite:
    groups = tuple(_size(*size) for size in _SIZES)
    cases = tuple(
        _day(_size(gpus, servers), day, ALGORITHMS, gpus=gpus, servers=servers)
        for gpus, servers in _SIZES
        for day in _DAYS
    )
    plots = (
        _satisfied(
            "fig4a", "Figure 4(a): deadline satisfaction ratio", groups, "GPUs + edge servers", _RECONSTRUCTED + _DRAWN
        ),
        Plot("met", "Jobs met of 200, and the certified bound", "welfare", groups, "GPUs + edge servers"),
        Plot("reached", "Of what can be met at most", "reached", groups, "GPUs + edge servers"),
        Plot(
            "moves", "Moves per job", "moves", groups, "GPUs + edge servers",
            note="The EdgeFlow paper's figures are of its own traces, whose jobs are not known.",
            printed_means=(PrintedMean(groups[0], "edgeflow", MOVES),),
        ),
        Plot(
            "crossings", "Moves between cloud and edge per job", "crossings", groups, "GPUs + edge servers",
            algorithms=ON_EDGE, printed_means=(PrintedMean(groups[0], "edgeflow", CROSSINGS),),
        ),
        Plot(
            "stalled", "Seconds per job in which it starts or moves", "stalled_s", groups, "GPUs + edge servers",
            printed_means=(PrintedMean(groups[0], "edgeflow", STALLED_S),),
        ),
        Plot("gpu_use", "How much of the cloud's GPU time is in use", "gpu_use", groups, "GPUs + edge servers"),
    )  # fmt: skip
    small = tuple(case for case in cases if case.group == groups[-1])[:1]
    summary = "Figure 4(a) of the EdgeFlow paper: five days of 200 PAI tasks on 64, 32 and 16 GPUs with edge servers"
    return Suite("edgeflow-trace1", summary, cases, plots, small)


def _philly() -> Suite:
    days = ((0, 210), (14, 1114), (17, 2757))
    groups = tuple(f"{jobs:,} jobs" for _, jobs in days)
    cases = tuple(
        Case(
            f"philly day {day}",
            {"kind": "gpu-day", "cluster": "philly", "day": day, "durations": "day", "gpus": 80, "servers": 10,
             "seed": ["trace2", day], "name": f"philly day {day}"},
            ALGORITHMS, OPT, group,
        )
        for (day, _), group in zip(days, groups, strict=True)
    )  # fmt: skip
    plots = (
        _satisfied("fig4b", "Figure 4(b): deadline satisfaction ratio", groups, "day", _RECONSTRUCTED + _DRAWN),
        Plot("reached", "Of what can be met at most", "reached", groups, "day"),
    )
    summary = "Figure 4(b) of the EdgeFlow paper: days of 210, 1,114 and 2,757 Philly jobs on 80 GPUs, 10 edge servers"
    return Suite("edgeflow-philly", summary, cases, plots, cases[:1])


def _ablation() -> Suite:
    sizes = _SIZES[:2]
    groups = tuple(_size(*size) for size in sizes)
    cases = tuple(
        _day(_size(gpus, servers), day, ABLATION, gpus=gpus, servers=servers)
        for gpus, servers in sizes
        for day in _DAYS
    )
    plots = (
        _satisfied("fig5", "Figure 5: rules off one by one", groups, "GPUs + edge servers", _RECONSTRUCTED + _DRAWN),
        Plot("crossings", "Moves between cloud and edge per job", "crossings", groups, "GPUs + edge servers"),
    )
    summary = "Figure 5 of the EdgeFlow paper: ElasticFlow without and with edge servers, EdgeFlow without single rules"
    return Suite("edgeflow-ablation", summary, cases, plots, cases[:1])


_TIGHT = ((50, 150), (100, 200), (100, 400))
_SERVERS = (0, 8, 32, 64)
_FACTORS = ("0.3", "0.5", "0.65", "0.9")


def tightness(span: tuple[int, int]) -> str:
    return f"{span[0] / 100:g} to {span[1] / 100:g} durations"


def _edge() -> Suite:
    algorithms = ("elasticflow", *ON_EDGE)

    def case(group: str, span: tuple[int, int], servers: int, **recipe: Any) -> Case:
        return _day(group, 5, algorithms, gpus=16, servers=servers, tightness=list(span), **recipe)

    cases = []
    plots = []
    for span in _TIGHT:
        by_servers = {f"{tightness(span)}, {servers} servers": servers for servers in _SERVERS}
        cases += [case(group, span, servers) for group, servers in by_servers.items()]
        by_factor = {f"{tightness(span)}, 32 servers of factor {factor}": factor for factor in _FACTORS}
        cases += [case(group, span, 32, factor=factor) for group, factor in by_factor.items()]
        part = f"{span[0]}_{span[1]}"
        note = "The line is what an optimal schedule meets, certified on both sides: what the servers can be worth."
        title = f"deadlines after {tightness(span)}"
        for name, groups, axis in (("servers", by_servers, "edge servers"), ("factor", by_factor, "speed of a server")):
            plots.append(Plot(f"{name}_{part}", f"Jobs met, {title}", "welfare", tuple(groups), axis, note=note))
    summary = "Worth of edge servers: 16 GPUs, 0 to 64 servers, three laws of deadlines, four speeds of the edge"
    return Suite("edgeflow-edge", summary, tuple(cases), tuple(plots), tuple(cases[:1]))


def _testbed(sizes: tuple[int, ...], algorithms: tuple[str, ...]) -> tuple[Case, ...]:
    groups = {f"{gpus} GPUs": gpus for gpus in sizes}
    return tuple(
        Case(group, {"kind": "elasticflow", "trace": "testbed", "gpus": gpus, "name": group}, algorithms, OPT, group)
        for group, gpus in groups.items()
    )


def _load() -> Suite:
    cases = _testbed((16, 32, 64, 128, 256), (*BASELINES, "hold"))
    groups = tuple(case.group for case in cases)
    plots = (
        Plot(
            "load", "Deadlines met of 195 over the size of the cloud", "welfare", groups, "GPUs",
            note="OPT is the line: no scheduler meets more.",
        ),
        _satisfied("ratio", "Deadline satisfaction ratio over the size of the cloud", groups, "GPUs"),
    )  # fmt: skip
    return Suite("edgeflow-load", "ElasticFlow's testbed trace on 16 to 256 GPUs", cases, plots, cases[:1])


_SLOTTED = (
    "elasticflow", "elasticflow:slot=60", "elasticflow:slot=240", "elasticflow:admit=batch,slot=60",
    "elasticflow:admit=batch,slot=240", "elasticflow:admit=batch,block=artifact,slot=60",
)  # fmt: skip


def _slots() -> Suite:
    cases = _testbed((128, 64, 32), _SLOTTED)
    groups = tuple(case.group for case in cases)
    plots = (_satisfied("slots", "Deadline satisfaction ratio by the length of a slot", groups, "GPUs"),)
    summary = "ElasticFlow with slots of 60 and 240 seconds, on its testbed trace"
    return Suite("edgeflow-slots", summary, cases, plots, cases[:1])


# The readings of each published policy: one option of the artifact after the other, and at last all of them
OPTIONS = {
    "edf": (
        "edf", "edf:late=keep", "edf:share=elastic", "edf:late=keep,share=elastic",
        "edf:late=keep,levels=measured,share=elastic",
    ),
    "gandiva": ("gandiva", "gandiva:late=keep"),
    "tiresias": ("tiresias", "tiresias:late=keep"),
    "elasticflow": (
        "elasticflow", "elasticflow:margin=all", "elasticflow:margin=none", "elasticflow:block=artifact",
        "elasticflow:block=artifact,margin=none", "elasticflow:spare=large", "elasticflow:slot=60",
        "elasticflow:admit=batch,slot=60", "elasticflow:admit=batch,block=artifact,slot=60",
        "elasticflow:admit=batch,block=artifact,margin=none,slot=60,spare=large",
        "elasticflow:admit=batch,block=artifact,margin=none,slot=240,spare=large",
    ),
}  # fmt: skip
# Seconds of a start or move, about what the artifact charges on large clusters; else what was measured, by model
STALLS = 20


def published_group(trace: str, stalls: int | None = None) -> str:
    return f"{trace}, {PUBLISHED[trace].gpus} GPUs" + (f", stalls of {stalls} s" if stalls else "")


def _published() -> Suite:
    every = tuple(each for readings in OPTIONS.values() for each in readings)

    def cases() -> Iterator[Case]:
        for stalls in (None, STALLS):
            for trace in PUBLISHED_RATIOS:
                group = published_group(trace, stalls)
                recipe = {"kind": "elasticflow", "trace": trace, "name": group}
                some = every if stalls is None else tuple(readings[-1] for readings in OPTIONS.values())
                yield Case(group, recipe | ({"overhead": stalls} if stalls else {}), some, OPT, group)

    groups = tuple(published_group(trace) for trace in PUBLISHED_RATIOS)
    printed = tuple(
        PrintedMean(published_group(trace), reading, value)
        for trace, row in PUBLISHED_RATIOS.items()
        for name, value in row.items()
        for reading in OPTIONS[name]
    )
    note = (
        "Beside, not reproduced: the jobs are the paper's, its simulator is not. Every reading of a policy stands "
        "beside the one figure that is printed for it; options are what may explain the difference."
    )
    slow = tuple(published_group(trace, STALLS) for trace in PUBLISHED_RATIOS)
    plots = (
        _satisfied(
            "published", "Deadline satisfaction ratio on the ElasticFlow paper's traces", groups, "trace", note,
            printed_means=printed,
        ),
        _satisfied("stalls", f"With all options of the artifact, and stalls of {STALLS} s", slow, "trace"),
        Plot("reached", "Of what can be met at most", "reached", groups, "trace"),
    )  # fmt: skip
    summary = "Six traces that ElasticFlow's authors prepared, their printed figures beside certified ones"
    found = tuple(cases())
    return Suite("elasticflow-published", summary, found, plots, found[:1])


def _named() -> Suite:
    cases = tuple(Case(name, {"kind": "named", "name": name}, ALGORITHMS, OPT, group="named") for name in names())
    summary = "Tiny instances on which published policies fail, one for each kind of failure"
    return Suite("edgeflow-named", summary, cases, groups={"named": "tiny instances"}, verdicts_first=True)


@lru_cache(maxsize=1)
def suites() -> tuple[Suite, ...]:
    return (_trace1(), _philly(), _ablation(), _edge(), _load(), _slots(), _named(), _published())
