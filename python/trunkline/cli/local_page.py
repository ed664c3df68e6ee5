"""Shared parts of commands that serve a browser on this machine: the port, the address, the end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from trunkline.cli.common import echo_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from trunkline.report.local_server import LocalServer


port_option = click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port of 127.0.0.1. Default: the first free one from 8470 on.",
)


def serve_until_interrupted(
    make: Callable[[], LocalServer],
    port: int | None,
    notice: str,
    *,
    open_browser: bool,
    as_json: bool,
) -> None:
    """Start a server, print its address and serve until interrupted.

    Raises click.UsageError: The port, or every port that was tried, is in use.
    """
    try:
        server = make()
    except OSError as error:
        port_text = "any port" if port is None else f"port {port}"
        raise click.UsageError(
            f"cannot listen on {port_text} of 127.0.0.1: {error.strerror}."
        ) from None
    try:
        if as_json:
            echo_json({"schema": 1, "address": server.address})
        else:
            click.echo(server.address)
            click.echo(notice, err=True)
        sys.stdout.flush()
        if open_browser:
            import webbrowser

            if not webbrowser.open(server.address):
                click.echo("no browser was found; open the address yourself", err=True)
        server.serve_until_interrupted()
    except KeyboardInterrupt:
        click.echo("ended", err=True)
