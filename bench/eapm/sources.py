"""Where the problem EAPM and its algorithms come from."""

from __future__ import annotations

from ratiobench.bench.family.source import Source

# Every source
SOURCES = (
    Source(
        "second paper",
        "An Online Algorithm for Energy-aware Profit Maximizing Problem in Heterogeneous Computing System",
        ("Qinghui Zhang", "Weidong Li", "Xuejie Zhang"),
        "Journal of Zhengzhou University (Natural Science Edition) 56(1), in Chinese",
        2024,
        "the problem, `online` as printed with its claims, `greedy` and `average`",
        pages="47-52",
        doi="10.13705/j.issn.1671-6841.2022250",
        kind="article",
    ),
)
