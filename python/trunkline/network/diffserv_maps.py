"""Maps between DSCPs and TCs that entries of label tables apply (RFC 3270)."""

import json
from typing import Any

from trunkline.scenario.diffserv import DSCP_COUNT, TC_COUNT, DiffServ
from trunkline.scenario.resolved import ResolvedScenario


class DiffServMaps:
    """The maps of a network, each once."""

    def __init__(self, scenario: ResolvedScenario):
        self.paths = scenario.paths
        self.maps: list[dict[str, Any]] = []
        self.numbers: dict[str, int] = {}
        self.riders: dict[str, str] = {}
        for name, path in self.paths.items():
            for tunnel in path.through:
                self.riders.setdefault(tunnel, name)

    def mark_entry(
        self,
        entry: dict[str, Any],
        *,
        pops: str | None,
        pushes: list[tuple[str, str | None] | None],
    ) -> None:
        """Write the maps of traffic classes into an entry.

        ``pushes`` has for each pushed label its path and the path of the label below, None for an
        IP packet; it is None for a label that is swapped.
        """
        paths = self.paths
        push_maps = [
            self._number_maps(*pair) if pair is not None and paths[pair[0]].diffserv else None
            for pair in pushes
        ]
        if any(each is not None for each in push_maps):
            entry["push_diffserv"] = push_maps
        if pops is not None and (paths[pops].diffserv is not None or "push_diffserv" in entry):
            entry["pop_diffserv"] = self._number_maps(pops, self.riders.get(pops))

    def _number_maps(self, name: str, below: str | None) -> int:
        """Number the maps of a path whose label lies on that of another, or on IP packets."""
        own_diffserv = self.paths[name].diffserv or DiffServ()
        diffserv_below = None if below is None else self.paths[below].diffserv
        phbs = [None] * TC_COUNT if diffserv_below is None else diffserv_below.list_dscps_by_tc()
        has_map = own_diffserv.get_tc_by_dscp() is not None
        tcs, dscp_of_tc = own_diffserv.list_tcs_by_dscp(), own_diffserv.list_dscps_by_tc()
        tcs_below = None if diffserv_below is None else diffserv_below.list_tcs_by_dscp()
        maps = {
            "tc_of_dscp": tcs,
            "tc_of_tc": [
                tcs[dscp] if has_map and dscp is not None else tc for tc, dscp in enumerate(phbs)
            ],
            "dscp_of_tc": dscp_of_tc,
            "tc_below": [
                tc if tcs_below is None or dscp is None else tcs_below[dscp]
                for tc, dscp in enumerate(dscp_of_tc)
            ],
            "tunnel": own_diffserv.model,
        }
        if own_diffserv.linux_tc_zero:
            maps |= {"tc_of_dscp": [0] * DSCP_COUNT, "tc_of_tc": [0] * TC_COUNT}
        key = json.dumps(maps)
        if key not in self.numbers:
            self.numbers[key] = len(self.maps)
            self.maps.append(maps)
        return self.numbers[key]
