"""Label entries of a router's ``setup.sh``: routes of ``ip`` that put labels on, and of labels.

A comment before them names the path: ``# path NAME`` or ``# path NAME to NODE``.
"""

import re
from collections.abc import Iterator

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.network.paths import EXPLICIT_NULL, IMPLICIT_NULL, LabelEntry

_PATH = re.compile(r"# path (\S+)")
_PUSH = re.compile(
    r"ip route add \S+(?: table \d+)? (?:encap mpls (?P<labels>[\d/]+)(?P<pipe> ttl 255)? )?"
    r"via inet (?P<hop>\S+) dev \S+"
)
_SWAP = re.compile(
    r"ip -f mpls route add (?P<label>\d+) (?:as (?P<labels>[\d/]+) )?"
    r"(?:via inet (?P<hop>\S+) dev \S+|dev lo)"
)
_EXPLICIT_NULL_LABEL = "0"  # RFC 3032 section 2.1.


def read_script_labels(text: str, router: str, account: ImportAccount) -> Iterator[LabelEntry]:
    """Read the entries of a router, each path's head once."""
    path = ""
    heads: set[tuple[str, str]] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            named = _PATH.match(line)
            path = "" if named is None else named[1]
            continue
        found = _PUSH.search(line) or _SWAP.search(line)
        if found is None:
            continue
        labels = found["labels"] or ""
        if not path or "/" in labels:
            reason = "a path that rides another" if path else "no comment names its path"
            account.add_left_out(f"labels of {path or line[-60:]}", reason, line=number)
            continue
        incoming = found.groupdict().get("label", "")
        account.add_read("labels of setup.sh", line=number)
        if not incoming:
            if (path, labels) in heads:
                continue
            heads.add((path, labels))
        push = EXPLICIT_NULL if labels == _EXPLICIT_NULL_LABEL else labels or IMPLICIT_NULL
        keys = {"ttl": "pipe"} if found.groupdict().get("pipe") else {}
        yield LabelEntry(router, path, incoming, found["hop"] or "", push, keys)
