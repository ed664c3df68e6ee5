"""The topology in the languages of other programs: Graphviz dot and Mermaid."""

from trunkline.plot.figure import colour_of
from trunkline.plot.sketch import Sketch
from trunkline.results.render import printable


def dot(sketch: Sketch) -> str:
    """Write a network for Graphviz.

    Returns
    -------
    str
        A digraph: links grey, paths in colour, backups dashed.
    """
    lines = [
        f"digraph {_quoted(sketch.name)} {{",
        '  graph [rankdir=LR, fontname="sans-serif"];',
        '  node [fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10, color="#888888"];',
    ]
    ids = {name: f"n{number}" for number, name in enumerate(sketch.nodes)}
    for name in sketch.nodes:
        shape = "box" if name in sketch.hosts else "circle"
        lines.append(f"  {ids[name]} [label={_quoted(name)}, shape={shape}];")
    for line in sketch.lines:
        a, b = line.ends
        way = "none" if line.both_ways else "forward"
        lines.append(f"  {ids[a]} -> {ids[b]} [label={_quoted(line.about)}, dir={way}];")
    for number, path in enumerate(sketch.ways):
        colour = colour_of(number)
        style = "dashed" if path.backup_of else "solid"
        for place, (a, b) in enumerate(path.hops):
            # The name once, or it would stand at every hop.
            label = (
                f", label={_quoted(path.name)}, fontcolor={_quoted(colour)}" if place == 0 else ""
            )
            lines.append(
                f"  {ids[a]} -> {ids[b]} [color={_quoted(colour)}, style={style}, "
                f"constraint=false{label}];"
            )
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(sketch: Sketch) -> str:
    """Write a network for Mermaid.

    Returns
    -------
    str
        A flowchart: links with capacity and delay, paths in colour, backups dotted.
    """
    lines = ["flowchart LR"]
    ids = {name: f"n{number}" for number, name in enumerate(sketch.nodes)}
    for name in sketch.nodes:
        before, after = ("[", "]") if name in sketch.hosts else ("((", "))")
        lines.append(f"  {ids[name]}{before}{_entity(name)}{after}")
    styles = []
    edge = 0
    for line in sketch.lines:
        a, b = line.ends
        arrow = "---" if line.both_ways else "-->"
        lines.append(f"  {ids[a]} {arrow}|{_entity(line.about)}| {ids[b]}")
        edge += 1
    for number, path in enumerate(sketch.ways):
        colour = colour_of(number)
        arrow = "-.->" if path.backup_of else "-->"
        for place, (a, b) in enumerate(path.hops):
            label = f"|{_entity(path.name)}|" if place == 0 else ""
            lines.append(f"  {ids[a]} {arrow}{label} {ids[b]}")
            styles.append(f"  linkStyle {edge} stroke:{colour},stroke-width:3px")
            edge += 1
    return "\n".join([*lines, *styles]) + "\n"


def _quoted(text: str) -> str:
    """A string of dot; a backslash would begin an escape of its own."""
    shown = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'


def _entity(text: str) -> str:
    """A string of Mermaid; what is no letter, digit, space or harmless sign becomes an entity."""
    harmless = " .,-_/µ"
    shown = "".join(c if c.isalnum() or c in harmless else f"#{ord(c)};" for c in printable(text))
    return f'"{shown}"'
