"""Sizes of a decomposition where nothing else is asked for; they import nothing."""

from typing import Final

DEFAULT_LINK_PACKETS: Final = 300_000  # Some 3,000 are beyond the 99th percentile of a link.
DEFAULT_CHECK_S: Final = 10.0  # Time of one core that the check takes [s].
