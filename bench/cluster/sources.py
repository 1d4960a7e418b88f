"""Where the rules and public figures of family `cluster` come from."""

from pathlib import Path

from ratiobench.bench.family.source import read_sources

SOURCES = read_sources(Path(__file__).with_suffix(".toml"))
