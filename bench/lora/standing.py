"""What is known of an algorithm beside its figures: the guarantee that is proved, and whether it is truthful."""

from __future__ import annotations

from collections.abc import Mapping

from online.lora.registry import parse

NOTHING = {"guarantee": "none known", "truthful": "not examined"}
_TYPE = "in bid, window, work and memory"
_WHERE = "where the public constants bound the day's"
_KNOWN: Mapping[str, tuple[str, str]] = {
    "posted": (f"OPT <= Gamma ALG, Gamma known beforehand, {_WHERE} (Theorem A)", _TYPE),
    "minimal-edit": (f"OPT <= (1 + max{{alpha, beta}}) ALG, {_WHERE} and bbar >= 1 (Theorem B)", _TYPE),
    "capped": ("OPT <= (Gamma' + U/(1-eps)) ALG, and a certificate with every run (Theorem C)", _TYPE),
    "bbar-rule": ("OPT <= (Gamma' + U/(1-eps)) ALG, and a certificate with every run (Theorem C)", _TYPE),
    "greedy": ("OPT <= (1 + U/(1-eps)) ALG (Theorem G)", _TYPE),
    "titan": ("none", "no payments"),
    "eft": ("none", "no payments"),
    "ntm": ("none", "no payments"),
    "eris": ("none proved here", "posted prices; not examined"),
}


def standing(algorithm: str) -> Mapping[str, str]:
    """``guarantee`` and ``truthful`` of an algorithm's name with its options; anyone's own: not known.

    Truthful: no misreport of the named parts gains, whatever the others do; rates are the provider's to measure and
    are no part of a bid. A mechanism of which a constant is computed from the instance under test is not: bids move it.
    """
    spec = parse(algorithm)
    if spec.entry is None:
        return NOTHING
    if spec.options.get("migrate") == "no":
        return NOTHING  # the theorems are about the choice among all schedules
    declared = getattr(spec.entry.make(spec.options), "constants", ())
    oracle = not spec.prior and any(name not in spec.given for name in declared)
    if spec.entry.name == "pdftsp":
        return _pdftsp(spec.options, oracle=oracle)
    guarantee, truthful = _KNOWN.get(spec.entry.name, tuple(NOTHING.values()))
    if spec.entry.public_constants and oracle:
        truthful = "no: constants come from the bids"
    return {"guarantee": guarantee, "truthful": truthful}


def _pdftsp(options: Mapping[str, str], *, oracle: bool) -> Mapping[str, str]:
    if options["updates"] == "all" and options["search"] == "exact":
        where = "where costs are >= 0, bbar >= 1 and alpha, beta bound the day's"
        guarantee = f"OPT <= kappa rho_L (1+A) ALG {where} (Theorem 5'); Theorem 5 as printed is false"
    else:
        guarantee = "none; Theorem 5 as printed is false"
    if oracle:
        truthful = "no: constants come from the bids"
    elif options["payment"] == "critical":
        truthful = "in the bid"
    else:
        truthful = "no: (14) does not charge operation"
    return {"guarantee": guarantee, "truthful": truthful}
