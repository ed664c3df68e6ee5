"""``--pcap``: the options that capture a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from trunkline.cli.option_groups import gather_options

if TYPE_CHECKING:
    from trunkline.network import Network
    from trunkline.results import Results


# The limit that capture programs use to keep all of a packet.
MAX_SNAPLEN_BYTES = 262_144
TRACE_SETTING = "run.trace"


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """The file and the places of a capture."""

    pcap: str | None  # File; None for no capture.
    pcap_at: tuple[str, ...]  # Nodes and links; empty for every link.
    pcap_snaplen: int | None  # Bytes to keep of each packet [B]; None for all.

    def check_combination(self, *, runs: int) -> None:
        """Check that the options can be combined and that the file can be written.

        Raises click.UsageError: The options contradict each other, or the file cannot be written.
        """
        if self.pcap is None:
            if self.pcap_at or self.pcap_snaplen is not None:
                raise click.UsageError("--pcap-at and --pcap-snaplen need --pcap FILE.")
            return
        import os
        from pathlib import Path

        if runs > 1:
            raise click.UsageError("--pcap captures one run: leave out --runs.")
        folder = Path(self.pcap).absolute().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise click.UsageError(f"--pcap {self.pcap}: {folder} is no writable folder.")

    def add_trace_override(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """Add the trace that a capture needs to the overrides (``PATH=VALUE``) of the user."""
        if self.pcap is None or any(
            item.partition("=")[0].strip() == TRACE_SETTING for item in given
        ):
            return given
        return (*given, f"{TRACE_SETTING}=on")

    def check_places(self, network: Network) -> None:
        """Check before the run that the nodes and links to capture at exist.

        Raises click.UsageError: One does not exist, or a flow has several connections.
        """
        multi_connection_flows = [flow["name"] for flow in network.flows if "transfers" in flow]
        if self.pcap is not None and multi_connection_flows:
            raise click.UsageError(
                f"--pcap: flow {multi_connection_flows[0]} has many connections, which a "
                f"capture would show as one."
            )
        if self.pcap_at:
            import json

            from trunkline.trace import UnknownPlaceError, points

            try:
                points(json.loads(network.to_json()), self.pcap_at)
            except UnknownPlaceError as error:
                raise click.UsageError(f"--pcap-at: {error}.") from error

    def write_file(self, results: Results, network: Network) -> None:
        """Write the file, if the user asks for one, and report its size.

        Raises click.UsageError: The run has no trace.
        """
        if self.pcap is None:
            return
        import json

        from trunkline.trace import UntracedRunError, write_capture

        compiled = json.loads(network.to_json())
        try:
            snaplen = MAX_SNAPLEN_BYTES if self.pcap_snaplen is None else self.pcap_snaplen
            count = write_capture(results, compiled, self.pcap, at=self.pcap_at, snaplen=snaplen)
        except UntracedRunError as error:
            raise click.UsageError(f"--pcap: {error}.") from error
        click.echo(f"{count} packets written to {self.pcap}", err=True)


capture_options = gather_options(
    "capture",
    CaptureOptions,
    click.option(
        "--pcap",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Trace every packet and write a pcapng file for Wireshark and similar programs.",
    ),
    click.option(
        "--pcap-at",
        multiple=True,
        metavar="NAME",
        help="Capture only at this node or link; repeatable.",
    ),
    click.option(
        "--pcap-snaplen",
        type=click.IntRange(1, MAX_SNAPLEN_BYTES),
        metavar="BYTES",
        help="Keep this many bytes of each packet; default: all. Headers have at most 110 B.",
    ),
)
