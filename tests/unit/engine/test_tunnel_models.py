"""The example of the tunnelling models: what a customer's classes are behind a provider."""

from importlib.resources import files

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile
from trunkline.scenario import load

FILE = files("trunkline") / "examples" / "tunnel-models.yaml"


@pytest.mark.parametrize(
    ("model", "dscp", "precedence"),
    [("uniform", "AF13", 1), ("pipe", "AF11", 1), ("short-pipe", "AF11", 0)],
)
def test_rfc3270_s2_6_dscp_and_queueing_of_the_gold_flow_behind_the_tunnel(
    model: str, dscp: str, precedence: int
) -> None:
    scenario = load(FILE.read_text("utf-8"), overrides={"model": model})
    (run,) = simulate(compile(scenario), seeds=[1])
    seen = {row["flow"]: row for row in run.accounts.rows()}
    assert (seen["gold"]["dscp"], seen["gold"]["precedence"]) == (dscp, precedence)
    assert (seen["excess"]["dscp"], seen["excess"]["precedence"]) == ("AF13", 1)
    lost = {row["flow"]: int(row["packets_dropped"] or 0) for row in run.flows.rows()}
    # 2.4 of 2 Mbit/s: about a sixth is lost, of both flows alike or of the excess alone.
    total = sum(int(row["packets_sent"] or 0) for row in run.flows.rows())
    assert sum(lost.values()) / total == pytest.approx(1 / 6, abs=0.02)
    assert (lost["gold"] == 0) == (model == "short-pipe")
    value = dict(run.paths.where(path="provider"))
    assert value["packets_dropped"] == sum(lost.values())


# The outer label's TC 1 stands for AF11, by the map of the inner path for AF13, and 5 for EF in the
# one and for nothing in the other.
STACKED = """\
trunkline: 1
nodes: [S, A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, port: phb}}
links: {S-A: {}, A-B: {}, B-C: {}, C-D: {}}
ports:
  phb:
    scheduler: priority
    classify: [{dscp: EF, class: ef}, {dscp: AF11, class: gold}, {dscp: AF13, class: low}]
    classes: {ef: {}, gold: {}, default: {}, low: {}}
paths:
  outer: {route: [A, B, C], php: false, diffserv: {model: OUTER, map: {DF: 0, AF11: 1, EF: 5}}}
  inner:
    route: [A, C, D]
    through: [outer]
    php: false
    diffserv: {model: pipe, map: {DF: 0, AF11: 3, AF13: 1, EF: 6}}
trunks: {all: {path: inner, flows: all}}
flows:
  voice: {agent: udp, from: S, to: D, rate: 1 Mbit/s, dscp: EF}
  gold: {agent: udp, from: S, to: D, rate: 1 Mbit/s, dscp: AF11}
run: {duration: 1 s}
"""


@pytest.mark.parametrize("outer", ["pipe", "short-pipe"])
def test_rfc3270_s2_6_2_behind_a_tunnel_in_a_tunnel_the_phb_is_not_read_by_the_other_map(
    outer: str,
) -> None:
    # Pipe: C forwards by what TC 1 and 5 mean on the outer path; short-pipe: by what 3 and 6 mean
    # on the inner one. Both are AF11 and EF.
    (run,) = simulate(compile(load(STACKED.replace("OUTER", outer))), seeds=[1])
    used = {
        row["class"] for row in run.ports.rows() if row["link"] == "C->D" and row["packets_offered"]
    }
    assert used == {"ef", "gold"}
