"""The server of a results folder: who is answered, what is given out, how it ends."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline.report import local_server
from trunkline.report.results_server import ResultsServer, resolve_inside


@pytest.fixture
def server(protected: Path, tmp_path: Path) -> Iterator[ResultsServer]:
    shutil.copytree(protected, tmp_path / "root" / "one")
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "root" / "way-out").symlink_to(tmp_path)
    (tmp_path / "root" / ".hidden.json").write_text("{}")
    made = ResultsServer(tmp_path / "root")
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.stopping.set()
    made.shutdown()
    thread.join()
    made.server_close()


def ask(server: ResultsServer, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, dict(answer.getheaders())


def test_only_who_knows_the_token_is_answered(server):
    assert ask(server, "/")[0] == 403
    assert ask(server, "/wrong/")[0] == 403
    assert ask(server, f"/{server.token[:-1]}/")[0] == 403
    status, content, _ = ask(server, f"/{server.token}/")
    assert status == 200
    assert server.token.encode() not in content


def test_a_page_of_another_site_is_refused(server):
    path = f"/{server.token}/"
    assert ask(server, path, Host="evil.example")[0] == 421
    assert ask(server, path, Host=f"evil.example:{server.server_port}")[0] == 421
    assert ask(server, path, Origin="http://evil.example")[0] == 403
    assert ask(server, path, Origin="null")[0] == 403
    assert ask(server, path, Origin=f"http://127.0.0.1:{server.server_port}")[0] == 200


def test_it_listens_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.json",
        "%2e%2e/secret.json",
        "one/../../secret.json",
        "way-out/secret.json",
        "/etc/passwd",
        "//etc/passwd",
        ".hidden.json",
        "one/%00.json",
        "one",
        "",
    ],
)
def test_nothing_outside_the_folder_is_given_out(server, path):
    assert ask(server, f"/{server.token}/files/{path}")[0] == 404


def test_files_come_with_an_origin_of_their_own(server):
    status, content, headers = ask(server, f"/{server.token}/files/one/run.json")
    assert status == 200
    assert json.loads(content)["format"] == 1
    assert "sandbox allow-scripts" in headers["Content-Security-Policy"]
    assert "allow-same-origin" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_a_report_is_made_when_it_is_asked_for(server):
    status, content, _ = ask(server, f"/{server.token}/files/one/report.html")
    assert status == 200
    assert content.startswith(b"<!doctype html>")
    assert (server.root / "one" / "report.html").read_bytes() == content


def events(server: ResultsServer) -> Iterator[list[dict[str, object]]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", f"/{server.token}/events")
    answer = connection.getresponse()
    for line in answer:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])
    connection.close()


def test_the_progress_of_a_running_study_is_seen(server):
    from trunkline.study.run.folder_lock import FolderLock

    seen = events(server)
    assert [entry["path"] for entry in next(seen)] == ["one"]
    study = server.root / "study"
    study.mkdir()
    lock = FolderLock(study)
    (study / "journal.jsonl").write_bytes(b"one\ntwo\nthr")
    (study / "manifest.json.new").write_text(json.dumps({"format": 1, "name": "s", "runs": 7}))
    (study / "manifest.json.new").rename(study / "manifest.json")
    entry = next(each for each in next(seen) if each["path"] == "study")
    # A last line without its end is still being written.
    assert (entry["done"], entry["of"], entry["state"]) == (2, 7, "going on")
    lock.release()
    entry = next(each for each in next(seen) if each["path"] == "study")
    assert entry["state"] == "stopped"


def test_links_and_hidden_names_do_not_lead_out(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.json").write_text("{}")
    (root / "out").symlink_to("/etc")
    assert resolve_inside(root, "in.json") == root / "in.json"
    for name in ("out/passwd", "../x", "/etc/passwd", "a/../../x", ".x", "a\0b", ".", ""):
        assert resolve_inside(root, name) is None, name


def test_a_taken_port_is_passed_over_and_a_port_that_is_asked_for_is_not(tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(local_server, "FIRST_PORT", port)
        made = ResultsServer(tmp_path)
        assert port < made.server_port < port + local_server.PORTS_TRIED
        made.server_close()
        with pytest.raises(OSError, match="in use"):
            ResultsServer(tmp_path, port)


def test_ctrl_c_ends_quietly(tmp_path):
    command = [sys.executable, "-m", "trunkline", "serve", str(tmp_path), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["address"].startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        try:
            _, talk = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert talk == "ended\n"


def test_in_a_browser_the_list_opens_a_report(server, look):
    looker = look()
    looker.server = server.address
    page = looker.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address)
    page.get_by_role("link", name="one").click()
    # The report is made now: nothing can be asked of the page before it has come.
    page.wait_for_url("**/report.html", timeout=120_000)
    looker.wait_until("document.documentElement.dataset.charts === 'ready'")
    assert all(url.startswith((server.address, "data:")) for url in asked)
