"""The live page of a scenario, for a browser on this machine.

Who is answered is said by :mod:`trunkline.report.local`. The page shows one scenario; what it may
ask for is in `_Handler.posts`, and no file but the scenario's own is named by it.
"""

import json
import threading
from dataclasses import asdict
from typing import Any, ClassVar

from trunkline.compare.render import SHOWN_ROWS, cells
from trunkline.live.attempt import Attempt
from trunkline.live.watcher import Watcher
from trunkline.report import page, verdict
from trunkline.report.local import EVERY_S, FILE_POLICY, Handler, LocalServer, posted

SCRIPTS = (*page.SCRIPTS[:-1], "watch.js")
HTML = "text/html; charset=utf-8"


class Server(LocalServer):
    """The server of one scenario.

    Parameters
    ----------
    port : int, optional
        Port; the next free one from 8470 if left out.

    Raises
    ------
    OSError
        The port, or every one that was tried, is taken.
    """

    def __init__(self, watcher: Watcher, port: int | None = None) -> None:
        self.watcher = watcher
        super().__init__(_Handler, port)

    def run(self) -> None:
        """Follow the scenario and serve its page until the process is interrupted."""
        thread = threading.Thread(target=self.watcher.follow, daemon=True)
        thread.start()
        try:
            super().run()
        finally:
            self.watcher.stop()
            thread.join(EVERY_S)


class _Handler(Handler):
    server: Server

    def get(self, rest: str) -> None:
        """The page, its events, the state, or a report."""
        watcher = self.server.watcher
        if rest == "":
            self.send(200, HTML, *page.served("watch.html.j2", SCRIPTS, name=watcher.name))
        elif rest == "events":
            self.events(lambda: _sign(watcher), watcher.wait)
        elif rest == "state":
            state = json.dumps(to_json(watcher)).encode()
            self.send(200, "application/json", state, "default-src 'none'")
        elif rest == "report.html":
            self._report(watcher)
        elif rest == "study.html":
            self._study(watcher)
        else:
            self.refuse(404, "there is nothing here")

    def _report(self, watcher: Watcher) -> None:
        made = watcher.shown
        if made is None or made.exhibit is None:
            self.refuse(404, "nothing has run yet")
            return
        self.send(200, HTML, page.of_runs(made.exhibit).encode(), FILE_POLICY)

    def _study(self, watcher: Watcher) -> None:
        errand = watcher.errand
        if errand is None or errand.result is None or not errand.result.is_dir():
            self.refuse(404, "no study has been run yet")
            return
        try:
            written = page.of_sweep(errand.result)
        except (ValueError, OSError) as error:
            self.refuse(404, f"no report can be made: {error}")
            return
        self.send(200, HTML, written.encode(), FILE_POLICY)

    def _turn(self, content: dict[str, Any]) -> None:
        overrides = posted(content, "overrides", dict)
        settled, runs = posted(content, "settled", bool), posted(content, "runs", int)
        self.server.watcher.turn(overrides, settled=settled, runs=runs)

    def _verify(self, _: dict[str, Any]) -> None:
        self.server.watcher.verify()

    def _study_over(self, content: dict[str, Any]) -> None:
        parameter, values = posted(content, "parameter", str), posted(content, "values", list)
        self.server.watcher.study(parameter, values, posted(content, "runs", int))

    def _stop(self, _: dict[str, Any]) -> None:
        self.server.watcher.stop_errand()

    posts: ClassVar = {
        "turn": _turn,
        "verify": _verify,
        "study": _study_over,
        "stop": _stop,
    }


def to_json(watcher: Watcher) -> dict[str, Any]:
    """All that the page shows."""
    with watcher.changed:
        now, drawn, errand = watcher.now, watcher.shown, watcher.errand
        # What is set by now, which may not have been attempted yet.
        overrides = watcher.overrides
        state = {
            "version": watcher.version,
            "busy": watcher.busy,
            "errand": None if errand is None else errand.to_json(),
        }
    if now is None:
        return {**state, "ready": False}
    return {
        **state,
        "ready": True,
        "failed": now.exhibit is None,
        "said": [page.visible(text) for text in now.said],
        "command": now.wanted.command,
        "runs": now.wanted.runs,
        "took": round(now.took_s, 3),
        "knobs": [asdict(knob) for knob in now.knobs],
        "overrides": overrides,
        **(_picture(drawn) if drawn is not None else {}),
    }


def _picture(made: Attempt) -> dict[str, Any]:
    """The run as the report's own template writes it, its data, and what changed."""
    assert made.view is not None
    assert made.exhibit is not None
    found = page.environment().get_template("live.html.j2")
    changes = made.changes
    rows = [] if changes is None else [cells(each) for each in changes.largest(SHOWN_ROWS)]
    return {
        "run": id(made),
        "title": page.visible(verdict.title(made.exhibit.first.provenance.scenario, "")),
        "html": found.render(one=made.view, study=None, number=1, library=True),
        "data": made.view.data,
        "earlier": page.embedded([chart.to_json() for chart in made.earlier]),
        "changes": None
        if changes is None
        else {
            "of": len(changes.differences),
            "rows": [[page.visible(cell) for cell in row] for row in rows],
            "verdict": changes.verdict(),
            "notes": changes.notes,
            "network": [page.visible(said) for said in made.network],
        },
    }


def _sign(watcher: Watcher) -> str:
    return json.dumps({"version": watcher.version, "busy": watcher.busy})
