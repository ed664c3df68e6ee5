"""Build the package: maturin's backend, with the charts library and the engine for pages.

A build without a network still gives a package; its reports then have still pictures. One by a Rust
that cannot compile to WebAssembly gives a package that makes no pages that run.
"""

import os
import shlex
import sys
from typing import Any

import maturin
from maturin import (
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

import charts
import web_engine

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(*arguments: Any, **options: Any) -> str:
    """Build a wheel; see PEP 517."""
    _fetch_charts()
    _build_web_engine()
    return str(maturin.build_wheel(*arguments, **options))


def build_sdist(*arguments: Any, **options: Any) -> str:
    """Build a source distribution; see PEP 517."""
    _fetch_charts()
    return str(maturin.build_sdist(*arguments, **options))


def build_editable(*arguments: Any, **options: Any) -> str:
    """Build for use from the source tree; see PEP 660."""
    _fetch_charts()
    _build_web_engine()
    return str(maturin.build_editable(*arguments, **options))


def _fetch_charts() -> None:
    try:
        charts.fetch_library(charts.get_pip_command())
    except charts.ChartsUnavailable as error:
        print(f"the charts of reports will be still pictures: {error}", file=sys.stderr)


def _build_web_engine() -> None:
    target_folder = os.environ.get("CARGO_TARGET_DIR") or os.path.join(web_engine.ROOT, "target")
    # The same options of cargo as for the module.
    options = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    try:
        web_engine.build_web_engine(target_folder, *options)
    except web_engine.WebEngineUnavailable as error:
        print(f"the package makes no pages that run: {error}", file=sys.stderr)
