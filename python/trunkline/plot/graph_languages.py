"""The topology in the languages of other programs: Graphviz dot and Mermaid."""

from trunkline.plot.figure import choose_colour
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.results.terminal_tables import escape_unprintable


def render_dot(sketch: NetworkSketch) -> str:
    """Write a network for Graphviz.

    Returns: A digraph: links grey, paths in colour, backups dashed.
    """
    lines = [
        f"digraph {_quote_dot(sketch.name)} {{",
        '  graph [rankdir=LR, fontname="sans-serif"];',
        '  node [fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10, color="#888888"];',
    ]
    ids = {name: f"n{number}" for number, name in enumerate(sketch.nodes)}
    for name in sketch.nodes:
        shape = "box" if name in sketch.hosts else "circle"
        lines.append(f"  {ids[name]} [label={_quote_dot(name)}, shape={shape}];")
    for line in sketch.links:
        a, b = line.ends
        direction = "none" if line.is_bidirectional else "forward"
        lines.append(f"  {ids[a]} -> {ids[b]} [label={_quote_dot(line.about)}, dir={direction}];")
    for number, path in enumerate(sketch.paths):
        colour = choose_colour(number)
        style = "dashed" if path.backup_of else "solid"
        for place, (a, b) in enumerate(path.hops):
            # The name once, or it would be at every hop.
            label = (
                f", label={_quote_dot(path.name)}, fontcolor={_quote_dot(colour)}"
                if place == 0
                else ""
            )
            lines.append(
                f"  {ids[a]} -> {ids[b]} [color={_quote_dot(colour)}, style={style}, "
                f"constraint=false{label}];"
            )
    return "\n".join([*lines, "}"]) + "\n"


def render_mermaid(sketch: NetworkSketch) -> str:
    """Write a network for Mermaid.

    Returns: A flowchart: links with capacity and delay, paths in colour, backups dotted.
    """
    lines = ["flowchart LR"]
    ids = {name: f"n{number}" for number, name in enumerate(sketch.nodes)}
    for name in sketch.nodes:
        before, after = ("[", "]") if name in sketch.hosts else ("((", "))")
        lines.append(f"  {ids[name]}{before}{_quote_mermaid(name)}{after}")
    styles = []
    edge = 0
    for line in sketch.links:
        a, b = line.ends
        arrow = "---" if line.is_bidirectional else "-->"
        lines.append(f"  {ids[a]} {arrow}|{_quote_mermaid(line.about)}| {ids[b]}")
        edge += 1
    for number, path in enumerate(sketch.paths):
        colour = choose_colour(number)
        arrow = "-.->" if path.backup_of else "-->"
        for place, (a, b) in enumerate(path.hops):
            label = f"|{_quote_mermaid(path.name)}|" if place == 0 else ""
            lines.append(f"  {ids[a]} {arrow}{label} {ids[b]}")
            styles.append(f"  linkStyle {edge} stroke:{colour},stroke-width:3px")
            edge += 1
    return "\n".join([*lines, *styles]) + "\n"


def _quote_dot(text: str) -> str:
    """A string of dot; a backslash would begin an escape of its own."""
    escaped = escape_unprintable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _quote_mermaid(text: str) -> str:
    """A string of Mermaid; signs that may have a meaning become entities."""
    harmless = " .,-_/µ"
    escaped = "".join(
        c if c.isalnum() or c in harmless else f"#{ord(c)};" for c in escape_unprintable(text)
    )
    return f'"{escaped}"'
