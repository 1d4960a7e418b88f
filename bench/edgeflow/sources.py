"""Where family `edgeflow`, its policies and its data come from."""

from pathlib import Path

from ratiobench.bench.family.source import read_sources

SOURCES = read_sources(Path(__file__).with_suffix(".toml"))
