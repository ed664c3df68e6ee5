"""Games: packets of published models, in place of the sizes and gaps of a flow."""

from dataclasses import dataclass
from typing import Literal

from trunkline.scenario.base import Element
from trunkline.scenario.fields import default

EULER_GAMMA = 0.5772156649015329  # Mean of Gumbel's standard law.


@dataclass(frozen=True)
class GamePackets:
    """Packets of one direction of a game."""

    # bytes, gap_ms: Location and scale of Gumbel's law of application data [B] and of gaps [ms]; a
    # gap of scale 0 is always the same.
    bytes: tuple[float, float]
    gap_ms: tuple[float, float]

    @property
    def mean_bytes(self) -> float:
        """Mean of the application data [B]."""
        return self.bytes[0] + EULER_GAMMA * self.bytes[1]

    @property
    def mean_gap_ms(self) -> float:
        """Mean of the gap [ms]."""
        return self.gap_ms[0] + EULER_GAMMA * self.gap_ms[1]


GAMES = {
    # NGMN Alliance, "Radio access performance evaluation methodology", 2008, annex A (gaming),
    # which follows Faerber, "Network game traffic modelling", NetGames 2002 (a shooter): gaps of
    # 55 and 6 ms; 5G-LENA has 5.7 ms for the latter.
    "ngmn-down": GamePackets((120.0, 36.0), (55.0, 6.0)),
    "ngmn-up": GamePackets((45.0, 5.7), (40.0, 0.0)),
    # IEEE 802.11-18/2009, RTA TIG report, 4.1.4: mobile games, status synchronisation.
    "tig-down": GamePackets((50.0, 11.0), (13.0, 3.7)),
    "tig-up": GamePackets((38.0, 3.7), (15.0, 5.7)),
}
"""Games by name."""


class Game(Element):
    """One direction of a game."""

    model: Literal["ngmn-down", "ngmn-up", "tig-down", "tig-up"] = default(
        "ngmn-down",
        "Published model: a shooter by NGMN, a mobile game by the IEEE 802.11 RTA TIG; down: from "
        "the server to a player.",
    )
