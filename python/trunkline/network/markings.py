"""What entries do to traffic classes: maps between DSCPs and TCs (RFC 3270)."""

import json
from typing import Any

from trunkline.scenario.diffserv import DSCPS, TCS, DiffServ
from trunkline.scenario.resolved import Resolved


class Markings:
    """The maps of a network, each once."""

    def __init__(self, scenario: Resolved):
        self.paths = scenario.paths
        self.maps: list[dict[str, Any]] = []
        self.numbers: dict[str, int] = {}
        self.riders: dict[str, str] = {}
        for name, path in self.paths.items():
            for tunnel in path.through:
                self.riders.setdefault(tunnel, name)

    def mark(
        self,
        into: dict[str, Any],
        *,
        pops: str | None,
        pushes: list[tuple[str, str | None] | None],
    ) -> None:
        """Says what an entry does to traffic classes.

        Parameters
        ----------
        into : dict
            The entry.
        pushes : list
            For each label put on its path and the path of the label below, None for an IP
            packet; None for a label that is swapped.
        """
        paths = self.paths
        written = [
            self._number(*pair) if pair is not None and paths[pair[0]].diffserv else None
            for pair in pushes
        ]
        if any(each is not None for each in written):
            into["push_diffserv"] = written
        if pops is not None and (paths[pops].diffserv is not None or "push_diffserv" in into):
            into["pop_diffserv"] = self._number(pops, self.riders.get(pops))

    def _number(self, name: str, below: str | None) -> int:
        """Number of the maps of a path whose label lies on that of another, or on IP packets."""
        its = self.paths[name].diffserv or DiffServ()
        under = None if below is None else self.paths[below].diffserv
        phbs = [None] * TCS if under is None else under.dscp_of_tc()
        told = its.tc_of_dscp() is not None and under is not None
        tcs, written = its.tcs(), its.dscp_of_tc()
        lower = None if under is None else under.tcs()
        maps = {
            "tc_of_dscp": tcs,
            "tc_of_tc": [
                tcs[dscp] if told and dscp is not None else tc for tc, dscp in enumerate(phbs)
            ],
            "dscp_of_tc": written,
            "tc_below": [
                tc if lower is None or dscp is None else lower[dscp]
                for tc, dscp in enumerate(written)
            ],
            "tunnel": its.model,
        }
        if its.linux_tc_zero:
            maps |= {"tc_of_dscp": [0] * DSCPS, "tc_of_tc": [0] * TCS}
        key = json.dumps(maps)
        if key not in self.numbers:
            self.numbers[key] = len(self.maps)
            self.maps.append(maps)
        return self.numbers[key]
