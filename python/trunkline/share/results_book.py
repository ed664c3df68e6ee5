"""Schemas of tables, and words that the engine numbers, for a page of results."""

from typing import Any

from trunkline import _core
from trunkline.results.decode.columns import QUANTILES
from trunkline.results.dscp import name_code_point
from trunkline.results.schemas import HASHED_IF_FILLED, SCHEMAS, SUMMED_COLUMNS
from trunkline.stats.interval import student_quantile

MAX_RUNS_IN_PAGE = 30  # Seeds that a page runs one after the other.


def build_results_book() -> dict[str, Any]:
    """Make the input of ``decode.js``: schemas, words and quantiles.

    Returns: ``schemas`` (a list of columns by table, in the order of the results hash), ``words``
        (by number), ``summed``, ``hashed_if_filled``, and ``t_quantiles``, the 97.5 % quantiles of
        Student's t by degrees of freedom from 1.
    """
    schemas = {
        table: [
            {
                "name": field.name,
                "kind": field.kind,
                "in_hash": field.in_hash,
                "base": field.base,
                "title": field.title,
                "unit": field.unit,
                "about": field.definition,
            }
            for field in fields
        ]
        for table, fields in SCHEMAS.items()
    }
    words = {
        "causes": _core.CAUSES,
        "colours": _core.COLOURS,
        "ecn": _core.ECN,
        "packet_events": _core.PACKET_EVENTS,
        "link_measures": _core.LINK_MEASURES,
        "timeline_events": _core.TIMELINE_EVENTS,
        "signalling_events": _core.SIGNALLING_EVENTS,
        "ldp_kinds": _core.LDP_KINDS,
        "ospf_kinds": _core.OSPF_KINDS,
        "rsvp_kinds": _core.RSVP_KINDS,
        "dscp": [name_code_point(code) for code in range(64)],
        "quantiles": QUANTILES,
    }
    return {
        "schemas": schemas,
        "words": words,
        "summed": SUMMED_COLUMNS,
        "hashed_if_filled": sorted(HASHED_IF_FILLED),
        "t_quantiles": [student_quantile(0.975, degrees) for degrees in range(1, MAX_RUNS_IN_PAGE)],
    }
