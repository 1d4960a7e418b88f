"""The shipped instances: the counterexamples of the theory with their exact figures, and tiny hand-made ones."""

from __future__ import annotations

from pathlib import Path

from ratiobench.instances.lora.format import read
from ratiobench.instances.shipped_instances import ShippedInstances

# Figures of `expected` are fractions in strings; those of the algorithm are of pdFTSP as printed, with exact schedule
# search and units as given. An absent key: the figure is not known or does not apply.
SHIPPED = ShippedInstances(Path(__file__).with_name("named"), read)
names, path, named, expected = SHIPPED.names, SHIPPED.path, SHIPPED.named, SHIPPED.expected
