"""Why packets are lost, as the engine names it."""

from typing import Final

from trunkline import _core

DROP_CAUSES: Final[tuple[str, ...]] = tuple(_core.CAUSES)
"""Values of the column ``cause`` of the drops."""
