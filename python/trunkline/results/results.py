"""The results of one run."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from trunkline import notebook_form
from trunkline.results.decode import RawTables, decode_tables
from trunkline.results.schemas import HASHED_IF_FILLED, SCHEMAS
from trunkline.results.table import Scalar, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.network.types import NetworkData

JSON_SCHEMA_VERSION = 1
JSON_TABLES = (
    "flows",
    "aggregates",
    "ports",
    "paths",
    "drops",
    "marks",
    "colours",
    "accounts",
    "calls",
    "echoes",
    "videos",
    "completions",
    "timeline",
    "lsps",
    "control",
    "signalling",
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Facts that one needs to get the same results again.

    Parameters
    ----------
    scenario : str
        Text of the scenario; empty if it was built in Python and never written.
    scenario_hash : str
        SHA-256 of that text in UTF-8, hexadecimal.
    network_hash : str
        SHA-256 of the compiled network's canonical JSON, hexadecimal.
    version : str
        Version of Trunkline.
    seed : int
        Seed of the run.
    platform : str
        Operating system and machine.
    """

    scenario: str
    scenario_hash: str
    network_hash: str
    version: str
    seed: int
    platform: str

    @property
    def kernel(self) -> str:
        """Linux kernel that ran it, ``6.1.192 uml``; empty for the simulator."""
        return self.version.partition(" linux ")[2]

    @property
    def engine(self) -> str:
        """Engine of the results: ``sim``, ``linux``, ``fluid`` or ``decomposed``."""
        for name in ("fluid", "decomposed"):
            if self.version.endswith(f" {name}"):
                return name
        return "linux" if self.kernel else "sim"

    @classmethod
    def for_network(
        cls, *, scenario: str, network_json: str, version: str, seed: int
    ) -> Provenance:
        """Provenance of a run on this machine, now."""
        return cls(
            scenario=scenario,
            scenario_hash=compute_sha256(scenario),
            network_hash=compute_sha256(network_json),
            version=version,
            seed=seed,
            platform=f"{platform.system()} {platform.machine()}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Build a dictionary of strings and one integer."""
        return asdict(self)


def compute_sha256(content: str) -> str:
    """SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(content.encode()).hexdigest()


class _TableAttribute(property):
    """A table of a run: the one that has the name of the attribute."""

    def __init__(self, about: str) -> None:
        super().__init__()
        self.__doc__ = about

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, run: Any, _: type | None = None) -> Table:  # type: ignore[override]
        return cast("Table", self if run is None else run.tables[self._name])


class Results:
    """The tables of one run and how to get them again.

    Parameters
    ----------
    tables : mapping of str to Table
        A table for each entry of ``trunkline.results.SCHEMAS``.
    provenance : Provenance
        Scenario, network, version, seed and platform.
    """

    flows = _TableAttribute("One row a flow.")
    delays = _TableAttribute("One row a flow and bucket of its histogram of delays.")
    aggregates = _TableAttribute("One row a DSCP in use: the flows that send with it, together.")
    ports = _TableAttribute("One row a link and class.")
    fairness = _TableAttribute("One row a DSCP and a path: how their flows share.")
    paths = _TableAttribute("One row a label-switched path.")
    drops = _TableAttribute(
        "One row a flow, direction, place, class, precedence and cause of loss."
    )
    marks = _TableAttribute("One row a flow, direction, port, class and precedence that marked it.")
    series = _TableAttribute("One row a probe and step.")
    colours = _TableAttribute("One row a conditioner, profile and colour.")
    accounts = _TableAttribute(
        "One row a flow, DSCP, colour, class and precedence at ports that keep accounts."
    )
    calls = _TableAttribute("One row a flow that is a call.")
    echoes = _TableAttribute("One row an echo flow.")
    videos = _TableAttribute("One row a player of films.")
    transfers = _TableAttribute("One row a transfer, of flows that record them.")
    completions = _TableAttribute("One row a flow of transfers and bin of sizes.")
    timeline = _TableAttribute("One row an event of failures and recovery.")
    lsps = _TableAttribute("One row a signalled path, or a process of requests.")
    signalling = _TableAttribute("One row an event of signalling.")
    control = _TableAttribute("One row a link, protocol and kind of message.")
    packets = _TableAttribute("One row an event of a packet, where the run was traced.")

    def __init__(self, tables: Mapping[str, Table], provenance: Provenance) -> None:
        self.tables = {name: tables[name] for name in SCHEMAS}
        self.provenance = provenance

    @classmethod
    def from_raw(
        cls,
        raw: RawTables,
        network: NetworkData,
        provenance: Provenance,
    ) -> Results:
        """Results from the output of an engine; see :func:`trunkline.results.decode.decode`."""
        return cls(decode_tables(raw, network), provenance)

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return self.provenance.seed

    @property
    def summary(self) -> dict[str, Scalar]:
        """Totals of the run."""
        return next(self.tables["summary"].rows())

    def hash(self) -> str:
        """Results hash: SHA-256, hexadecimal, over the names and the integers of all tables.

        Tables and columns go in the order of ``SCHEMAS``, each headed by its name and length.
        Integers are hashed as 64-bit little-endian, null as -1; names as UTF-8, each followed by
        a zero byte. Floats are left out: they may differ in the last bit between platforms, and
        each is an average of, or derived from, something the integers hold. The number of events
        and the peak of packets are left out too: they are the engine's business.
        """
        return self._hash

    @functools.cached_property
    def _hash(self) -> str:
        digest = hashlib.sha256()
        for name, table in self.tables.items():
            if name in HASHED_IF_FILLED and not len(table):
                continue
            for field in table.fields:
                if not field.in_hash:
                    continue
                column = table.column(field.name)
                digest.update(f"{name}.{field.name}:{len(column)}\n".encode())
                digest.update(column.to_hash_bytes(field.kind))
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``trunkline run --json`` prints; null is None."""
        tables: dict[str, Any] = {}
        for name in JSON_TABLES:
            table = self.tables[name]
            field_names = [field.name for field in table.fields if field.in_json]
            lists = [table[column] for column in field_names]
            tables[name] = [
                dict(zip(field_names, row, strict=True)) for row in zip(*lists, strict=True)
            ]
        about = {
            "schema": JSON_SCHEMA_VERSION,
            "engine": self.provenance.engine,
            "hash": self.hash(),
        }
        return about | tables

    def render(
        self,
        *,
        leading_tables: Sequence[RichTable] = (),
        width: int | None = None,
        colour: bool = False,
        show_all: bool = False,
    ) -> str:
        """Render tables for a terminal; see :func:`trunkline.results.terminal_tables.render`."""
        from trunkline.results.terminal_tables import render_results

        return render_results(
            self, leading_tables=leading_tables, width=width, colour=colour, show_all=show_all
        )

    def __repr__(self) -> str:
        return f"<Results seed {self.seed}: {len(self.flows)} flows, {len(self.ports)} ports>"

    def _repr_html_(self) -> str:
        return notebook_form.render_html("results", self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return notebook_form.build_mime_bundle("results", self)
