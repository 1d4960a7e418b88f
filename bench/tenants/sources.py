"""Where family `tenants`, its search and its data come from."""

from __future__ import annotations

from ratiobench.bench.family.source import Source

# Every source
SOURCES = (
    Source(
        "patent",
        "Scheduling method and system for multi-tenant intelligent computing tasks, aware of their many demands",
        ("National University of Defense Technology",),
        "Chinese patent application, technical number 43223594 (page of 5 November 2024)",
        2024,
        "the three parts of the cost, `patent`; its formulas are lost on the page, and readings of h, of l and of the "
        "search are options",
        kind="patent",
    ),
    Source(
        "Gavel",
        "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads",
        ("Deepak Narayanan", "Keshav Santhanam", "Fiodar Kazhamiaka", "Amar Phanishayee", "Matei Zaharia"),
        "14th USENIX Symposium on Operating Systems Design and Implementation (OSDI '20)",
        2020,
        "iterations per second of 26 kinds of jobs on V100, P100 and K80",
        link="https://www.usenix.org/conference/osdi20/presentation/narayanan-deepak",
    ),
)
