"""The terms of Theorem 5 of the main paper, of an instance and a reading of its mechanism, in fractions."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import lru_cache

from ratiobench.bench.lora.theory.basis.case import UNKNOWN, Case
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.format import read
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run

__all__ = ["alpha", "bbar", "beta", "rho", "theorem5_bound"]

READING = "pdftsp"  # Memory in GB, as in section 2.1 of the paper
Given = Instance | str | os.PathLike[str]


def theorem5_bound(instance: Given, algorithm: str = READING) -> Fraction | None:
    """Bound OPT/ALG as Theorem 5 of the main paper does: rho (1 + max{alpha, beta}).

    It depends on the unit of memory: `pdftsp` takes GB, as the paper does, `pdftsp:units=given` the MB of the file.

    Parameters
    ----------
    instance : an instance of `lora` or its file.
    algorithm : the reading of pdFTSP, with its units: `pdftsp` with options.

    Returns
    -------
    The bound, without unit; None where rho is undefined: no schedule has a positive net bid.

    Raises
    ------
    InputError : a file of no instance of `lora`, or an algorithm that is no reading of pdFTSP.

    Examples
    --------
    >>> from ratiobench.instances.lora.named import named
    >>> from ratiobench.testing import theorem5_bound
    >>> theorem5_bound(named("thm5_T5_3tasks"))
    Fraction(49, 2)
    """
    return _case(instance, algorithm).theorem5_bound


def rho(instance: Given, algorithm: str = READING) -> Fraction | None:
    """Compute rho = 1 + (bbar_max / bbar_min) max{s_max / s_min, r_max / r_min} of Lemma 3.

    Parameters
    ----------
    instance, algorithm : as of `theorem5_bound`.

    Returns
    -------
    rho, without unit; None where it is undefined.

    Raises
    ------
    InputError : as of `theorem5_bound`.
    """
    return _case(instance, algorithm).rho


def alpha(instance: Given, algorithm: str = READING) -> Fraction:
    """Compute alpha = max b_i / M_i of Lemma 2.

    Parameters
    ----------
    instance, algorithm : as of `theorem5_bound`.

    Returns
    -------
    alpha, micro-dollars per sample in the unit of money of the algorithm.

    Raises
    ------
    InputError : as of `theorem5_bound`.
    """
    return _case(instance, algorithm).facts.alpha


def beta(instance: Given, algorithm: str = READING) -> Fraction:
    """Compute beta = max b_i / r_i of Lemma 2.

    Parameters
    ----------
    instance, algorithm : as of `theorem5_bound`.

    Returns
    -------
    beta, micro-dollars per MB in the units of money and memory of the algorithm.

    Raises
    ------
    InputError : as of `theorem5_bound`.
    """
    return _case(instance, algorithm).facts.beta


def bbar(instance: Given, algorithm: str = READING) -> tuple[Fraction, Fraction] | None:
    """Compute the least and the largest bbar_il = b_il / (S + R) over the schedules of which rho is taken.

    Parameters
    ----------
    instance, algorithm : as of `theorem5_bound`.

    Returns
    -------
    The two; None where no task has a schedule with a positive net bid.

    Raises
    ------
    InputError : as of `theorem5_bound`.
    """
    return _case(instance, algorithm).bbar_range


def _case(instance: Given, algorithm: str) -> Case:
    case = _played(read(instance) if isinstance(instance, str | os.PathLike) else instance, algorithm)
    if case.trace is None:
        raise InputError("algorithm", algorithm, "is no reading of pdFTSP")
    return case


@lru_cache(maxsize=4)
def _played(instance: Instance, algorithm: str) -> Case:
    """A run of the mechanism; OPT does not matter to any of these terms."""
    return Case(instance, run(instance, algorithm), UNKNOWN)
