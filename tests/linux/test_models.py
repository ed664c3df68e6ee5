"""RFC 3270 section 2.6 on the kernel: what comes out of a label-switched path, by model."""

from pathlib import Path

import pytest

from trunkline.linux import engine
from trunkline.linux.guest.readiness import examine_runner
from trunkline.linux.judge import verification
from trunkline.linux.outcome.records import read_arrivals
from trunkline.network import compile
from trunkline.scenario import load

# An AF11 packet becomes TC 3, which on this path stands for AF13.
SCENARIO = """\
trunkline: 1
nodes: [S, A, B, C, D]
defaults:
  link: {rate: 10 Mbit/s, delay: 1 ms, port: phb}
  udp: {arrivals: poisson, size: 500 B, stop: 900 ms}
links: {S-A: {rate: 100 Mbit/s}, A-B: {}, B-C: {}, C-D: {rate: 3 Mbit/s}}
ports:
  phb:
    scheduler: priority
    classify: [{dscp: AF11, class: high}, {dscp: AF13, class: low}]
    classes: {high: {}, default: {}, low: {}}
paths:
  p: {route: [A, B, C], END, diffserv: {kind: e-lsp, model: MODEL, map: {DF: 0, AF13: 3, AF11: 3}}}
trunks: {all: {path: p, flows: all}}
flows:
  gold: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: AF11}
  rest: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: DF}
run: {duration: 1 s}
"""
# Two labels; the TCs of the outer mean something else on the inner path, and are taken off at C.
STACKED = """\
trunkline: 1
nodes: [S, A, B, C, D]
defaults:
  link: {rate: 10 Mbit/s, delay: 1 ms, port: phb}
  udp: {arrivals: poisson, size: 500 B, stop: 900 ms}
links: {S-A: {rate: 100 Mbit/s}, A-B: {}, B-C: {}, C-D: {rate: 3 Mbit/s}}
ports:
  phb:
    scheduler: priority
    classify: [{dscp: EF, class: high}, {dscp: AF11, class: middle}, {dscp: AF13, class: low}]
    classes: {high: {}, middle: {}, default: {}, low: {}}
paths:
  outer:
    route: [A, B, C]
    php: false
    ttl: pipe
    diffserv: {model: pipe, map: {DF: 0, AF11: 1, EF: 5}}
  inner:
    route: [A, C, D]
    through: [outer]
    php: false
    ttl: pipe
    diffserv: {model: pipe, map: {DF: 0, AF11: 3, AF13: 1, EF: 6}}
trunks: {all: {path: inner, flows: all}}
flows:
  voice: {agent: udp, from: S, to: D, rate: 1 Mbit/s, dscp: EF}
  gold: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: AF11}
  rest: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: DF}
run: {duration: 1 s}
"""
AF11, AF13 = 10, 14


def network(model: str, end: str) -> str:
    return compile(load(SCENARIO.replace("MODEL", model).replace("END", end))).to_json()


@pytest.mark.parametrize(
    ("model", "end", "dscp"),
    [("uniform", "php: true", AF13), ("pipe", "php: false", AF11)],
)
def test_s2_6_what_is_below_gets_the_phb_or_stays(
    model: str, end: str, dscp: int, kernel: str, tmp_path: Path
) -> None:
    engine.run_in_guest(network(model, end), 1, tmp_path, runner=kernel)
    assert {each.tos >> 2 for each in read_arrivals(tmp_path, 0)} == {dscp}


@pytest.mark.guests
@pytest.mark.parametrize("end", ["php: true", "php: false", "explicit_null: true"])
@pytest.mark.parametrize("model", ["uniform", "pipe", "short-pipe"])
def test_s2_6_the_node_forwards_by_the_phb_of_its_model(
    model: str, end: str, tmp_path: Path
) -> None:
    if not examine_runner("uml").is_ready:
        pytest.skip("the runner uml is not ready")
    if model == "pipe" and end == "php: true":
        pytest.skip("a pipe needs its label to the end")
    engine.run_in_guest(network(model, end), 1, tmp_path, runner="uml")
    found = {each.tos >> 2 for each in read_arrivals(tmp_path, 0)}
    assert found == {AF13 if model == "uniform" else AF11}
    # Which class it was in at C shows in its delays and losses, packet by packet.
    verdict = verification.verify_kernel(network(model, end), [1], runner="uml")
    assert verdict.is_exact
    assert [row for row in verdict.rows if not row.agrees] == []


def test_s2_6_2_a_pipe_around_another_path_ends_by_its_own_map(kernel: str) -> None:
    if kernel != "uml":
        pytest.skip("packets are compared one by one where the processor takes no time")
    written = compile(load(STACKED)).to_json()
    verdict = verification.verify_kernel(written, [1], runner=kernel)
    assert verdict.is_exact
    assert [row for row in verdict.rows if not row.agrees] == []
