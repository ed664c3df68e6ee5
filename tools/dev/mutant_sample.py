"""Samples of mutants, and intervals for all mutants of a package."""

import hashlib
import math
from collections import defaultdict
from typing import Protocol, TypeVar

NORMAL_QUANTILE = 1.959963984540054
"""Of 0.975: intervals hold the share in 95 of 100 samples."""


class NamedMutant(Protocol):
    """The parts of a mutant that a sample needs."""

    @property
    def path(self) -> str:
        """Its file."""
        ...

    @property
    def name(self) -> str:
        """Its name, which differs from that of all others."""
        ...

    @property
    def line(self) -> int:
        """Its line, from 1."""
        ...


Mutant = TypeVar("Mutant", bound=NamedMutant)


def choose_sample(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """A random sample in which each file has its share.

    Parameters
    ----------
    mutants : list
        All of a package.
    count : int
        How many to choose; all if there are fewer.
    seed : int
        Another gives another sample. A larger sample of one seed holds the smaller one.

    Returns
    -------
    list
        In the order of their trials: after any number of them each file has had
        its share.
    """
    by_path = defaultdict(list)
    for mutant in mutants:
        by_path[mutant.path].append(mutant)

    def draw(text: str) -> str:
        return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()

    places = []
    for path, listed in by_path.items():
        listed.sort(key=lambda mutant: draw(mutant.name))
        # Files with less than one mutant in the sample begin at a random place.
        start = int(draw(path)[:8], 16) / 2**32
        places += [
            ((rank + start) / len(listed), path, mutant) for rank, mutant in enumerate(listed)
        ]
    places.sort(key=lambda place: place[:2])
    return [mutant for _, _, mutant in places[:count]]


def compute_wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Bounds of a share by its sample, at 95 % (Wilson 1927).

    Parameters
    ----------
    hits, count : int
        So many of so many, ``count`` from 1 on.

    Returns
    -------
    low, high : float
        Shares, 0 to 1.
    """
    share = hits / count
    square = NORMAL_QUANTILE**2 / count
    centre = share + square / 2
    half = math.sqrt(square * (share * (1 - share) + square / 4))
    return (centre - half) / (1 + square), (centre + half) / (1 + square)
