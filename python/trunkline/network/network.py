"""The compiled network as an object: names for people, canonical JSON for engines."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

__all__ = ["Network"]

Entry = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """What engines run: the structure of `crates/engine/src/network.rs`, field by field.

    Attributes
    ----------
    data : dict
        All of it, as `to_json` writes it.
    """

    data: Entry

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.data["name"])

    @property
    def nodes(self) -> list[Entry]:
        """Nodes, by index."""
        return self._list("nodes")

    @property
    def links(self) -> list[Entry]:
        """One-way links, by index: rates [bit/s], delays [ns], sizes [B]."""
        return self._list("links")

    @property
    def ports(self) -> list[Entry]:
        """Port configurations that links refer to."""
        return self._list("ports")

    @property
    def flows(self) -> list[Entry]:
        """Flows, by index."""
        return self._list("flows")

    @property
    def paths(self) -> list[Entry]:
        """Label-switched paths, by index."""
        return self._list("paths")

    @property
    def ftn(self) -> list[Entry]:
        """FEC to NHLFE (RFC 3031 section 3.11)."""
        return self._list("ftn")

    @property
    def ilm(self) -> list[Entry]:
        """Incoming label map (RFC 3031 section 3.11)."""
        return self._list("ilm")

    @property
    def nhlfe(self) -> list[Entry]:
        """Next hop label forwarding entries (RFC 3031 section 3.10)."""
        return self._list("nhlfe")

    @property
    def probes(self) -> list[Entry]:
        """What to record."""
        return self._list("probes")

    @property
    def run(self) -> Entry:
        """Length and seed: times in ns."""
        run: Entry = self.data["run"]
        return run

    def to_json(self) -> str:
        """Canonical JSON: keys sorted, no spaces, ASCII only."""
        return self._json

    def hash(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self._json.encode("ascii")).hexdigest()

    @cached_property
    def _json(self) -> str:
        return json.dumps(self.data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def _list(self, key: str) -> list[Entry]:
        entries: list[Entry] = self.data[key]
        return entries
