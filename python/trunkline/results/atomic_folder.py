"""A folder that is complete or absent."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def write_folder(
    directory: str | Path, fill: Callable[[Path], None], *, marker: str, overwrite: bool
) -> Path:
    """Make a folder next to its place, flush it to the disk, then rename it.

    A reader, a crash or a full disk never leaves half of it.

    directory: Folder to make; its parents are made too.
    fill: Writes the files into the folder it is given.
    marker: File that marks a folder of this kind; only such a folder is ever replaced.
    overwrite: Replace an earlier folder of this kind.
    Raises FileExistsError: The folder exists and ``overwrite`` is off, or it is of another kind.
    """
    target = Path(directory)
    if target.exists():
        _refuse_unless_replaceable(target, marker, overwrite=overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        temporary.chmod(0o755)
        fill(temporary)
        for path in sorted(temporary.rglob("*"), reverse=True):
            flush_to_disk(path)
        flush_to_disk(temporary)
        if target.exists():
            _swap_folders(temporary, target)
        else:
            temporary.rename(target)
        flush_to_disk(target.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return target


def _swap_folders(temporary: Path, target: Path) -> None:
    """Put a folder in the place of an earlier one, which stays if that fails."""
    backup_folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    old = target.rename(backup_folder / "old")
    try:
        temporary.rename(target)
    except BaseException:
        old.rename(target)
        raise
    finally:
        shutil.rmtree(backup_folder)


def encode_parquet(frame: pl.DataFrame) -> bytes:
    """A table as the bytes of its file, the same for the same table."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3, statistics=True)
    return buffer.getvalue()


def write_text(path: Path, content: str) -> None:
    """Write a text file in UTF-8 with line feeds."""
    path.write_text(content, encoding="utf-8", newline="\n")


def _refuse_unless_replaceable(target: Path, marker: str, *, overwrite: bool) -> None:
    if not overwrite:
        raise FileExistsError(f"{target} exists; choose another folder or ask to overwrite it")
    if not (target / marker).is_file():
        raise FileExistsError(f"{target} holds no results ({marker}), so it is not overwritten")


def flush_to_disk(path: Path) -> None:
    """Wait until the disk has a file, or the entries of a folder.

    path: The file or folder, which must be there.
    """
    if os.name == "nt" and path.is_dir():  # of which Windows keeps the entries by itself
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
