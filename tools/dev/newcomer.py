"""What a newcomer does with an installed package: one command, a live page, a first change.

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

from shell import Clock, Failed, say

LONGEST_S = 120.0
BEFORE, AFTER = "queue: 50 packets", "queue: 5 packets"


def try_page(program: str, folder: str) -> None:
    """Call ``trunkline watch``, look at the page, change the example and look again.

    Parameters
    ----------
    program : str
        The installed ``trunkline``.
    folder : str
        An empty folder.

    Raises
    ------
    Failed
        The page or a picture is missing, or the change is not shown.
    """
    clock = Clock()
    # What is started in the background of a shell ignores Ctrl-C, and so would the page.
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
        said = page.stdout.readline()
        if not said:
            raise Failed(f"trunkline watch ended with {page.wait()}")
        address = json.loads(said)["address"]
        with urllib.request.urlopen(address, timeout=LONGEST_S) as answer:
            if b'id="library"' not in answer.read():
                raise Failed("the live page has no charts library")
        first = state_of(page, address, "")
        say(f"trunkline watch shows the first example after {clock}")
        clock = Clock()
        file = os.path.join(folder, "hello.yaml")
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        if BEFORE not in text:
            raise Failed(f"the first example has no line {BEFORE!r}")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text.replace(BEFORE, AFTER))
        second = state_of(page, address, first["run"])
        if not second["changes"]["rows"]:
            raise Failed("the live page does not say what the change did")
        say(f"the changed file is shown after {clock}")
    finally:
        page.send_signal(signal.SIGINT)
        page.wait(LONGEST_S)


def state_of(page: "subprocess.Popen[str]", address: str, before: object) -> dict[str, Any]:
    """Wait for a run with its picture.

    Parameters
    ----------
    page : subprocess.Popen
        The server.
    address : str
        Of the page.
    before : object
        The run that was shown before.

    Returns
    -------
    dict
        What the page shows.
    """
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end and page.poll() is None:
        with urllib.request.urlopen(address + "state", timeout=LONGEST_S) as answer:
            state: dict[str, Any] = json.load(answer)
        if state.get("failed"):
            raise Failed("\n".join(state["said"]))
        if state["ready"] and not state["busy"] and state["run"] != before:
            if "<svg" not in state["html"]:
                raise Failed("the live page has no picture of the network")
            return state
        time.sleep(0.05)
    raise Failed("trunkline watch shows no run")
