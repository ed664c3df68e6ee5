"""The compiled network as an object: names for people, canonical JSON for engines."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from trunkline.network import types


@dataclass(frozen=True)
class Network:
    """The input of engines: the structure of `crates/engine/src/network.rs`, field by field.

    ``data`` is the document from `make_document`.
    """

    data: types.NetworkData

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.data["name"]

    @property
    def nodes(self) -> list[types.Node]:
        """Nodes, by index."""
        return self.data["nodes"]

    @property
    def links(self) -> list[types.Link]:
        """One-way links, by index: rates [bit/s], delays [ns], sizes [B]."""
        return self.data["links"]

    @property
    def ports(self) -> list[types.Port]:
        """Port configurations that links refer to."""
        return self.data["ports"]

    @property
    def flows(self) -> list[types.Flow]:
        """Flows, by index."""
        return self.data["flows"]

    @property
    def paths(self) -> list[types.Path]:
        """Label-switched paths, by index."""
        return self.data["paths"]

    @property
    def ftn(self) -> list[types.Ftn]:
        """FEC to NHLFE (RFC 3031 section 3.11)."""
        return self.data["ftn"]

    @property
    def ilm(self) -> list[types.Ilm]:
        """Incoming label map (RFC 3031 section 3.11)."""
        return self.data["ilm"]

    @property
    def nhlfe(self) -> list[types.Nhlfe]:
        """Next hop label forwarding entries (RFC 3031 section 3.10)."""
        return self.data["nhlfe"]

    @property
    def probes(self) -> list[types.Probe]:
        """The probes."""
        return self.data["probes"]

    @property
    def run(self) -> types.Run:
        """Length and seed: times in ns."""
        return self.data["run"]

    def to_json(self) -> str:
        """Canonical JSON: keys sorted, no spaces, ASCII only."""
        return self._json

    def hash(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self._json.encode("ascii")).hexdigest()

    @cached_property
    def _json(self) -> str:
        return json.dumps(self.data, sort_keys=True, separators=(",", ":"), allow_nan=False)
