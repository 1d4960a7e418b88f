"""Write the JSON Schemas of instance files, `instances/FAMILY/schema.json`, from the types that read them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ratiobench.bench.family.registry import families
from ratiobench.instances.io.documents import make_schema
from ratiobench.instances.io.files import text_of, write_text

INSTANCES = Path(__file__).parents[1] / "instances"


def make_schemas() -> dict[Path, str]:
    """The text of every schema, by its file."""
    kinds = {name: import_module(f"ratiobench.instances.{name}.format").InstanceDocument for name in families()}
    return {INSTANCES / name / "schema.json": text_of(make_schema(kind)) for name, kind in kinds.items()}


if __name__ == "__main__":
    for path, text in make_schemas().items():
        write_text(path, text)
