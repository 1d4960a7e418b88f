"""An algorithm that binds late: it serves everybody whom some packing of the nodes of a slot can hold."""

from __future__ import annotations

from typing import Any

from ratiobench.online.lora.final_schedule import Late, Move
from ratiobench.online.lora.protocol import Decision


class Mover:
    """One-slot tasks, all in the last slot: the second task moves to make room for the third. `how` breaks a rule."""

    def __init__(self, options: Any = None) -> None:
        self._how = (options or {}).get("how", "")

    def start(self, public: Any, constants: Any) -> None:
        self._public = public

    def decide(self, task: Any, view: Any) -> Any:
        slot = task.deadline
        if task.index < 2:
            return Decision(None, ((task.index, slot),), 0)
        moves = {
            "": ((1, slot, 0),),
            "begun": ((1, slot, 0),),
            "unknown": ((7, slot, 0),),
            "other": ((1, slot, 2),),
            "full": ((1, slot, 0), (0, slot, 1)),
            "again": ((1, slot, 0), (1, slot, 0)),
            "text": ((1, slot, "0"),),
            "short": ((1, slot),),
        }[self._how]
        late = Late(Decision(None, ((1, slot),), 0), tuple(Move(*move) if len(move) == 3 else move for move in moves))
        return late if self._how != "list" else [list(late.decision), [list(move) for move in moves]]
