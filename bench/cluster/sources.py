"""Where the rules and public figures of family `cluster` come from."""

from __future__ import annotations

from ratiobench.bench.family.source import Source

# Every source
SOURCES = (
    Source(
        "F1",
        "Obtaining dynamic scheduling policies with simulation and machine learning",
        ("Danilo Carastan-Santos", "Raphael Y. de Camargo"),
        "International Conference for High Performance Computing, Networking, Storage and Analysis (SC '17)",
        2017,
        "the order F1, and WFP3 and UNICEP as it states them",
        doi="10.1145/3126908.3126955",
    ),
    Source(
        "Tsafrir",
        "Backfilling Using System-Generated Predictions Rather than User Runtime Estimates",
        ("Dan Tsafrir", "Yoav Etsion", "Dror G. Feitelson"),
        "IEEE Transactions on Parallel and Distributed Systems 18(6)",
        2007,
        "the belief `last2`: the mean of a user's last two jobs",
        pages="789-803",
        doi="10.1109/TPDS.2007.70606",
        kind="article",
    ),
    Source(
        "predictsim",
        "Improving backfilling by using machine learning to predict running times",
        ("Eric Gaussier", "David Glesser", "Valentin Reis", "Denis Trystram"),
        "International Conference for High Performance Computing, Networking, Storage and Analysis (SC '15)",
        2015,
        "figures of EASY on the KTH log, which the engine reproduces",
        doi="10.1145/2807591.2807646",
    ),
)
