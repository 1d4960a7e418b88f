"""The shipped instances: tiny hand-made ones that show what the second paper's rule and lemma get wrong.

`expected` has ``opt``, ``greedy`` and ``average``, fractions in strings.
"""

from __future__ import annotations

from pathlib import Path

from ratiobench.instances.eapm.format import read
from ratiobench.instances.shipped_instances import ShippedInstances

SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected
