"""Files of a study: complete or absent, flushed to the disk, with checksums."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trunkline.results.atomic_folder import flush_to_disk
from trunkline.study.errors import DamagedStudyFile, StudyError

MANIFEST_FILE, JOURNAL_FILE, DATA_FOLDER = "manifest.json", "journal.jsonl", "data"
_NO_POINTS, _END = '\n "points": []', b"\n}\n"


def write_json(path: Path, mapping: Mapping[str, Any]) -> None:
    """Write an object with its checksum, whole or not at all."""

    def content() -> Iterator[bytes]:
        digest = hashlib.sha256()
        for piece in _iterate_json_pieces(mapping):
            digest.update(piece)
            yield piece
        digest.update(_END)
        yield f',\n "checksum": "{digest.hexdigest()}"'.encode() + _END

    _write_atomically(path, content())


def write_bytes(path: Path, content: bytes) -> str:
    """Write a file, whole or not at all; its SHA-256.

    Through a file next to it, flushed, renamed, and the folder flushed.
    """
    _write_atomically(path, [content])
    return hashlib.sha256(content).hexdigest()


def _write_atomically(path: Path, pieces: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    flush_to_disk(path.parent)


def compute_file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def verify_digest(path: Path, digest: str) -> Path:
    """Verify a file by its checksum, and return its path.

    Raises DamagedStudyFile: It is not, or is not there.
    """
    if not path.is_file() or compute_file_digest(path) != digest:
        raise DamagedStudyFile(f"{path} is damaged: its checksum is not that of the manifest")
    return path


def compute_checksum(mapping: Mapping[str, Any]) -> str:
    """Compute the checksum that :func:`write_json` adds to an object."""
    digest = hashlib.sha256()
    for piece in _iterate_json_pieces(mapping):
        digest.update(piece)
    digest.update(_END)
    return digest.hexdigest()


def _iterate_json_pieces(mapping: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield ``json.dumps(mapping, indent=1)`` without its end, point by point.

    In one piece it takes 2 kB a point on its way.
    """
    points = mapping.get("points", ())
    text = json.dumps(
        {**mapping, "points": []} if points else mapping, indent=1, ensure_ascii=False
    )
    text = text.removesuffix("\n}")
    if not points:
        yield text.encode()
        return
    head, tail = text.split(_NO_POINTS)
    yield f'{head}\n "points": ['.encode()
    for place, point in enumerate(points):
        each = json.dumps(point, indent=1, ensure_ascii=False).replace("\n", "\n  ")
        yield f"{',' if place else ''}\n  {each}".encode()
    yield f"\n ]{tail}".encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a study.

    Raises StudyError: There is none, it is damaged, or a later version wrote it.
    """
    path = folder / MANIFEST_FILE
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{folder} holds no study: there is no {MANIFEST_FILE}") from None
    except (ValueError, RecursionError):
        raise DamagedStudyFile(f"{path} is damaged") from None
    if not isinstance(content, dict) or content.get("format") != 1:
        raise StudyError(f"{path} was written by another version: its format is not 1")
    digest = content.pop("checksum", "")
    if digest != compute_checksum(content):
        raise DamagedStudyFile(f"{path} is damaged: its checksum is not right")
    return content
