"""The published schemas are those of the types that read instance files."""

from tools.schemas import make_schemas


def test_published_schemas_are_those_of_the_types() -> None:
    """After a change of a type, `python -m tools.schemas` writes them."""
    for path, text in make_schemas().items():
        assert path.read_text() == text
