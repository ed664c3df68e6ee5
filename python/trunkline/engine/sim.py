"""The packet engine: a compiled network in, results out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Protocol

from trunkline.results import Provenance, Results


class Compiled(Protocol):
    """A compiled network, as far as an engine needs to know it."""

    def to_json(self) -> str:
        """Canonical JSON: keys sorted, no spaces."""
        ...


def simulate(
    network: Compiled | str,
    *,
    seeds: Sequence[int],
    threads: int | None = None,
    scenario: str = "",
) -> list[Results]:
    """Run a network once for each seed.

    The interpreter lock is released while the engine runs. Results do not depend on the number
    of threads.

    Parameters
    ----------
    network : Network or str
        A compiled network, or its JSON.
    seeds : sequence of int
        Seeds, each at least 0.
    threads : int, optional
        Most threads to use; all cores of this process if left out.
    scenario : str, default ""
        Text of the scenario, kept as provenance.

    Returns
    -------
    list of Results
        One a seed, in the order of the seeds.

    Raises
    ------
    ValueError
        The engine refuses the network, or its count of packets does not add up.
    """
    from trunkline import _core

    written = network if isinstance(network, str) else network.to_json()
    raws = _core.run_many(written, list(seeds), threads or cores())
    parsed: dict[str, Any] = json.loads(written)
    causes = _core.causes()
    version = _core.version()
    return [
        Results.from_raw(
            raw,
            parsed,
            causes,
            Provenance.of(scenario=scenario, network_json=written, version=version, seed=seed),
        )
        for seed, raw in zip(seeds, raws, strict=True)
    ]


def cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1
