"""Instances whose tasks may not have every schedule of P."""

from __future__ import annotations

from functools import partial

from ratiobench.instances.lora.restriction import restrict
from ratiobench.instances.lora.schedules import ScheduleKind

one_node = partial(restrict, kind=ScheduleKind.ONE_NODE)  # The same instance with every task on one node
