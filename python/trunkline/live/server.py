"""The live page of a scenario, for a browser on this machine.

:mod:`trunkline.report.local_server` decides who gets an answer. The page shows one scenario; what
it may ask for is in `_LiveHandler.posts`, and no file but the scenario's own is named by it.
"""

import json
import threading
from dataclasses import asdict
from typing import Any, ClassVar

from trunkline.compare.comparison_table import MAX_ROWS_SHOWN, format_difference_cells
from trunkline.live.attempt import RunAttempt
from trunkline.live.watcher import ScenarioWatcher
from trunkline.report import findings, page
from trunkline.report.local_server import (
    EVENT_INTERVAL_S,
    FILE_POLICY,
    LocalHandler,
    LocalServer,
    posted,
)

LIVE_SCRIPTS = (*page.PAGE_SCRIPTS[:-1], "watch.js")
HTML_TYPE = "text/html; charset=utf-8"


class LiveServer(LocalServer):
    """The server of one scenario.

    port: Port; the next free one from 8470 if left out.
    Raises OSError: The port, or every one that was tried, is taken.
    """

    def __init__(self, watcher: ScenarioWatcher, port: int | None = None) -> None:
        self.watcher = watcher
        super().__init__(_LiveHandler, port)

    def serve_until_interrupted(self) -> None:
        """Follow the scenario and serve its page until the process is interrupted."""
        thread = threading.Thread(target=self.watcher.follow_changes, daemon=True)
        thread.start()
        try:
            super().serve_until_interrupted()
        finally:
            self.watcher.stop_watching()
            thread.join(EVENT_INTERVAL_S)


class _LiveHandler(LocalHandler):
    server: LiveServer

    def answer_get(self, rest: str) -> None:
        """The page, its events, the state, or a report."""
        watcher = self.server.watcher
        if rest == "":
            self.send_content(
                200,
                HTML_TYPE,
                *page.render_served_page("watch.html.j2", LIVE_SCRIPTS, name=watcher.file_name),
            )
        elif rest == "events":
            self.send_events(lambda: _build_version_json(watcher), watcher.wait_for_change)
        elif rest == "state":
            state = json.dumps(build_live_state(watcher), allow_nan=False).encode()
            self.send_content(200, "application/json", state, "default-src 'none'")
        elif rest == "report.html":
            self._send_report(watcher)
        elif rest == "study.html":
            self._send_study(watcher)
        else:
            self.send_refusal(404, "there is nothing here")

    def _send_report(self, watcher: ScenarioWatcher) -> None:
        run_attempt = watcher.shown_attempt
        if run_attempt is None or run_attempt.reported_run is None:
            self.send_refusal(404, "nothing has run yet")
            return
        self.send_content(
            200, HTML_TYPE, page.render_runs_page(run_attempt.reported_run).encode(), FILE_POLICY
        )

    def _send_study(self, watcher: ScenarioWatcher) -> None:
        command = watcher.command
        if command is None or command.result_folder is None or not command.result_folder.is_dir():
            self.send_refusal(404, "no study has been run yet")
            return
        try:
            page_html = page.render_sweep_page(command.result_folder)
        except (ValueError, OSError) as error:
            self.send_refusal(404, f"no report can be made: {error}")
            return
        self.send_content(200, HTML_TYPE, page_html.encode(), FILE_POLICY)

    def _set_parameters(self, content: dict[str, Any]) -> None:
        overrides = posted(content, "overrides", dict)
        is_settled, runs = posted(content, "settled", bool), posted(content, "runs", int)
        self.server.watcher.set_parameters(overrides, is_settled=is_settled, runs=runs)

    def _start_verification(self, _: dict[str, Any]) -> None:
        self.server.watcher.start_verification()

    def _start_study(self, content: dict[str, Any]) -> None:
        parameter, values = posted(content, "parameter", str), posted(content, "values", list)
        self.server.watcher.start_study(parameter, values, posted(content, "runs", int))

    def _stop_command(self, _: dict[str, Any]) -> None:
        self.server.watcher.stop_command()

    post_handlers: ClassVar = {
        "turn": _set_parameters,
        "verify": _start_verification,
        "study": _start_study,
        "stop": _stop_command,
    }


def build_live_state(watcher: ScenarioWatcher) -> dict[str, Any]:
    """Build all that the page shows."""
    with watcher.change_condition:
        latest, shown_attempt, command = watcher.latest, watcher.shown_attempt, watcher.command
        # Present overrides, which may not have been attempted yet.
        overrides = watcher.overrides
        state = {
            "version": watcher.version,
            "busy": watcher.is_busy,
            "errand": None if command is None else command.to_json(),
        }
    if latest is None:
        return {**state, "ready": False}
    return {
        **state,
        "ready": True,
        "failed": latest.reported_run is None,
        "messages": [page.spell_invisible(text) for text in latest.messages],
        "command": latest.request.command_line,
        "runs": latest.request.runs,
        "took": round(latest.duration_s, 3),
        "knobs": [asdict(knob) for knob in latest.controls],
        "overrides": overrides,
        **(_build_run_state(shown_attempt) if shown_attempt is not None else {}),
    }


def _build_run_state(run_attempt: RunAttempt) -> dict[str, Any]:
    """Build the run as the report's own template writes it, its data, and the changes."""
    assert run_attempt.view is not None
    assert run_attempt.reported_run is not None
    template = page.create_environment().get_template("live.html.j2")
    changes = run_attempt.changes
    rows = (
        []
        if changes is None
        else [format_difference_cells(each) for each in changes.list_largest(MAX_ROWS_SHOWN)]
    )
    return {
        "run": id(run_attempt),
        "title": page.spell_invisible(
            findings.find_title(run_attempt.reported_run.first_run.provenance.scenario, "")
        ),
        "html": template.render(one=run_attempt.view, study=None, number=1, library=True),
        "data": run_attempt.view.data,
        "earlier": page.encode_json([chart.to_json() for chart in run_attempt.earlier_charts]),
        "changes": None
        if changes is None
        else {
            "of": len(changes.differences),
            "rows": [[page.spell_invisible(cell) for cell in row] for row in rows],
            "verdict": changes.verdict(),
            "notes": changes.notes,
            "network": [page.spell_invisible(text) for text in run_attempt.network_differences],
        },
    }


def _build_version_json(watcher: ScenarioWatcher) -> str:
    return json.dumps({"version": watcher.version, "busy": watcher.is_busy})
