"""Whatever is imported: ports that a scenario takes, or an ImportFault with a place."""

import re
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trunkline.importers import Addresses, ImportFault, read_tc, read_tcng
from trunkline.scenario import load
from trunkline.scenario.yaml_text import block

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
            name: {"between": ["A", "B"], "rate": "100 Mbit/s"} | value
            for name, value in links.items()
        },
        "flows": {"web": {"agent": "udp", "from": "A", "to": "B", "rate": "1 Mbit/s"}},
        "run": {"duration": "1 s"},
    }
    assert load(block(scenario | made.to_dict())).ports.keys() == made.ports.keys()


ABSURD = ["1" * 5000, "0x" + "f" * 5000, "0" + "7" * 5000, "1e999", "0." + "0" * 5000 + "1"]
NUMBER_PATTERN = re.compile(r"(\S*?)\s*(?<![\w$.])(?:0x[0-9a-f]+|\d+(?:\.\d+)?)")


def read_or_refused(text: str, *, tcng: bool) -> bool:
    """Whether a script is read, or refused with its place in words that fit a screen."""
    read = read_tcng if tcng else read_tc
    try:
        read(text, addresses=Addresses({"10.0.0.1": "A"}, {80: "web"})).to_dict()
    except ImportFault as fault:
        return min(fault.line, fault.column) >= 1 and max(map(len, str(fault).split())) < 300
    return True


# Python's int() refuses decimal numbers of more than 4,300 digits, and so does str().
@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_each_number_of_a_script_may_be_absurdly_long(name: str) -> None:
    text = "".join(SCRIPTS[name])
    found = {at[1]: at for at in NUMBER_PATTERN.finditer(text)}
    assert len(found) > 5
    for word, at in found.items():
        for absurd in ABSURD:
            # A unit behind the number stays.
            changed = text[: at.start(1) + len(word)] + " " + absurd + text[at.end() :]
            assert read_or_refused(changed, tcng=name.endswith("tcng")), (at[0], absurd[:4])


def test_numbers_of_scripts_that_shells_work_out_may_be_absurdly_long() -> None:
    for absurd in ABSURD:
        for text in (
            f"X={absurd}\ntc qdisc add dev eth0 root tbf rate $((X * 2)) burst 10k limit 10k",
            f"iptables -t mangle -A POSTROUTING -p udp --dport {absurd} -j MARK --set-mark 1",
            f"iptables -t mangle -A POSTROUTING -p udp -j MARK --set-mark {absurd}",
            f"tc qdisc add dev eth0 root handle {absurd}: prio",
            f"tc qdisc add dev eth0 parent 1:{absurd} handle 2: pfifo limit {absurd}",
        ):
            assert read_or_refused(text, tcng=False), text[:60]
