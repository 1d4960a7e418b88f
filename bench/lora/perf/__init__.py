"""Speed of family `lora`."""

from bench.lora.perf.models import PARTS

__all__ = ["PARTS"]
