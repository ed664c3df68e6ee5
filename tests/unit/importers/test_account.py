"""The account of an import: each element of a file is read or left out, never neither.

The trees of files are counted here by ElementTree and PyYAML, not by the importer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner, Result
from network_files import (
    BRITE,
    CONTAINERLAB,
    EDGE_LIST,
    GML,
    LINK_LIST,
    NETLAB,
    NODE_LINK,
    PYNTM,
    REPETITA,
    SNDLIB_NATIVE,
    SNDLIB_XML,
)

from trunkline.cli import group
from trunkline.importers import ImportFault
from trunkline.importers.common.account import ImportAccount
from trunkline.importers.network import ImportRules, read_network, read_topology

RULES = ImportRules(capacity=10**9, unit=10**6)


def read_account(tmp_path: Path, text: str) -> ImportAccount:
    (tmp_path / "net").write_text(text, "utf-8")
    return read_network(tmp_path / "net", RULES).account


def list_xml_leaves(text: str) -> Counter[str]:
    """Paths of attributes, and of elements without children or attributes."""
    paths: Counter[str] = Counter()

    def visit(element: ElementTree.Element, path: str) -> None:
        tag = element.tag.rpartition("}")[2]
        path = f"{path}/{tag}".removeprefix("/")
        paths.update(f"{path}/@{name}" for name in element.attrib)
        if (element.text or "").strip() or not (len(element) or element.attrib):
            paths[path] += 1
        for child in element:
            visit(child, path)

    root = ElementTree.fromstring(text)
    paths.update(f"@{name}" for name in root.attrib)
    for child in root:
        visit(child, "")
    return paths


def list_yaml_leaves(text: str, names: dict[str, str]) -> Counter[str]:
    """Paths of values; ``names`` are keys that the file's author chose, and what they are."""
    paths: Counter[str] = Counter()

    def visit(value: object, path: str) -> None:
        pairs: list[tuple[str, object]] = []
        if isinstance(value, dict):
            pairs = [(names.get(key, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            pairs = [("item", inner) for inner in value]
        paths[path] += not pairs
        for name, inner in pairs:
            visit(inner, f"{path}/{name}".removeprefix("/"))

    visit(yaml.safe_load(text), "")
    return +paths


def assert_accounted(account: ImportAccount, leaves: Counter[str]) -> None:
    """Each leaf is read, or left out by itself or with what encloses it; nothing else is read."""
    read = Counter({each.element: each.count for each in account.read})
    left_out = {each.element for each in account.left_out}
    for path, count in leaves.items():
        parts = path.split("/")
        enclosing = {"/".join(parts[: n + 1]) for n in range(len(parts))}
        assert read[path] == count or (read[path] < count and enclosing & left_out), path
    assert set(read) <= set(leaves)


@pytest.mark.parametrize("tag", ["", *sorted(set(re.findall(r"<(\w+)[ >]", SNDLIB_XML)))])
def test_sndlib_xml_with_an_unknown_attribute_and_element_at_each_level(
    tmp_path: Path, tag: str
) -> None:
    text = SNDLIB_XML
    if tag:
        text = re.sub(rf"<{tag}(?=[ >])", f'<{tag} zzz="1"', text)
        text = re.sub(rf"(<{tag}\b[^>]*>)(?=\s*<)", r"\1<yyy>1</yyy>", text)
    account = read_account(tmp_path, text)
    assert_accounted(account, list_xml_leaves(text))
    found = sum(each.count for each in account.left_out if re.search("zzz|yyy", each.element))
    # What stands inside of what is left out is left out with it.
    assert bool(found) == (tag not in ("", "cost", "granularity"))


def list_mappings(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths of all mappings of a document."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)  # type: ignore[arg-type]
    inner = [
        each
        for key, value in pairs
        if isinstance(value, dict | list)
        for each in list_mappings(value, (*path, key))
    ]
    return [path, *inner] if isinstance(data, dict) else inner


YAML_NAMES = {
    "containerlab": (CONTAINERLAB, {"srl1": "node", "srl2": "node"}),
    "netlab": (NETLAB, {"r1": "node", "r2": "node", "pe-1": "node"}),
}
MAPPINGS = [
    (form, path)
    for form, (text, _) in YAML_NAMES.items()
    for path in list_mappings(yaml.safe_load(text))
    # There a key is a node.
    if path != ("topology", "nodes")
]


@pytest.mark.parametrize(("form", "path"), MAPPINGS)
def test_labs_in_yaml_with_an_unknown_key_in_each_mapping(
    tmp_path: Path, form: str, path: tuple[str | int, ...]
) -> None:
    text, names = YAML_NAMES[form]
    data = yaml.safe_load(text)
    inner = data
    for key in path:
        inner = inner[key]
    inner["zzz"] = {"deep": [1, 2]}
    if form == "netlab" and path == ("links", 4):
        # A link of one node alone: the other key could be its far end.
        with pytest.raises(ImportFault, match="there is no node zzz"):
            read_account(tmp_path, yaml.safe_dump(data, sort_keys=False))
        return
    account = read_account(tmp_path, yaml.safe_dump(data, sort_keys=False))
    assert_accounted(account, list_yaml_leaves(yaml.safe_dump(data, sort_keys=False), names))
    assert any(
        each.element.endswith("zzz") or each.reason.endswith("leaves the lab")
        for each in account.left_out
    )


def test_sndlib_native_has_the_account_of_the_same_network_in_xml(tmp_path: Path) -> None:
    native = read_account(tmp_path, SNDLIB_NATIVE)
    assert ("networkStructure/links/link/setupCost", 3) in {
        (e.element, e.count) for e in native.left_out
    }
    xml = {(e.element, e.count) for e in read_account(tmp_path, SNDLIB_XML).read}
    assert {each for each in xml if "source" in each[0] or "coordinates/" in each[0]} <= {
        (each.element, each.count) for each in native.read
    }
    # A field more than the form has, and a section that is none of the form's.
    text = SNDLIB_NATIVE.replace("1 7.00 UNLIMITED", "1 7.00 UNLIMITED 99")
    text += "NEWS (\n  a ( b ( c )\n  )\n)\n"
    found = {(each.element, each.line) for each in read_account(tmp_path, text).left_out}
    assert {("demands/demand/field 7", 20), ("NEWS", 23)} <= found


def run(*words: str) -> Result:
    return CliRunner().invoke(group, ["import", "network", *words])


def test_explain_json_head_comment_and_strict_hold_the_same_account(tmp_path: Path) -> None:
    file, out = tmp_path / "net.xml", tmp_path / "net.yaml"
    file.write_text(SNDLIB_XML)
    asked = (str(file), "--capacity", "module")
    account = json.loads(run(*asked, "--json").stdout)["account"]
    assert {"element": "demands of zero", "count": 1, "reason": "there is nothing to send",
            "line": None} in account["left_out"]  # fmt: skip
    explained = run(*asked, "--explain").stdout.splitlines()
    assert len(explained) == sum(map(len, account.values()))
    assert "left out: demands of zero: there is nothing to send" in explained
    written = run(*asked, "-o", str(out))
    assert written.exit_code == 0
    assert "elements of the file left out; --explain lists them" in written.stderr
    head = out.read_text().partition("trunkline: 1")[0].replace("\n#  ", "")
    assert all(line in head for line in explained if not line.startswith("read: "))
    assert all(f"{each['element']} {each['count']}" in head for each in account["read"])
    out.unlink()
    refused = run(*asked, "-o", str(out), "--strict")
    assert refused.exit_code == 2
    assert len(refused.stderr.splitlines()) == len(account["left_out"])
    assert f"{file}:13:1: error[import]: left out: links/link/@id" not in refused.stderr
    assert "error[import]: left out: demands/demand/@id (3, first in line" in refused.stderr
    assert not out.exists()


def test_strict_passes_a_file_that_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "net").write_text("nodes: [A, B, C]\nlinks: [A-B, B-C]\n")
    assert run(str(tmp_path / "net"), "--capacity", "1 Gbit/s", "--strict").exit_code == 0


def count_fields(text: str, separator: str | None, *, is_row: str) -> int:
    """Fields of the lines that match a pattern."""
    rows = [line for line in text.splitlines() if re.match(is_row, line)]
    return sum(len(line.split(separator)) for line in rows)


def count_values(data: object) -> int:
    """Values of a document in JSON that hold no others."""
    inner = list(data.values()) if isinstance(data, dict) else data
    return sum(map(count_values, inner)) if isinstance(inner, list) else 1


COUNTED_FILES = {
    # Fields of rows; headers of tables and names of sections are the form, not its content.
    "repetita": (REPETITA, count_fields(REPETITA, None, is_row=r"R\d|edge_")),
    "brite": (BRITE, count_fields(BRITE, None, is_row=r"\d") + len(["Topology", "Model"])),
    "pyntm": (PYNTM, count_fields(PYNTM, None, is_row=r"[AB]\t\S+\t") - len(["A", "B", "lsp"]) + 1),
    "link-list": (LINK_LIST, count_fields(LINK_LIST, ",", is_row=r"[A-Z]{3},")),
    "edge-list": (EDGE_LIST, count_fields(EDGE_LIST, "|", is_row=r"\d")),
    "node-link": (NODE_LINK, count_values(json.loads(NODE_LINK))),
    "gml": (GML, len(re.findall(r"\b[A-Za-z]+ (?:-?[\d.]+|\"[^\"]*\")", GML))),
}


@pytest.mark.parametrize("form", COUNTED_FILES)
def test_as_many_values_are_read_and_left_out_as_the_file_has(tmp_path: Path, form: str) -> None:
    text, count = COUNTED_FILES[form]
    (tmp_path / "net").write_text(text)
    account = read_topology(tmp_path / "net").account
    assert sum(each.count for each in (*account.read, *account.left_out)) == count
