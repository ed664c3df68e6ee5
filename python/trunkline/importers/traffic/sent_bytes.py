"""The bytes of TCP that a segment sends for the first time.

Source: RFC 9293 section 3.4 (numbers modulo 2^32), 3.8.4 (keep-alives carry a byte that was
acknowledged before, or none). A segment that was captured twice is like one sent again.
"""

from dataclasses import dataclass, field

_MODULUS = 2**32


@dataclass(slots=True)
class SentBytes:
    """Bytes of one direction of a connection that the capture has."""

    first: int = 0
    highest: int = 0  # Number behind the last byte, counted on beyond 2^32.
    is_open: bool = False
    _ranges: list[tuple[int, int]] = field(default_factory=list)
    """Captured, in order and apart from each other."""

    def begin(self, sequence: int) -> None:
        """A connection whose first byte has this number."""
        self.first = self.highest = sequence
        self._ranges = []
        self.is_open = True

    def is_begun_at(self, sequence: int) -> bool:
        """Whether it is the connection that began with this number."""
        return self.is_open and self.first % _MODULUS == sequence % _MODULUS

    def add(self, sequence: int, length: int) -> tuple[int, bool]:
        """Take in a segment.

        sequence: Number of its first byte, modulo 2^32.
        length: Bytes of data [B].
        Returns new: Bytes that no segment before had; those before the first that was captured are
            old.
        Returns fills_gap: Whether it begins before bytes that were captured earlier: a loss is
            repaired.
        """
        if not self.is_open:
            self.begin(sequence)
        distance = (sequence - self.highest) % _MODULUS
        start = self.highest + (distance - _MODULUS if distance >= _MODULUS // 2 else distance)
        end = start + length
        start = max(start, self.first)
        fills_gap = start < self.highest
        new = max(0, end - start)
        kept: list[tuple[int, int]] = []
        low, high = start, max(start, end)
        for range_start, range_end in self._ranges:
            if range_end < low or range_start > high:
                kept.append((range_start, range_end))
                continue
            new -= max(0, min(end, range_end) - max(start, range_start))
            low, high = min(low, range_start), max(high, range_end)
        if new > 0:
            self._ranges = sorted([*kept, (low, high)])
        self.highest = max(self.highest, end)
        return max(0, new), fills_gap

    def count_missing(self) -> int:
        """Count the bytes between captured ones that the capture lacks [B]."""
        return sum(
            following[0] - earlier[1]
            for earlier, following in zip(self._ranges, self._ranges[1:], strict=False)
        )
