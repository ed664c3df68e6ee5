"""Reports in a real browser: drawn, driven by mouse and keyboard, silent, and closed to names."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from trunkline.importers.network import ImportRules, read_network
from trunkline.report import write_report

LEAST_PIXELS = 1500

HOSTILE = {
    "A": "<script>alert(1)</script>",
    "C": '"; rm -rf / #',
    "D": "../../x",
    "working": '"><img src=x onerror=alert(2)>',
    "switched[0]": "</script><script>alert(3)</script>",
    "A->4": "javascript:alert(4)//\u202egnp.exe",
    "8->9": "x" * 4096,
    "backup": "{{ 7 * 7 }} ${7*7} &lt;b&gt;",
}


# Boxes of the words beside links, and of the nodes' circles; a row of a caption below the other may
# touch it, as its box has room for accents.
COVERED = """() => {
  const boxes = (what) => [...document.querySelectorAll(what)].map((it) => [
    it.textContent.trim(), it.getBoundingClientRect()]);
  const texts = boxes('.captions text'), circles = boxes('.spot circle'), found = [];
  const cover = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  texts.forEach(([name, box], i) => [...texts.slice(i + 1), ...circles].forEach(
    ([other, place]) => cover(box, place) && found.push(`${name} / ${other}`)));
  return [texts.length, found];
}"""


@pytest.mark.parametrize(
    ("name", "captions"), [("trunks", 9), ("diffserv-over-mpls", 1), ("does-50-ms-matter", 4)]
)
def test_words_beside_links_cover_neither_each_other_nor_nodes(
    name, captions, run_example, tmp_path, look
):
    short = {"run.duration": "2 s", "run.warm_up": "0 s"} if name != "does-50-ms-matter" else {}
    folder = run_example(tmp_path / "results", name, range(1, 2), **short)
    looker = look()
    looker.open_file(write_report(folder, tmp_path / "page.html"))
    drawn, covered = looker.page.evaluate(COVERED)
    assert drawn >= captions
    assert covered == []


# Names that cover each other, and those that cover the circle of another node.
HIDDEN = """() => {
  const spots = [...document.querySelectorAll('.spot')], found = [[], []];
  const box = (it, what) => it.querySelector(what).getBoundingClientRect();
  const cover = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  for (const one of spots) for (const other of spots) if (one !== other) {
    const name = box(one, 'text');
    if (cover(name, box(other, 'text'))) found[0].push(one.textContent.trim());
    if (cover(name, box(other, 'circle'))) found[1].push(one.textContent.trim());
  }
  return found;
}"""


def test_fifty_cities_and_their_traffic_read_well_on_a_desk_and_on_a_phone(tmp_path, look):
    pytest.importorskip("topohub")
    rules = ImportRules(250_000_000, 1_000_000)
    made = read_network("topohub:sndlib/germany50", rules, matrix_file="demands.csv")
    (tmp_path / "demands.csv").write_text(made.matrix, "utf-8")
    (tmp_path / "germany.yaml").write_text(made.text, "utf-8")
    run = {"run.duration": "60 ms", "run.warm_up": "10 ms"}
    scenario = tl.load(tmp_path / "germany.yaml", overrides=run)
    folder = tl.save(tl.run(scenario), scenario, tmp_path / "results")
    page = write_report(folder, tmp_path / "page.html")
    for width in (1280, 390):
        looker = look(viewport={"width": width, "height": 844})
        looker.open_file(page)
        names, nodes = looker.page.evaluate(HIDDEN)
        assert names == []
        assert len(nodes) <= 3
        assert looker.page.locator("#x0-engineering img").count() == 1
        assert looker.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_slider_moves_by_the_keyboard_and_tells_states(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    page = looker.page
    slider = page.locator(".time")
    lanes = (
        "[...document.querySelectorAll('.lane')].map((lane) => lane.getAttribute('class')).join()"
    )
    total = page.evaluate(lanes)
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert slider.input_value() == "3"
    assert page.locator(".now").inner_text() == slider.get_attribute("aria-valuetext")
    assert page.evaluate(lanes) != total
    # What the whole run lost is not said of a moment.
    losses = page.locator(".captions .loss")
    assert losses.count() >= 4
    assert not losses.first.is_visible()
    # The link 5-6 is down from 5 s to 10 s; the switch comes 50 ms after: see the scenario.
    times = page.evaluate("exhibits.get('x0').replay.times")
    at = next(number for number, each in enumerate(times, 1) if each > 6)
    slider.evaluate(
        "(it, value) => { it.value = value; it.dispatchEvent(new Event('input')); }", at
    )
    assert page.locator(".lane.down").count() == 2
    assert page.locator(".state").all_inner_texts() == [
        "traffic is on backup",
        "carries the traffic of working",
    ]
    page.keyboard.press("Home")
    assert page.evaluate(lanes) == total
    assert losses.first.is_visible()


def test_play_runs_and_stops(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    button = looker.page.locator(".play")
    looker.page.locator(".speed").select_option("4")
    button.click()
    looker.wait_until("Number(document.querySelector('.time').value) > 2")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


def test_a_click_on_a_packet_tells_its_story(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    page = looker.page
    page.locator(".closely").check()
    slider = page.locator(".time")
    slider.evaluate("(it) => { it.value = 300; it.dispatchEvent(new Event('input')); }")
    assert page.locator("circle.packet").count() > 10
    page.locator("circle.packet").last.click(force=True)
    text_shown = page.locator(".story").inner_text()
    assert text_shown.startswith("Packet ")
    assert "waited" in text_shown
    # By the keyboard, one that the failure cost: lost on 5->6 after the labels were put on at 4.
    lost = page.evaluate(
        "exhibits.get('x0').packets.trips.find((trip) => trip.fate && trip.fate[0] === 'dropped')"
    )
    slider.evaluate(
        "(it, value) => { it.value = value; it.dispatchEvent(new Event('input')); }",
        page.evaluate(
            """(at) => { const { start, end } = exhibits.get("x0").packets;
              return Math.floor(1000 * at / (end - start)); }""",
            lost["fate"][1],
        ),
    )
    name = page.evaluate(
        """(number) => players[0].closer.name(
          exhibits.get("x0").packets.trips.find((trip) => trip.packet === number))""",
        lost["packet"],
    )
    page.get_by_role("button", name=name, exact=True).focus()
    page.keyboard.press("Enter")
    text_shown = page.locator(".story").inner_text()
    assert f"Dropped at {lost['fate'][2]}" in text_shown
    assert lost["fate"][3] in text_shown


def test_paths_light_up_by_focus_and_stay_by_a_press(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    page = looker.page
    chip, route = page.locator(".chip").first, page.locator("#x0-path-0")
    shown = "(it) => getComputedStyle(it).visibility"
    assert route.evaluate(shown) == "hidden"
    chip.focus()
    assert route.evaluate(shown) == "visible"
    page.keyboard.press("Enter")
    page.locator(".chip").nth(1).focus()
    assert route.evaluate(shown) == "visible"
    assert (
        page.locator("#x0-path-1").evaluate("(it) => getComputedStyle(it).strokeDasharray")
        != "none"
    )


def test_tables_are_sorted_by_their_numbers(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    table = looker.page.locator("#x0-flows table")
    table.get_by_role("button", name="goodput").focus()
    looker.page.keyboard.press("Enter")
    cells = table.locator("tbody td:nth-child(3)").all()
    values = [float(cell.get_attribute("data-sort")) for cell in cells]
    assert values == sorted(values)
    assert len(values) == 8
    assert table.locator("th[aria-sort=ascending]").inner_text() == "goodput"


def test_lines_of_a_chart_are_hidden_and_shown_by_the_keyboard(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    page = looker.page
    plot = page.locator("#x0-rate .plot")
    plot.scroll_into_view_if_needed()
    looker.wait_until("document.querySelectorAll('#x0-rate .key button').length === 2")
    shown = """() => {
      const model = drawn.get(document.querySelector('#x0-rate .plot')).getModel();
      return model.getSeries().filter((it) => !it.get('silent')).map((it) => it.name)
        .filter((name) => model.getComponent('legend').isSelected(name));
    }"""
    assert page.evaluate(shown) == ["switched (4)", "fixed (4)"]
    button = page.locator("#x0-rate .key button").first
    assert button.inner_text() == "switched (4)"
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert page.evaluate(shown) == ["fixed (4)"]
    # Drawn anew in other colours, what was hidden stays so.
    page.locator("#theme").click()
    assert page.evaluate(shown) == ["fixed (4)"]
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(shown) == ["switched (4)", "fixed (4)"]


@pytest.mark.parametrize(
    "options",
    [
        {"color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
        {"java_script_enabled": False},
    ],
    ids=["dark", "phone", "without-scripts"],
)
def test_it_reads_well_elsewhere(options, page_of_protected, look):
    looker = look(**options)
    if options.get("java_script_enabled") is False:
        looker.page.goto(page_of_protected.as_uri())
        assert looker.page.locator(".lane").count() == 24
        assert looker.page.locator("#x0-flows tbody tr").count() == 8
        return
    looker.open_file(page_of_protected)
    assert min(looker.count_drawn_pixels().values()) > LEAST_PIXELS
    assert looker.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # What stands outside the boxes that scroll is never cut off by the window.
    cut = """() => [...document.querySelectorAll('main p, main li, main h3')]
      .filter((it) => !it.closest('.scroll, nav') && it.scrollWidth > it.clientWidth + 1)
      .map((it) => it.textContent)"""
    assert looker.page.evaluate(cut) == []
    assert looker.page.locator(".scroll .caption").count() == 0


def test_on_paper_the_charts_are_there_and_the_tools_are_not(page_of_protected, look):
    looker = look()
    looker.open_file(page_of_protected)
    looker.page.emulate_media(media="print")
    assert not looker.page.locator(".player").is_visible()
    paper = looker.page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert looker.page.locator(".plot canvas").count() == looker.page.locator(".plot").count()


def test_hostile_names_stay_text(tmp_path, look, run_example):
    results = run_example(tmp_path / "results", "does-50-ms-matter", range(1, 2), HOSTILE)
    looker = look()
    looker.open_file(write_report(results, tmp_path / "page.html"))
    page: Path = looker.page
    looker.count_drawn_pixels()
    page.locator(".closely").check()
    page.locator(".time").evaluate(
        "(it) => { it.value = 500; it.dispatchEvent(new Event('input')); }"
    )
    for button in page.locator(".list button").all()[:3]:
        button.click()
    for chip in page.locator(".chip").all():
        chip.hover()
    assert (
        page.evaluate("document.querySelectorAll('main script, main iframe, [onerror]').length")
        == 0
    )
    assert page.locator("#x0-flows th[scope=row]").first.inner_text() == HOSTILE["switched[0]"]
    assert page.locator(".chip").first.inner_text() == HOSTILE["working"]
    titles = page.locator(".spot title").all_text_contents()
    assert HOSTILE["A"] in titles
    assert HOSTILE["C"] in titles
    # What turns the writing round is spelled out.
    assert "\u202e" not in page.locator("main").inner_text()
    assert "javascript:alert(4)//\\u202egnp.exe" in page.locator("#x0-ports").inner_text()
    assert page.evaluate("[...document.links].every((link) => link.protocol === 'file:')")
