"""What must survive any rewrite: figures, decisions, intervals, verdicts and interfaces, stored, and compared anew.

`nox -s golden` compares, `nox -s golden -- --long` compares everything, `nox -s golden -- --write [PART ...]` stores
what the program says now: in a commit of its own, with the reason.
"""
