"""The charts library that goes into a page, if the package has it."""

import base64
import functools
import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

LIBRARY_FILE = Path(__file__).parent / "vendor" / "echarts.min.js"


@dataclass(frozen=True, slots=True)
class ChartLibrary:
    """The library, packed, and the hash by which the page lets it run."""

    packed: str  # Base64 of its gzip.
    source_hash: str  # As a content security policy writes it.


@functools.cache
def load_chart_library() -> ChartLibrary | None:
    """Pack the library; None if the package was built without it."""
    try:
        source = LIBRARY_FILE.read_bytes()
    except OSError:
        return None
    # The time in the head of a gzip file would make each page another.
    packed = gzip.compress(source, 9, mtime=0)
    return ChartLibrary(base64.b64encode(packed).decode(), compute_policy_hash(source))


def compute_policy_hash(source: bytes) -> str:
    """Compute the hash of a script or style as a content security policy writes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source).digest()).decode()}"
