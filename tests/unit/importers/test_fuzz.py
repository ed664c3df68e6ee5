"""Whatever is imported: ports that a scenario takes, or an ImportFault with a place."""

import re
from importlib.resources import files
from typing import Any

from hypothesis import given, settings, strategies as st

from trunkline.importers import Addresses, ImportFault, read_tc, read_tcng
from trunkline.scenario import load
from trunkline.scenario.text import block

FOLDER = files("trunkline") / "studies" / "avallone2003"
SCRIPTS = {
    name: re.split(r"(\s+|[(){},;])", (FOLDER / name).read_text("utf-8"))
    for name in ("diffserv.tc", "today.tc", "diffserv.tcng", "best-effort.tcng")
}
WORDS = [
    "sfq", "-1", "0", "99999999999999", "0x", "1:", "ffff:", "root", "parent", "(", ")", "{", "}",
    "$x", "=", '"', "'", "\\", "|", "&&", "\n", ";", "handle", "mpls_uc", "police", "if", "class",
    "drop", "10kb", "1mbit", "\0", "é", "flower", "tcindex", "fw", "gred", "red", "limit", "DP",
    "drr", "$((", "))", "$[",
    "prio", "pfifo_fast", "defmap", "priomap", "&", "<", "src", "match", "mask", "index",
]  # fmt: skip
KINDS = st.sampled_from(("drop", "replace", "repeat"))
EDITS = st.lists(
    st.tuples(
        st.sampled_from(("drop", "replace", "repeat")), st.floats(0, 1), st.sampled_from(WORDS)
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(SCRIPTS)), edits=EDITS)
def test_a_script_with_some_words_changed(name: str, edits: list[tuple[str, float, str]]) -> None:
    words = list(SCRIPTS[name])
    for edit, share, word in edits:
        at = int(share * (len(words) - 1))
        if edit == "drop":
            words[at] = ""
        elif edit == "replace":
            words[at] = word
        else:
            words.insert(at, words[at])
    read = read_tcng if name.endswith("tcng") else read_tc
    made, fault = None, None
    try:
        made = read("".join(words), addresses=Addresses({"10.0.0.1": "A"}, {80: "web"}))
    except ImportFault as refused:
        fault = refused
    if made is None:
        assert fault is not None
        assert min(fault.line, fault.column) >= 1
        return
    links = {name: {"port": name} for name in made.ports}
    links |= {f"to-{name}": {"conditioner": name} for name in made.conditioners}
    scenario: dict[str, Any] = {
        "trunkline": 1,
        "nodes": ["A", "B"],
        "links": {
            name: {"between": ["A", "B"], "rate": "100 Mbit/s"} | its for name, its in links.items()
        },
        "flows": {"web": {"agent": "udp", "from": "A", "to": "B", "rate": "1 Mbit/s"}},
        "run": {"duration": "1 s"},
    }
    assert load(block(scenario | made.to_dict())).ports.keys() == made.ports.keys()
