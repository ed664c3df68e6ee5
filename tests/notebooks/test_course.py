"""The notebooks of the course run from the first cell to the last, and show what they end with."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(notebook: Path) -> list[str]:
    """Code of its cells, as a kernel gets it (nbformat 4.5: source is a list of lines)."""
    written = json.loads(notebook.read_text("utf-8"))
    assert (written["nbformat"], written["nbformat_minor"]) == (4, 5)
    code = [each for each in written["cells"] if each["cell_type"] == "code"]
    assert all(each["outputs"] == [] for each in code)
    return ["".join(each["source"]) for each in code]


SHOW = """
def _show(value):
    # What a notebook does with the last value of a cell.
    if hasattr(value, "_repr_html_") and type(value).__module__.startswith("trunkline."):
        assert value._repr_html_().startswith("<"), type(value)
        print(type(value).__name__)
"""


def program(notebook: Path) -> str:
    """The cells one below the other; the last expression of each is shown."""
    parts = [SHOW]
    for code in cells(notebook):
        tree = ast.parse(code)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            called = ast.Call(ast.Name("_show", ast.Load()), [last.value], [])
            tree.body[-1] = ast.Expr(called)
        parts.append(ast.unparse(ast.fix_missing_locations(tree)))
    return "\n".join(parts)


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_its_objects_have_rich_forms(notebook, tmp_path):
    (tmp_path / "course.py").write_text(program(notebook))
    done = subprocess.run(
        [sys.executable, "course.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()


def test_names_of_users_stay_text_in_every_form():
    import trunkline as tl

    bad = "x<img src=1>"
    scenario = tl.Scenario.model_validate(
        {
            "trunkline": 1,
            "nodes": ["a", "b"],
            "links": {"a-b": {"rate": "1 Mbit/s"}},
            "flows": {"f": {"agent": "udp", "from": "a", "to": "b", "rate": "100 kbit/s"}},
            "run": {"duration": "1 s"},
        }
    )
    run = tl.run(scenario)
    done = tl.compare_runs(run, run)
    object.__setattr__(done, "a", bad)
    assert bad not in done._repr_html_()
    page = tl.report_of(run, scenario)
    # The page is in an attribute of a frame that has no access to the notebook.
    assert "<script" not in page._repr_html_()
    assert 'sandbox="allow-scripts"' in page._repr_html_()
    assert set(run._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert scenario._repr_html_().count("<svg") == 1


def test_every_command_has_its_line_in_the_table_of_calls():
    from trunkline.cli import COMMAND_NAMES

    page = (FOLDER.parent / "howto" / "use-it-from-python.md").read_text("utf-8")
    assert [name for name in COMMAND_NAMES if f"`{name}`" not in page] == []


def test_every_exported_name_is_there():
    import trunkline as tl

    assert [name for name in tl.__all__ if getattr(tl, name, None) is None] == []


def test_a_study_shows_its_progress_in_the_cell(tmp_path, monkeypatch, capsys):
    """``display`` of IPython gives a handle, whose ``update`` shows it anew in place."""
    import types

    import trunkline as tl

    shown: list[str] = []
    show = types.SimpleNamespace(update=lambda it: shown.append(it._repr_html_()))

    def display(it, *, display_id):
        assert display_id is True
        return show

    shell = types.SimpleNamespace(kernel=object())
    module = types.SimpleNamespace(
        get_ipython=lambda: shell, display=types.SimpleNamespace(display=display)
    )
    monkeypatch.setitem(sys.modules, "IPython", module)
    (tmp_path / "a.yaml").write_text(
        "trunkline: 1\nnodes: [a, b]\nlinks: {a-b: {rate: 1 Mbit/s}}\n"
        "flows: {f: {agent: udp, from: a, to: b, rate: 100 kbit/s}}\nrun: {duration: 1 s}\n"
    )
    (tmp_path / "s.yaml").write_text(
        "study: 1\nname: <s>\ntitle: s\nscenario: a.yaml\nruns: 3\n"
        "columns: {sent: {table: flows, where: {flow: f}, measure: packets_sent, unit: packets}}\n"
    )
    assert tl.run_study(tmp_path / "s.yaml", tmp_path / "out").to_polars().height == 3
    assert shown[0] == '&lt;s&gt; <progress value="0" max="3"></progress> 0 of 3 runs'
    assert shown[-1] == '&lt;s&gt; <progress value="3" max="3"></progress> 3 of 3 runs'
    # Not in the cell's text as well.
    assert capsys.readouterr().err == ""
    before = len(shown)
    tl.run_study(tmp_path / "s.yaml", tmp_path / "quiet", progress=False)
    assert len(shown) == before
