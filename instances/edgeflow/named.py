"""The shipped instances: tiny hand-made ones, one for each thing that goes wrong.

docs/reference/instances/edgeflow.md lists them. `expected` has ``opt``, the number of jobs that can be met, and what
some policies reach.
"""

from __future__ import annotations

from pathlib import Path

from ratiobench.instances.edgeflow.format import read
from ratiobench.instances.shipped_instances import ShippedInstances

SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected
