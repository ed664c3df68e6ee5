"""The live page: an error is seen and mended, a slider is dragged, runs are compared."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trunkline.live import LiveServer, ScenarioWatcher
from trunkline.live.parameter_controls import list_parameter_controls
from trunkline.live.quick_study import write_quick_study
from trunkline.live.server import build_live_state

QUEUE = """\
trunkline: 1
# A queue that Poisson traffic loads
parameters: {load: 0.5, size: 500 B, buffer: 20 packets, twice: "${2 * load}"}
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms, port: p}}
ports: {p: {queue: {limit: $buffer}}}
flows:
  f: {agent: udp, from: a, to: b, rate: "${load * 1 Mbit/s}", size: $size, arrivals: poisson}
run: {duration: 5 s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "queue.yaml"
    made.write_text(QUEUE)
    return made


@pytest.fixture
def server(file: Path) -> Iterator[LiveServer]:
    made = LiveServer(ScenarioWatcher(file))
    thread = threading.Thread(target=made.serve_until_interrupted)
    thread.start()
    yield made
    made.shutdown()
    thread.join()


def until(condition: Callable[[], object], longest_s: float = 30) -> None:
    end = time.monotonic() + longest_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def send(server: LiveServer, what: str, printed: object, **headers: str) -> int:
    own = {"Origin": f"http://127.0.0.1:{server.server_port}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    body = printed if isinstance(printed, bytes) else json.dumps(printed).encode()
    connection.request("POST", f"/{server.token}/{what}", body, {**own, **headers})
    status = connection.getresponse().status
    connection.close()
    return status


TURN = {"overrides": {"load": "0.9"}, "settled": True, "runs": 1}


def test_only_a_page_of_this_server_changes_something(server):
    assert send(server, "turn", TURN, Origin="http://evil.example") == 403
    assert send(server, "turn", TURN, Origin="null") == 403
    assert send(server, "turn", TURN, Host="evil.example") == 421
    # What a form of another page can send without being asked first (Fetch, 2.2.2).
    assert send(server, "turn", TURN, **{"Content-Type": "text/plain"}) == 415
    assert send(server, "turn", b"x" * 100_000) == 413
    assert send(server, "turn", b"{") == 400
    assert send(server, "turn", {"overrides": {"load": 1}, "settled": True, "runs": 1}) == 400
    assert send(server, "turn", {**TURN, "runs": 10**9}) == 400
    assert send(server, "run", TURN) == 404
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    # Programs send no Origin; a page always does with POST (Fetch, 3.2).
    connection.request("POST", f"/{server.token}/turn", b"{}", {"Content-Type": "application/json"})
    assert connection.getresponse().status == 403
    connection.close()
    until(lambda: server.watcher.latest)
    assert build_live_state(server.watcher)["overrides"] == {}
    assert send(server, "turn", TURN) == 200
    until(lambda: build_live_state(server.watcher)["overrides"] == {"load": "0.9"})


DEEP = b"[" * 60_000
STUDY_JSON = {"parameter": "load", "values": ["0.5"], "runs": 1}


# RFC 8259 section 9: a parser may set limits on the depth of nesting and the range of numbers.
@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("turn", DEEP),
        ("turn", b'{"a":' * 10_000),
        ("stop", DEEP),
        ("turn", b"null"),
        ("stop", b"[]"),
        ("turn", b"\xff"),
        ("turn", b'{"overrides": {}, "settled": true, "runs": 1e999}'),
        ("turn", b'{"overrides": {}, "settled": true, "runs": ' + b"1" * 5000 + b"}"),
        ("turn", {**TURN, "runs": True}),
        ("turn", {**TURN, "settled": 1}),
        ("turn", {**TURN, "overrides": [["load", "0.9"]]}),
        ("turn", {**TURN, "overrides": {"load": ["0.9"]}}),
        ("study", b'{"parameter": "load", "values": ["0.5"], "runs": 1e999}'),
        ("study", {**STUDY_JSON, "values": "05"}),
        ("study", {**STUDY_JSON, "values": [0.5]}),
        ("study", {**STUDY_JSON, "values": ["\ud800"]}),
        ("study", {**STUDY_JSON, "parameter": "\ud800"}),
        ("study", {**STUDY_JSON, "parameter": None}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_post_is_answered(server, what, content):
    assert send(server, what, content) == 400


def test_a_post_of_absurd_length_is_refused(server):
    assert send(server, "turn", b"{}", **{"Content-Length": "9" * 5000}) == 413


def test_a_study_that_cannot_be_written_is_refused_with_its_file(server, file):
    (file.parent / "queue-load-study.yaml").mkdir()
    assert send(server, "study", STUDY_JSON) == 409


def test_parameters_become_knobs_and_what_follows_from_others_does_not():
    found = {
        knob.name: knob
        for knob in list_parameter_controls(QUEUE, {"size": "1 kB", "links.a-b.rate": "2 Mbit/s"})
    }
    assert list(found) == ["load", "size", "buffer", "links.a-b.rate"]
    assert (found["load"].number, found["load"].keeps_integers) == (0.5, False)
    # The slider's middle stays where the file has it.
    size = found["size"]
    assert (size.number, size.unit, size.value, size.keeps_integers) == (500.0, "B", "1 kB", True)
    assert found["links.a-b.rate"].parameter is False
    # A number of 5,000 digits is no place for a slider; in JSON it would be Infinity.
    (absurd,) = list_parameter_controls("parameters: {load: 1" + "0" * 5000 + "}", {})
    assert absurd.number is None


def test_a_save_runs_anew_and_an_error_keeps_the_last_run(server, file):
    watcher = server.watcher
    until(lambda: watcher.latest)
    first = watcher.latest
    assert first is not None
    assert first.reported_run is not None
    file.write_text(QUEUE.replace("load: 0.5", "load: 0,5"))
    until(lambda: watcher.latest is not first)
    state = build_live_state(watcher)
    assert state["failed"]
    # The fault stands in line 3, whose parameter is no number.
    assert f"{file}:" in state["messages"][0]
    assert watcher.shown_attempt is first
    file.write_text(QUEUE.replace("load: 0.5", "load: 0.8"))
    until(lambda: watcher.shown_attempt is not first)
    changes = build_live_state(watcher)["changes"]
    # 1 Mbit/s times 0.5, then 0.8: a rate in the network.
    assert changes["network"] == [
        "flows[f].agent.rate_bit_s: 500000 in A, 800000 in B",
    ]
    assert changes["verdict"].startswith("NOT ENOUGH RUNS")


def test_steps_of_a_slider_are_compared_with_what_was_before_it_moved(server):
    watcher = server.watcher
    until(lambda: watcher.shown_attempt)
    for load in ("0.6", "0.7", "0.8"):
        watcher.set_parameters({"load": load}, is_settled=False, runs=1)
        until(lambda load=load: watcher.shown_attempt.request.overrides == {"load": load})
    assert "500000 in A, 800000 in B" in watcher.shown_attempt.network_differences[0]
    watcher.set_parameters({"load": "0.8"}, is_settled=True, runs=1)
    until(lambda: watcher.shown_attempt.is_settled)
    watcher.set_parameters({"load": "0.9"}, is_settled=True, runs=1)
    until(lambda: watcher.shown_attempt.request.overrides == {"load": "0.9"})
    assert "800000 in A, 900000 in B" in watcher.shown_attempt.network_differences[0]


def test_a_run_that_takes_too_long_is_stopped_and_said(file):
    file.write_text(QUEUE.replace("duration: 5 s", "duration: 5000000 s"))
    watcher = ScenarioWatcher(file, limit_s=0.2)
    thread = threading.Thread(target=watcher.follow_changes)
    thread.start()
    until(lambda: watcher.latest)
    watcher.stop_watching()
    thread.join()
    assert "takes longer than 0.2 s" in watcher.latest.messages[0]


def test_a_study_over_a_parameter_is_a_file_that_runs(server, file):
    watcher = server.watcher
    until(lambda: watcher.latest)
    watcher.set_parameters({"size": "250 B", "load": "0.7"}, is_settled=True, runs=1)
    until(lambda: watcher.shown_attempt.request.overrides)
    assert send(server, "study", {"parameter": "load", "values": ["0.3", "0.6"], "runs": 2}) == 200
    until(lambda: watcher.command.status is not None, 120)
    assert watcher.command.status == 0, watcher.command.lines
    written = (file.parent / "queue-load-study.yaml").read_text()
    assert '"size": "250 B"' in written
    assert '"load": "0.7"' not in written
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", f"/{server.token}/study.html")
    answer = connection.getresponse()
    assert answer.status == 200
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert b"queue against load" in answer.read()
    connection.close()
    with pytest.raises(ValueError, match="no parameter"):
        write_quick_study(watcher.latest.request, "../x", ["1"], 1)


def opened(look, server, **how):
    looker = look(**how)
    looker.server = server.address
    looker.page.goto(server.address)
    looker.wait_until("document.querySelector('#run .figures') !== null")
    return looker


def test_in_a_browser_an_error_is_seen_and_mended_and_a_slider_is_dragged(server, file, look):
    looker = opened(look, server)
    page = looker.page
    looker.count_drawn_pixels()
    file.write_text(QUEUE.replace("rate: 1 Mbit/s", "rate: 1"))
    page.locator("#problems pre").first.wait_for()
    text_shown = page.locator("#problems").inner_text()
    assert "queue.yaml:5:" in text_shown
    assert "mend and save" in page.locator("#state").inner_text()
    assert page.locator("#run .figures").is_visible()
    file.write_text(QUEUE)
    page.locator("#problems").wait_for(state="hidden")
    # By keyboard: 40 steps of 200 over two decades are a factor 10^0.4 = 2.51; 0.5 becomes 1.26.
    slider = page.get_by_label("load, slider")
    slider.focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    looker.wait_until("document.querySelector('#command').textContent.includes('load=1.26')")
    looker.wait_until("document.querySelector('#differences').textContent.includes('1260000 in B')")
    assert "goodput_bit_s" in page.locator("#differences").inner_text()
    assert page.get_by_label("load, value").input_value() == "1.26"
    # Several runs give the words of compare: 1.26 Mbit/s into 1 Mbit/s lose packets, 0.5 none.
    page.get_by_label("Runs, each").select_option("5")
    looker.wait_until("document.querySelector('#changed').textContent.includes('this run')")
    page.get_by_role("button", name="As in the file").click()
    looker.wait_until("!document.querySelector('#command').textContent.includes('load')")


def test_in_a_browser_the_report_verify_and_a_study_are_one_click_each(server, look):
    looker = opened(look, server)
    page = looker.page
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Open the report").click()
    report = opening.value
    report.locator(".figures").first.wait_for()
    assert report.locator("h1").inner_text() == "queue"
    report.close()
    # Where no guest is ready it ends by itself, else it is stopped: either way the page says so.
    page.get_by_role("button", name="Compare with Linux").click()
    looker.wait_until(
        "document.querySelector('#errand-state').textContent.includes('trunkline verify')"
    )
    stopped = "(document.querySelector('#stop').click(), document.querySelector('#stop').hidden)"
    looker.wait_until(stopped)
    assert not page.locator("#errand-state").inner_text().endswith("running")
    page.get_by_label("Values of the study").fill("0.3, 0.6")
    page.get_by_label("Runs of each value").fill("2")
    page.get_by_role("button", name="Run the study").click()
    page.locator("#study-report").wait_for(timeout=120_000)
    assert page.locator("#errand-state").inner_text().endswith("done")
    with page.context.expect_page() as opening:
        page.locator("#study-report").click()
    study = opening.value
    study.locator("h1").wait_for()
    assert "queue against load" in study.locator("body").inner_text()
    study.close()


def test_the_state_says_what_is_set_before_it_has_run(server):
    watcher = server.watcher
    until(lambda: watcher.latest)
    with watcher.change_condition:  # nothing is attempted meanwhile
        watcher.set_parameters({"load": "0.7"}, is_settled=True, runs=1)
        assert build_live_state(watcher)["overrides"] == {"load": "0.7"}
        assert "load" not in build_live_state(watcher)["command"]


def test_in_a_browser_a_slide_that_has_not_rested_is_taken_back_for_good(server, look):
    """A second after the last key a slide is sent as settled: not after it was taken back."""
    looker = opened(look, server)
    slider = looker.page.get_by_label("load, slider")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
    looker.wait_until("document.querySelector('#command').textContent.includes('load')")
    slider.press("ArrowRight")
    looker.page.get_by_role("button", name="As in the file").click()
    looker.page.wait_for_timeout(1500)
    looker.wait_until("!document.querySelector('#command').textContent.includes('load')")
    assert server.watcher.overrides == {}


def test_names_of_users_stay_text_on_the_live_page(server, file, look):
    looker = opened(look, server)
    bad = "<img src=x onerror=alert(1)>"
    file.write_text(QUEUE.replace("load: 0.5", f'load: "{bad}"'))
    looker.page.locator("#problems pre").first.wait_for()
    assert bad in looker.page.locator("#problems").inner_text()
    assert looker.page.locator("#problems img, #knobs img").count() == 0


def test_on_a_phone_nothing_stands_out_at_the_side(server, look):
    looker = opened(look, server, viewport={"width": 360, "height": 740})
    assert looker.page.evaluate("document.documentElement.scrollWidth") <= 360
