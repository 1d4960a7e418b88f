"""What the EdgeFlow and ElasticFlow papers print: deadline satisfaction ratios, and figures about moves.

Those of ElasticFlow are the numbers in its artifact's plotting scripts (pkusys/ElasticFlow), on the traces that are
shipped here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
