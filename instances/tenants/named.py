"""The shipped instances: tiny hand-made ones that show where the patent's search errs, and the edges of the problem.

`expected` has ``opt``, an integer in 1/100 micro-dollar, and for the witnesses against the search ``search``: its
options and the cost of what it finds.
"""

from __future__ import annotations

from pathlib import Path

from ratiobench.instances.shipped_instances import ShippedInstances
from ratiobench.instances.tenants.format import read

SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected
