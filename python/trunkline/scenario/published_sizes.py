"""Published distributions of sizes, as the laws that engines draw from.

Sources: web search after Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, in the twelve
points of Li et al., "HPCC", SIGCOMM 2019 (mean 1.71 MB); data mining after Greenberg et al.,
"VL2", SIGCOMM 2009, in the points of Alizadeh et al., "pFabric", SIGCOMM 2013, segments of 1460 B
(mean 7.47 MB); hadoop after Roy et al., "Inside the social network's (datacenter) network",
SIGCOMM 2015, and storage, a cluster of Alibaba, both in the points of the HPCC simulator; main
and embedded objects of pages after 3GPP TR 36.814 table A.2.1.3.1-1, whose means and deviations
are those before truncation.
"""

from typing import Any

from trunkline.scenario.size_law import make_lognormal_law

_SEGMENT_BYTES = 1460

_POINTS: dict[str, tuple[tuple[float, float], ...]] = {
    "websearch": (
        (0, 0),
        (10_000, 15),
        (20_000, 20),
        (30_000, 30),
        (50_000, 40),
        (80_000, 53),
        (200_000, 60),
        (1_000_000, 70),
        (2_000_000, 80),
        (5_000_000, 90),
        (10_000_000, 97),
        (30_000_000, 100),
    ),
    "data-mining": tuple(
        (_SEGMENT_BYTES * segments, share)
        for segments, share in (
            (1, 0),
            (1, 50),
            (2, 60),
            (3, 70),
            (7, 80),
            (267, 90),
            (2107, 95),
            (66_667, 99),
            (666_667, 100),
        )
    ),
    "hadoop": (
        (0, 0),
        (100, 1),
        (200, 2),
        (300, 5),
        (350, 15),
        (400, 20),
        (500, 30),
        (600, 40),
        (700, 50),
        (1000, 60),
        (2000, 67),
        (7000, 70),
        (30_000, 72),
        (50_000, 82),
        (80_000, 87),
        (120_000, 90),
        (300_000, 95),
        (1_000_000, 97.5),
        (2_000_000, 99),
        (10_000_000, 100),
    ),
    "storage": (
        (0, 0),
        (4000, 22.93),
        (8000, 69.21),
        (16_000, 80.61),
        (32_000, 90.47),
        (64_000, 93.53),
        (128_000, 96.77),
        (256_000, 97.53),
        (2_000_000, 100),
    ),
}

PAGE_OBJECTS_LAW: dict[str, Any] = {
    "pareto": {"shape": 1.1, "least_bytes": 2.0, "most_bytes": 55.0, "cut": True, "less": 2.0}
}
"""Embedded objects of a page (3GPP TR 36.814): Pareto, cut at 55, less 2."""


def get_published_law(name: str) -> dict[str, Any]:
    """Return a published distribution as engines read it."""
    if name == "3gpp-main":
        return make_lognormal_law(10_710, 25_032, 100, 2_000_000)
    if name == "3gpp-embedded":
        return make_lognormal_law(7758, 126_168, 50, 2_000_000)
    points = _POINTS[name]
    return {
        "table": {
            "bytes": [float(size) for size, _ in points],
            "shares": [share / 100 for _, share in points],
        }
    }
