"""What the second paper prints: its Table 1 and the three constants that the table gives away about its matrices.

Greedy and Average place bags without a look at prices, so their rows are linear in gamma: with E_min and E_avg the cost
of the cheapest and of the even placement, Greedy's is (gamma - 1) E_min / MS_greedy and Average's is
(gamma E_min - E_avg) / MS_avg. Slopes and intercepts yield `ENERGY`, `SPAN` and `RATE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

GAMMAS = ("1.05", "1.1", "1.15", "1.2", "1.25", "1.3", "1.35", "1.4", "1.45", "1.5")  # The columns of Table 1

# Table 1 as printed (DOI 10.13705/j.issn.1671-6841.2022250): the objective's mean over 100 repetitions
TABLE1: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "online": ("22.23", "45.26", "70.47", "99.5", "130.69", "162.65", "190.94", "224.4", "255.72", "297.67"),
        "greedy": ("22.63", "43.44", "67.89", "90.52", "113.15", "135.78", "158.41", "181.04", "203.68", "226.31"),
        "average": (
            "-382.80", "-347.77", "-312.73", "-277.7", "-242.67", "-207.63", "-172.6", "-137.56", "-102.53", "-67.5",
        ),
    }
)  # fmt: skip

ENERGY = Fraction("1.596")  # E_avg / E_min: the even placement costs so many times what the cheapest one does
SPAN = Fraction("1.548")  # MS_greedy / MS_avg: the cheapest placement takes so many times as long as the even one
RATE = Fraction("452.6")  # E_min / MS_greedy, units of money per second; in watts, as c = 1 unit per joule
