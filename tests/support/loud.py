"""An algorithm whose every word is too long and would repaint a terminal; run by its import path."""

from collections.abc import Mapping
from typing import Any

WORD = "\x1b[2J\u202ered\x07" * 100_000


class Loud:
    """Rejects all. `says=` where it is loud: in an error, an answer, ... or (default) in what it ends with."""

    label = WORD
    arithmetic = WORD

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._says = (options or {}).get("says", "end")
        self.counts = {f"{j}{WORD}": j for j in range(100)}
        if self._says == "build":
            raise ValueError(WORD)
        if self._says == "constants":
            self.constants = (WORD,)

    def start(self, public: Any, constants: Mapping[str, Any]) -> None:
        """Nothing to set up."""

    def decide(self, task: Any, view: Any) -> Any:
        if self._says == "error":
            raise type(WORD[:20_000], (Exception,), {})(WORD)
        return {"answer": WORD, "vendor": (WORD, (), 0)}.get(self._says)

    def prices(self) -> Any:
        raise ValueError(WORD)
