"""Entries of lists in the shape of the models."""

from typing import Any

Json = dict[str, Any]


def make_entry(key: str, key_value: Any, /, **config: Any) -> Json:
    """Make a list entry with its key, which its config repeats."""
    return {key: key_value, "config": {key: key_value, **config}}


def refer_to_interface(interface: str) -> Json:
    """Refer to an interface of the same file."""
    return {"config": {"interface": interface, "subinterface": 0}}
