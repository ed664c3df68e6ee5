"""Equality of compiled networks in all that moves packets: probes and records do not count."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def hash_without_probes(network: Mapping[str, Any]) -> str:
    """Hash all of a network that moves packets: not its probes, nor what it records."""
    run = {key: network["run"][key] for key in ("duration_ns", "warmup_ns")}
    flows = [
        {**flow, "transfers": {**flow["transfers"], "record": None}}
        if flow.get("transfers")
        else flow
        for flow in network["flows"]
    ]
    moved = {**network, "run": run, "flows": flows, "probes": []}
    text = json.dumps(moved, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
