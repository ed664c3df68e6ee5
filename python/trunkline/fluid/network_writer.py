"""Variants of a compiled network as JSON: parts that they share are written once.

Label tables and protections are most of a large network, and a screen runs many variants of it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any


class NetworkWriter:
    """Writes variants of a network; the network itself must not change.

    network: The compiled network, parsed from its JSON.
    """

    def __init__(self, network: Mapping[str, Any]) -> None:
        recovery = network.get("recovery") or {}
        # The parts are kept, so that no other part has the identity of one of them.
        self._parts = [*network.values(), *recovery.values()]
        self._text_by_id = {
            id(part): json.dumps(part)
            for part in self._parts
            if isinstance(part, dict | list) and part is not recovery
        }

    def write(self, variant: Mapping[str, Any]) -> str:
        """The JSON of a variant."""
        return self._join(
            (key, self._join((k, self._write_part(v)) for k, v in part.items()))
            if key == "recovery" and part
            else (key, self._write_part(part))
            for key, part in variant.items()
        )

    @staticmethod
    def _join(members: Iterable[tuple[str, str]]) -> str:
        return f"{{{', '.join(f'{json.dumps(key)}: {text}' for key, text in members)}}}"

    def _write_part(self, part: Any) -> str:
        return self._text_by_id.get(id(part)) or json.dumps(part)
