"""The checker of certificates `ratiobench/eapm-certificate/1`; with what makes them it shares their format.

x_ij of the a_i tasks of user i run on machine j; one costs c_ij and takes e_ij milliseconds there. P is all that is
paid, C(x) what a solution x costs, MS(x) > 0 its largest load L_j(x); OPT is the largest (P - C(x)) / MS(x).
For prices w_j >= 0 of sum W every x has sum_j w_j L_j(x) <= W MS(x), and therefore

    C(x) + W MS(x) >= sum_ij x_ij (c_ij + w_j e_ij) >= sum_i a_i min_j (c_ij + w_j e_ij).

If the right side is at least P, OPT <= W. A negative end -u needs no prices: MS(x) is the load of some machine k, so
C(x) - u MS(x) >= min_k sum_i a_i min(min_j c_ij, c_ik - u e_ik); if that is at least P, OPT <= -u.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.formulations.checksums import CertificateFiles, Verdict, check_certificate, require, run_checker
from ratiobench.instances.eapm.format import content_hash
from ratiobench.instances.eapm.format import parse as parse_instance
from ratiobench.instances.eapm.model import Instance, Solution
from ratiobench.instances.io.documents import Digest
from ratiobench.instances.io.errors import InputError, shorten

FORMAT = "ratiobench/eapm-certificate/1"
PRICE_LIMIT = 2**62
RATE_DIGITS = 40  # Most digits of a rate's numerator and denominator

Price = Annotated[int, Meta(ge=-PRICE_LIMIT, le=PRICE_LIMIT)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A claim lower <= OPT <= upper about one instance, with what proves it."""

    instance: Digest  # of its content
    scale: Annotated[int, Meta(ge=1, le=PRICE_LIMIT)]  # prices are in 1/scale micro-units of money per millisecond
    prices: tuple[Price, ...]  # one per machine; none where OPT is negative and `upper` proves itself
    upper: Fraction  # upper, lower: units of money per second, as claimed
    lower: Fraction
    decisions: Solution  # the solution whose profit rate is `lower`


def _read_rate(_: Any, value: Any) -> Fraction:
    """A rate written as "p/q" in lowest terms, the only way to write it."""
    digits = rf"[0-9]{{1,{RATE_DIGITS}}}"
    if isinstance(value, str) and re.fullmatch(f"-?{digits}/{digits}", value):
        top, _, bottom = value.partition("/")
        if int(bottom) > 0:
            rate = Fraction(int(top), int(bottom))
            if f"{rate.numerator}/{rate.denominator}" == value:
                return rate
    raise InputError("", "", f'{shorten(value)} is not a fraction "p/q" in lowest terms')


FILES = CertificateFiles(Certificate, FORMAT, _read_rate)
document, seal, parse, read, write = FILES.document, FILES.seal, FILES.parse, FILES.read, FILES.write


# What a valid certificate proves, and how
PROVES = (
    "the decisions are a solution whose profit rate is `lower`; and at the prices of machine time the best profit rate "
    "that any solution could have is at most `upper` (weak duality)"
)


def verify(instance: Instance, data: Any, source: str = "<document>") -> Verdict[Certificate]:
    """Recompute every number of a decoded certificate document from the instance."""
    return check_certificate(FILES, content_hash, _prove, instance, data, source)


def _prove(instance: Instance, certificate: Certificate) -> None:
    lower = rate(instance, certificate.decisions)
    require(lower == certificate.lower, f"lower: {certificate.lower} claimed; the solution's rate is {lower}")
    require_upper(instance, certificate)
    require(lower <= certificate.upper, f"lower {lower} is above upper {certificate.upper}")


def rate(instance: Instance, decisions: Solution) -> Fraction:
    """Objective (4) of a solution, units of money per second; CertificateError names the first rule that it breaks."""
    require(len(decisions) == instance.users, f"{len(decisions)} decisions for {instance.users} users")
    load, spent = [0] * len(instance.machines), 0
    for i, decision in enumerate(decisions):
        require(decision is not None, f"(5) user {i}: no decision")
        assert decision is not None
        cost, etc = _rows(instance, int(instance.kind[i]))
        require(len(decision) == len(load), f"(7) user {i}: {len(decision)} shares for {len(load)} machines")
        require(min(decision) >= 0, f"(7) user {i}: share {min(decision)} is negative")
        require(sum(decision) == instance.tasks[i], f"(5) user {i}: {sum(decision)} of {instance.tasks[i]} tasks")
        for j, share in enumerate(decision):
            load[j] += share * etc[j]
            spent += share * cost[j]
    return Fraction(sum(instance.price.tolist()) - spent, 1000 * max(load))


def _rows(instance: Instance, kind: int) -> tuple[list[int], list[int]]:
    """Cost in micro-units and time in ms of one task of the type on every machine."""
    etc, power = instance.etc_ms[kind].tolist(), instance.apc_mw[kind].tolist()
    return [instance.energy_price * t * w for t, w in zip(etc, power, strict=True)], etc


def require_upper(instance: Instance, certificate: Certificate) -> None:
    """CertificateError unless the certificate's prices, or its negative rate, prove OPT <= upper."""
    scale, prices, upper = certificate.scale, certificate.prices, certificate.upper
    machines = len(instance.machines)
    tasks: dict[int, int] = {}
    for kind, amount in zip(instance.kind.tolist(), instance.tasks.tolist(), strict=True):
        tasks[kind] = tasks.get(kind, 0) + amount
    rows = {kind: _rows(instance, kind) for kind in tasks}
    paid = sum(instance.price.tolist())
    if upper < 0:
        require(not prices and scale == 1, "prices: a negative upper end has none, at scale 1")
        # u = top / bottom micro-units per ms.
        top, bottom = (-1000 * upper).numerator, (-1000 * upper).denominator
        cheapest = {kind: min(cost) for kind, (cost, _) in rows.items()}
        for k in range(machines):
            least = sum(
                amount * min(bottom * cheapest[kind], bottom * rows[kind][0][k] - top * rows[kind][1][k])
                for kind, amount in tasks.items()
            )
            require(least >= bottom * paid, f"upper: a solution with machine {k} last may be better than {upper}")
        return
    require(len(prices) == machines, f"prices: {len(prices)} for {machines} machines")
    require(min(prices) >= 0, f"prices[{prices.index(min(prices))}]: {min(prices)} is negative")
    proved = Fraction(sum(prices), 1000 * scale)
    require(proved == upper, f"upper: {upper} claimed; the prices add up to {proved}")
    least = sum(
        amount * min(scale * c + w * e for c, e, w in zip(*rows[kind], prices, strict=True))
        for kind, amount in tasks.items()
    )
    require(least >= scale * paid, f"prices: too low, {least} does not reach {scale * paid}")


if __name__ == "__main__":
    sys.exit(run_checker(parse_instance, verify, sys.argv[1:]))
