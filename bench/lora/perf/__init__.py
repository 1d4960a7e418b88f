"""Speed of family `lora`."""

from ratiobench.bench.lora.perf.models import PARTS

__all__ = ["PARTS"]
