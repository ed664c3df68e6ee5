"""Results to report on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.report import write_report
from trunkline.results import store
from trunkline.scenario import load

EXAMPLES = Path(__file__).parents[2] / "python" / "trunkline" / "examples"

Names = dict[str, str]


def _run(
    folder: Path, scenario: str, seeds: range, rename: Names | None = None, **set_: str
) -> Path:
    """Run an example into a folder; names of the compiled network may be replaced."""
    loaded = load(EXAMPLES / f"{scenario}.yaml", overrides=set_)
    network = compile(loaded)
    written = network.to_json()
    text = loaded.text
    for old, new in (rename or {}).items():
        written = written.replace(f'"name":{json.dumps(old)}', f'"name":{json.dumps(new)}')
        text = f"# {new}\n{text}"
    runs = simulate(written, seeds=list(seeds), scenario=text)
    return store.write_results(runs, folder, network_json=written)


@pytest.fixture(scope="session")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a path that fails and is switched."""
    return _run(tmp_path_factory.mktemp("protected") / "results", "does-50-ms-matter", range(1, 3))


@pytest.fixture(scope="session")
def page_of_protected(protected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of those two runs."""
    return write_report(protected, tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture(autouse=True)
def charts(request: pytest.FixtureRequest) -> None:
    """Pages are looked at with their charts."""
    from trunkline.report.chart_library import load_chart_library

    if "look" in request.fixturenames and load_chart_library() is None:
        pytest.skip("the charts library was not fetched")


@pytest.fixture
def run_example() -> Callable[..., Path]:
    """Runs an example into a folder."""
    return _run
