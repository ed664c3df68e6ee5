from __future__ import annotations

import json

import pytest

from trunkline.results import Provenance, Results

from .raw import network, tables


@pytest.fixture
def results() -> Results:
    """A run small enough to check by hand."""
    provenance = Provenance.for_network(
        scenario="trunkline: 1\n", network_json=json.dumps(network()), version="1.0", seed=7
    )
    return Results.from_raw(tables(), network(), provenance)
