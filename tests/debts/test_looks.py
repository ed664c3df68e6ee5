"""What comes first on pages and terminals; docstrings number the faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import trunkline as tl
from trunkline.cli.study_command import command as study_command
from trunkline.report import write_report
from trunkline.study.outcome.failure_verdicts import list_failure_verdicts, summarise_verdicts
from trunkline.study.run import data_set

DIAMOND = """
trunkline: 1
parameters: {cut: A-B}
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {delay: 30 ms}, C-T: {}}
flows:
  voice: {agent: udp, from: S, to: T, rate: 800 kbit/s, size: 1000 B, dscp: EF, stop: 990 ms}
  data: {agent: udp, from: S, to: T, rate: 800 kbit/s, size: 1000 B, stop: 990 ms}
failures: {cut: {link: $cut, at: 500 ms}}
rerouting: {detection: {kind: fixed, delay: 100 ms}, processing: 0 s, spf_delay: 0 s}
slas:
  voice: {flow: voice, at_most: {loss: 5 %, delay_p99: 100 ms}}
  data: {dscp: DF, at_most: {loss: 50 %}}
run: {duration: 2 s}
"""
STUDY = """
study: 1
name: cuts
title: A diamond
scenario: diamond.yaml
runs: 2
grid: {cut: [A-B, C-T]}
columns: {voice: {table: flows, where: {flow: voice}, measure: loss_ratio, unit: "%"}}
"""


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A study of two failures, and what the terminal says of it."""
    folder = tmp_path_factory.mktemp("cuts")
    (folder / "diamond.yaml").write_text(DIAMOND)
    (folder / "cuts.yaml").write_text(STUDY)
    words = ["run", str(folder / "cuts.yaml"), "--out", str(folder / "out")]
    done = CliRunner().invoke(study_command, words, env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    return folder / "out", done.stdout


def test_a_failure_study_says_which_class_breaks_under_which_failure(
    cuts: tuple[Path, str],
) -> None:
    """E2. 10 of 99 packets of each flow are sent in the 100 ms until A knows: 10.1 % of loss.

    One a step of 10 ms from 500 to 590 ms; those of 495 ms and before are past A-B. Voice may lose
    5 %: 102 % beyond; data 50 %: 79.8 % left. Nobody uses C-T. The failures come worst first.
    """
    found = list_failure_verdicts(data_set.read(cuts[0]))
    assert [(each.failure, each.dscp, each.outcome) for each in found] == [
        ("A-B", "EF", "BROKEN"),
        ("A-B", "DF", "met"),
        ("C-T", "EF", "met"),
        ("C-T", "DF", "met"),
    ]
    first = found[0]
    assert first.loss == pytest.approx(10 / 99)
    assert first.margin == pytest.approx((0.05 - 10 / 99) / 0.05)
    assert found[1].margin == pytest.approx((0.5 - 10 / 99) / 0.5)
    # The nearest bound under C-T is the delay's, 97 % left, where loss has all of it.
    assert found[2].bound is not None
    assert found[2].bound.measure == "delay_p99"
    says = "EF breaks under 1 of 2 failures; the worst, EF under A-B: loss 10.1 %"
    assert summarise_verdicts(found).startswith(says)


def test_the_terminal_answers_first(cuts: tuple[Path, str]) -> None:
    """E2. It had 105 rows in long form, and no word of what failed."""
    printed = cuts[1]
    assert printed.index("Which aggregate breaks under which failure") < printed.index("A diamond")
    assert "102 % beyond" in printed
    assert "EF breaks under 1 of 2 failures" in printed


def test_the_page_answers_first(cuts: tuple[Path, str]) -> None:
    """E2. "45 of 45 runs", and charts titled "Sla.voice [1]"."""
    text = write_report(cuts[0]).read_text()
    body = text[text.index('<section id="verdict"') :]
    assert body.index("failures keep every agreement") < body.index("runs done")
    assert body.index("EF breaks under 1 of 2 failures") < body.index("The study is complete")
    assert body.index("Margin of each aggregate") < body.index("Runs that keep agreement voice")
    assert not re.search(r"[Ss]la\.|\[1\]", re.sub(r"<script.*?</script>", "", body, flags=re.S))


def test_json_has_the_failures_too(cuts: tuple[Path, str]) -> None:
    """E2."""
    done = CliRunner().invoke(study_command, ["show", str(cuts[0]), "--json"])
    first = json.loads(done.stdout)["failures"][0]
    assert (first["failure"], first["dscp"], first["sla"]) == ("A-B", "EF", "voice")
    assert first["margin"] == pytest.approx(1 - 10 / 99 / 0.05)


HOST = """
trunkline: 1
nodes: [A, B, C]
links: {A-B: {rate: 2 Mbit/s}, B-C: {rate: 10 Mbit/s}}
ports: {}
flows:
  f: {agent: tcp, from: A, to: C, window: 300 packets}
run: {duration: 5 s}
"""


def test_a_host_that_drops_its_own_packets_is_pointed_out() -> None:
    """E4. The default queue has 100 packets, the window 300."""
    run = tl.run(tl.load(HOST))
    dropped = next(row["packets"] for row in run.drops.rows())
    says = f"Dropped by the host itself: f loses {dropped} packets at its source's own port A->B"
    assert says in " ".join(run.render(width=200).split())
    wide = HOST.replace("window: 300", "window: 50")
    assert "host itself" not in tl.run(tl.load(wide)).render(width=200)
