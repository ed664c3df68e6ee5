"""Pages that run, in a real browser: the same results as `trunkline run`, to the hash."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest

from trunkline.cli import main
from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.share import build_runnable_scenario, write_page
from trunkline.share.engine_module import EngineModuleMissing, load_engine_module
from trunkline.stats import mean_interval
from trunkline.stats.service_levels import judge_bounds

EXAMPLES = Path(__file__).parents[2] / "python" / "trunkline" / "examples"
NAMES = sorted(file.stem for file in EXAMPLES.glob("*.yaml"))
HASH = "document.documentElement.dataset.resultsHash"

# Runs a network with the page's own scripts: all tables and the hash.
RUN = """async ([network, seed]) => {
  window.pageEngine = window.pageEngine || new PageEngine(await unpackHolder("engine"));
  window.book = window.book ||
    JSON.parse(new TextDecoder().decode(await unpackHolder("runnable"))).book;
  const parsed = JSON.parse(network);
  const answer = await pageEngine.run(parsed, seed, () => {});
  const tables = decodeTables(readAnswer(answer), parsed, book);
  return { hash: await hashTables(tables, book), tables };
}"""


@pytest.fixture(scope="module", autouse=True)
def engine_module() -> None:
    try:
        load_engine_module()
    except EngineModuleMissing:
        pytest.skip("the engine for pages is not compiled here")


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory):
    """Writes the page of a scenario, each once."""
    folder = tmp_path_factory.mktemp("pages")
    written: dict[str, Path] = {}

    def write(name: str, file: Path | None = None, **options: Any) -> Path:
        if name not in written:
            runnable = build_runnable_scenario(file or EXAMPLES / f"{name}.yaml", **options)
            written[name] = write_page(runnable, folder / f"{name}.html")
        return written[name]

    return write


def run_here(file: Path, seed: int, **overrides: str) -> Results:
    return simulate(compile(load(file, overrides=overrides)), seeds=[seed])[0]


@pytest.fixture
def run_command(capsys):
    """Runs a command: what it prints as JSON."""

    def run(*words: str, status: int = 0) -> Any:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*words, "--json"])
        assert ended.value.code == status
        return json.loads(capsys.readouterr().out)

    return run


def open_page(looker: Any, page: Path) -> str:
    """Open a page and wait for its first run: its hash."""
    looker.page.goto(page.as_uri())
    looker.wait_until(f"Boolean({HASH})")
    return str(looker.page.evaluate(HASH))


def differs(mine: Any, other: Any) -> bool:
    if isinstance(mine, float) and isinstance(other, int | float):
        return not math.isclose(mine, other, rel_tol=1e-9, abs_tol=0)
    return bool(mine != other)


@pytest.mark.slow
def test_every_example_has_the_same_tables_and_hash_in_a_page(page_of, look):
    looker = look()
    open_page(looker, page_of("hello"))
    for name in NAMES:
        scenario = load(EXAMPLES / f"{name}.yaml")
        network = compile(scenario)
        expected = simulate(network, seeds=[scenario.run.seed])[0]
        found = looker.page.evaluate(RUN, [network.to_json(), scenario.run.seed])
        assert found["hash"] == expected.hash(), name
        for table, columns in expected.tables.items():
            for column in columns.columns:
                values = columns[column]
                pairs = zip(values, found["tables"][table][column], strict=True)
                assert not [pair for pair in pairs if differs(*pair)][:3], (name, table, column)


@pytest.mark.parametrize(
    "name",
    ["hello", *(pytest.param(name, marks=pytest.mark.slow) for name in ("trunks", "bufferbloat"))],
)
def test_a_page_runs_what_the_command_beside_it_runs(page_of, look, name, run_command):
    looker = look()
    first = open_page(looker, page_of(name))
    file = EXAMPLES / f"{name}.yaml"
    assert first == run_here(file, load(file).run.seed).hash()
    slider = looker.page.locator("#run-here input[type=range]").first
    slider.focus()
    looker.page.keyboard.press("End")
    looker.wait_until(f"{HASH} !== '{first}'")
    command = looker.page.locator("#run-here-command").inner_text()
    words = shlex.split(command)[1:]
    words[words.index(f"{name}.yaml")] = str(file)
    assert looker.page.evaluate(HASH) == run_command(*words)["hash"]


AGREED = """
trunkline: 1
parameters: {load: 1.2, size: 500 B}
nodes: [A, B]
ports: {short: {queue: {limit: 20 packets}}}
links: {A-B: {rate: 1 Mbit/s, port: short}}
flows:
  v: {agent: udp, from: A, to: B, rate: "${load * 1 Mbit/s}", size: $size, arrivals: poisson}
  idle: {agent: udp, from: A, to: B, rate: 1 kbit/s, start: 0.9 s, size: 1000 B}
slas:
  fast: {flow: v, at_most: {delay_p99: 20 ms, loss: 0.1 %}}
  served: {flow: v, at_least: {goodput: 300 kbit/s}}
  quiet: {flow: idle, at_most: {delay_max: 1 s}}
lesson:
  text: "A *queue* and its load. <script>alert(1)</script> [out](javascript:alert(2))"
  offer: {load: [0.1, 0.5, 0.8, 1.2]}
  tasks:
    fast-enough: {ask: Keep `fast`., targets: [fast, served], hint: Less load.}
    asked: {ask: Which grows?, choices: [the delay, the rate], answer: 1}
run: {duration: 1 s, warm_up: 100 ms}
"""


@pytest.fixture(scope="module")
def agreed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("agreed") / "agreed.yaml"
    file.write_text(AGREED)
    return file


def test_several_seeds_give_the_intervals_and_verdicts_of_python(page_of, look, agreed):
    looker = look()
    open_page(looker, page_of("agreed", agreed))
    looker.page.select_option("#run-here-runs", "5")
    looker.wait_until("document.getElementById('run-here-state').textContent.startsWith('5 runs')")
    scenario = load(agreed)
    runs = simulate(compile(scenario), seeds=range(1, 6))
    expected = mean_interval([float(run.flows["delay_p99_s"][0]) for run in runs])
    row = looker.page.locator("details[data-table=flows] tbody tr").first.inner_text()
    mean, half = (1e3 * value for value in (expected.mean, expected.half_width))
    assert f"{mean:.4g} ms ± {half:.4g} ms" in row
    words = {"met": "✓ Met", "broken": "✗ Broken", "not judged": "? Not judged"}
    levels = judge_bounds(scenario.list_sla_bounds(), runs)
    shown = looker.page.locator("#run-here-bounds li .sign").all_inner_texts()
    assert shown == [words[level.outcome] for level in levels]
    assert {level.outcome for level in levels} > {"broken"}


def test_a_lesson_checks_itself_and_its_code_is_verified(page_of, look, agreed, run_command):
    looker = look()
    page = looker.page
    first = open_page(looker, page_of("agreed", agreed))
    outcome = page.locator("[data-task=fast-enough] .outcome")
    assert "Not with these values" in outcome.inner_text()
    page.select_option("#run-here-load", label="0.5")
    looker.wait_until(f"{HASH} !== '{first}'")
    second = page.evaluate(HASH)
    assert outcome.inner_text() == "✓ Solved with load 0.5."
    page.select_option("#run-here-load", label="1.2")
    looker.wait_until(f"{HASH} !== '{second}'")
    # What is solved stays so, with the values that solved it.
    assert outcome.inner_text() == "✓ Solved with load 0.5."
    page.get_by_label("the rate").check()
    assert "Not this one" in page.locator("[data-task=asked] .outcome").inner_text()
    unfinished = page.locator("#run-here-code").inner_text()
    found = run_command("check", unfinished, str(agreed), status=3)
    assert [each["outcome"] for each in found["tasks"]] == ["solved", "not handed in"]
    page.get_by_label("the delay").check()
    found = run_command("check", page.locator("#run-here-code").inner_text(), str(agreed))
    assert [each["outcome"] for each in found["tasks"]] == ["solved", "solved"]
    assert "<script>alert(1)</script>" in page.locator("#run-here-lesson").inner_text()
    assert page.locator("#run-here-lesson a").count() == 0


def test_a_run_can_be_stopped_and_the_last_one_stays(page_of, look, tmp_path):
    file = tmp_path / "long.yaml"
    text = AGREED.replace("duration: 1 s, warm_up: 100 ms", "duration: $length")
    file.write_text(text.replace("{load: 1.2,", "{length: 2 s, load: 1.2,"))
    page_file = page_of("long", file, stated_values={"length": ["2 s", "90000 s"]})
    looker = look()
    first = open_page(looker, page_file)
    looker.page.select_option("#run-here-length", label="90000 s")
    looker.page.locator("#run-here-stop").click()
    state = "document.getElementById('run-here-state').textContent"
    looker.wait_until(f"{state}.startsWith('Stopped')")
    assert looker.page.evaluate(HASH) == first
    looker.page.locator("#run-here-reset").click()
    looker.wait_until(f"{state}.startsWith('Run in')")
    assert looker.page.evaluate(HASH) == first


def test_a_browser_without_webassembly_shows_the_stored_run(page_of, look):
    looker = look()
    looker.page.add_init_script("delete window.WebAssembly")
    looker.page.goto(page_of("hello").as_uri())
    looker.wait_until(
        "document.getElementById('run-here-state').textContent.includes('no WebAssembly')"
    )
    assert looker.page.locator("#x0-tables table").count() > 0
    assert looker.page.locator("#run-here-runs").is_disabled()


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_reaches_over_the_edge(page_of, look, agreed, width):
    looker = look(viewport={"width": width, "height": 800})
    open_page(looker, page_of("agreed", agreed))
    assert looker.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_report_with_live_runs_the_scenario_of_its_folder(look, tmp_path, run_command):
    folder = tmp_path / "results"
    run_command("run", str(EXAMPLES / "hello.yaml"), "--out", str(folder), "--seed", "7")
    run_command("report", str(folder), "--live")
    looker = look()
    assert open_page(looker, folder / "report.html") == run_here(EXAMPLES / "hello.yaml", 7).hash()


def test_a_page_can_be_used_by_keyboard_in_the_dark_and_printed(page_of, look, agreed):
    looker = look(color_scheme="dark")
    page = looker.page
    first = open_page(looker, page_of("agreed", agreed))
    dark = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(dark) == "rgb(16, 22, 28)"
    # From the head of the page to the first control, and one value on, by keys alone.
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "run-here-load":
            break
    page.keyboard.press("ArrowUp")
    looker.wait_until(f"{HASH} !== '{first}'")
    assert page.locator("td .earlier").count() > 0
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#run-here-controls").is_visible()
    closed = page.locator("#run-here-tables details:not([open])")
    assert closed.count() == 0
