"""Names that are generated never collide with names that are written."""

from pathlib import Path

from trunkline.scenario import load


def resolve_demands(tmp_path: Path, table: str, demands: str, nodes: str = "A, B") -> list[str]:
    """Names of the demands of a table, ``m``, and others."""
    (tmp_path / "m.csv").write_text(table)
    file = tmp_path / "s.yaml"
    links = ", ".join(
        f"l{number}: {{between: [{a}, {b}], rate: 10 Mbit/s}}"
        for number, (a, b) in enumerate([nodes.split(", ")[:2]])
    )
    file.write_text(
        f"trunkline: 1\nnodes: [{nodes}]\nlinks: {{{links}}}\n"
        f"traffic: {{x: {{agent: udp}}, requests: {{agent: udp}}}}\n"
        f"demands: {demands}\nrun: {{duration: 1 s}}\n"
    )
    resolved = load(file).resolve()
    assert list(resolved.flows) == list(resolved.demands)
    return list(resolved.demands)


ROW = "from,to,rate\nA,B,1 Mbit/s\n"


def test_a_row_of_a_table_has_no_name_that_is_written(tmp_path: Path) -> None:
    """A demand that stood behind its table replaced the row, and its load was lost in silence."""
    table = "m: {file: m.csv, class: x}"
    written = "A-B: {from: A, to: B, rate: 2 Mbit/s, class: x}"
    assert resolve_demands(tmp_path, ROW, f"{{{table}, {written}}}") == ["A-B.2", "A-B"]
    assert resolve_demands(tmp_path, ROW, f"{{{written}, {table}}}") == ["A-B", "A-B.2"]


def test_a_row_of_a_table_is_not_called_like_the_flow_of_a_protocol(tmp_path: Path) -> None:
    between = "from,to,rate\nrsvp,te,1 Mbit/s\n"
    table = "{m: {file: m.csv, class: x}}\nsignalling: {kind: rsvp-te}"
    assert resolve_demands(tmp_path, between, table, "rsvp, te") == ["rsvp-te.2"]
