"""How many random examples a test takes: a third of all; with `pytest --thorough` (`nox -s thorough`) all of them."""

LEAST = 10  # No sample is made smaller than this
thorough = False  # Whether the tests take all examples; set when pytest starts, before any test is imported


def samples(full: int, least: int = LEAST) -> int:
    """The number of examples that a test takes of so many: a third, rounded up."""
    return full if thorough else min(full, max(least, -(-full // 3)))


def of_sample(count: int, full: int) -> int:
    """What a test expects of its sample where it expects so many of all examples: as large a share, rounded down."""
    return count * samples(full) // full
