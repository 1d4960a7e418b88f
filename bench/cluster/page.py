"""The page of a backtest: one template, four pictures, the tables of the terminal."""

from __future__ import annotations

from ratiobench.bench.cluster.backtest import Backtest
from ratiobench.bench.cluster.pictures import PICTURES, make_svg
from ratiobench.bench.cluster.tables import list_answers, list_basis, list_tables
from ratiobench.bench.report.shared.render import render


def render_page(result: Backtest) -> str:
    """The page as HTML; it needs nothing from a network."""
    return render(
        "cluster/backtest.html",
        result=result,
        answers=list(list_answers(result)),
        basis=list(list_basis(result)),
        pictures=[(title, make_svg(draw, result)) for title, draw in PICTURES.items()],
        tables=list(list_tables(result)),
    )
