"""Service level agreements on the command line and in the report."""

from __future__ import annotations

import json
import re

AWAY = ("--set", "links.R1-R2.port=plain", "--set", "run.duration=12 s")


def test_kept_agreements_end_with_0_and_broken_ones_with_3(trunkline):
    assert trunkline("examples", "copy", "priority-voice").returncode == 0
    kept = trunkline(
        "run", "priority-voice.yaml", "--judge", "--json", "--set", "run.duration=12 s"
    )
    assert kept.returncode == 0, kept.stderr
    assert all(level["met"] for level in json.loads(kept.stdout)["slas"])
    broken = trunkline("run", "priority-voice.yaml", *AWAY, "--judge", "--runs", "2")
    assert broken.returncode == 3
    assert broken.stdout.startswith("Lost: ")
    assert broken.stdout.index("\nService levels") < broken.stdout.index("\nFlows ")
    assert re.search(r"voice +10 flows .*BROKEN", broken.stdout)
    assert trunkline("run", "priority-voice.yaml", *AWAY).returncode == 0


def test_the_verdict_of_the_report_begins_with_them(trunkline, tmp_path):
    assert trunkline("examples", "copy", "priority-voice").returncode == 0
    assert trunkline("run", "priority-voice.yaml", *AWAY, "--out", "out").returncode == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    verdict = page[page.index('class="verdict"') :]
    assert re.search(r"<li class=\"(\w+)\"", verdict)[1] == "broken"
    assert re.search(r"says\">([^<]*)", verdict)[1].startswith("SLA voice: 10 flows, delay_p99")
    # The head of the file and what was set over it.
    assert "<h1>Voice before data" in page
    assert "Set: links.R1-R2.port=plain, run.duration=12 s" in page


def test_nothing_to_judge_is_wrong_usage(trunkline):
    assert trunkline("examples", "copy", "hello").returncode == 0
    done = trunkline("run", "hello.yaml", "--judge")
    assert done.returncode == 2
    assert "no slas" in done.stderr
