"""The one error of unusable input."""

from __future__ import annotations

DEBUG = "RATIOBENCH_DEBUG"
"""Set in the environment by `--debug`: errors in processes of their own are told with their traceback."""


def shown(value: object) -> str:
    """The value in at most 60 characters on one line, as error messages print it."""
    if isinstance(value, str):
        text = repr(value)
    elif isinstance(value, dict):
        text = "an object"
    elif isinstance(value, list):
        text = f"a list of {len(value)}"
    elif value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


class InputError(ValueError):
    """Input that cannot be used; its text is one line: file, field, value, and what is allowed.

    Parameters
    ----------
    source : the file (or other origin) as the user named it.
    field : the path of the field inside it, such as ``tasks[3].deadline``; empty for the file as a whole.
    problem : what is wrong, with the value, and what would be allowed.
    """

    def __init__(self, source: str, field: str, problem: str) -> None:
        self.source, self.field, self.problem = source, field, problem
        # Keys and file names may hold line breaks; the message may not.
        super().__init__(" ".join(": ".join(part for part in (source, field, problem) if part).splitlines()))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        return InputError, (self.source, self.field, self.problem)
