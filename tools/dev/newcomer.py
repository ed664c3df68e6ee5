"""The first steps of a newcomer with an installed package: a command, a live page, a change.

Only the package's own program is used, in an environment without anything else, and the page is
asked for as a browser does.
"""

import json
import os
import signal
import subprocess
import time
import urllib.request
from typing import Any

from shell import StepFailed, Stopwatch, print_message

MAX_WAIT_S = 120.0
LINE_BEFORE, LINE_AFTER = "queue: 50 packets", "queue: 5 packets"


def test_live_page(program: str, folder: str) -> None:
    """Call ``trunkline watch``, look at the page, change the example and look again.

    program: The installed ``trunkline``.
    folder: An empty folder.
    Raises StepFailed: The page or a picture is missing, or the change is not shown.
    """
    clock = Stopwatch()
    # A program in the background of a shell ignores Ctrl-C, and so would the page.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    page = subprocess.Popen(
        [program, "watch", "--no-open", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert page.stdout is not None
        first_line = page.stdout.readline()
        if not first_line:
            raise StepFailed(f"trunkline watch ended with {page.wait()}")
        address = json.loads(first_line)["address"]
        with urllib.request.urlopen(address, timeout=MAX_WAIT_S) as answer:
            if b'id="library"' not in answer.read():
                raise StepFailed("the live page has no charts library")
        first = wait_for_run(page, address, "")
        print_message(f"trunkline watch shows the first example after {clock}")
        clock = Stopwatch()
        file = os.path.join(folder, "hello.yaml")
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        if LINE_BEFORE not in text:
            raise StepFailed(f"the first example has no line {LINE_BEFORE!r}")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text.replace(LINE_BEFORE, LINE_AFTER))
        second = wait_for_run(page, address, first["run"])
        if not second["changes"]["rows"]:
            raise StepFailed("the live page does not say what the change did")
        print_message(f"the changed file is shown after {clock}")
    finally:
        page.send_signal(signal.SIGINT)
        page.wait(MAX_WAIT_S)


def wait_for_run(
    page: "subprocess.Popen[str]", address: str, previous_run: object
) -> dict[str, Any]:
    """Wait for a run with its picture.

    page: The server.
    address: Address of the page.
    previous_run: The run that was shown before.
    Returns: The texts of the page.
    """
    end = time.monotonic() + MAX_WAIT_S
    while time.monotonic() < end and page.poll() is None:
        with urllib.request.urlopen(address + "state", timeout=MAX_WAIT_S) as answer:
            state: dict[str, Any] = json.load(answer)
        if state.get("failed"):
            raise StepFailed("\n".join(state["messages"]))
        if state["ready"] and not state["busy"] and state["run"] != previous_run:
            if "<svg" not in state["html"]:
                raise StepFailed("the live page has no picture of the network")
            return state
        time.sleep(0.05)
    raise StepFailed("trunkline watch shows no run")
