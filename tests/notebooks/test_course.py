"""The notebooks of the course run from the first cell to the last, and show what they end with."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

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


def shown(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last expression, which a notebook displays."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_its_objects_have_rich_forms(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    forms = 0
    for code in cells(notebook):
        value = shown(code, names)
        if type(value).__module__.startswith("trunkline.") and hasattr(value, "_repr_html_"):
            written = value._repr_html_()
            assert written.startswith("<")
            forms += 1
    assert forms


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
    from trunkline.cli import COMMANDS

    page = (FOLDER.parent / "howto" / "use-it-from-python.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in page] == []


def test_every_exported_name_is_there():
    import trunkline as tl

    assert [name for name in tl.__all__ if getattr(tl, name, None) is None] == []
