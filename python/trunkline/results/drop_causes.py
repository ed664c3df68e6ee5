"""Causes of lost packets, by the engine's names."""

from typing import Final

from trunkline import _core

DROP_CAUSES: Final[tuple[str, ...]] = tuple(_core.CAUSES)
"""Values of the column ``cause`` of the drops."""
