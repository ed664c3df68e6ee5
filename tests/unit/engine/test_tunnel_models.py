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


# B takes the label of the working path off (PHP), and with it what TC 3 stands for: AF13. Where B-C
# is down, it then puts the label of the bypass on, whose map knows no class but two.
PHP_BYPASS = """\
trunkline: 1
nodes: [S, A, B, C, D, E]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms, port: phb}}
links: {S-A: {}, A-B: {}, B-C: {}, B-D: {}, D-C: {}, C-E: {forward: {port: phb, account: true}}}
ports:
  phb:
    scheduler: priority
    classify: [{dscp: EF, class: ef}, {dscp: AF11, class: gold}, {dscp: AF13, class: low}]
    classes: {ef: {}, gold: {}, default: {}, low: {}}
paths:
  working: {route: [A, B, C], diffserv: {model: MODEL, map: {DF: 0, AF13: 3, AF11: 3, EF: 5}}}
  around:
    {route: [B, D, C], php: PHP, account: true, diffserv: {model: AROUND, map: {DF: 0, EF: 6}}}
trunks: {all: {path: working, flows: all}}
flows:
  voice: {agent: udp, from: S, to: E, rate: 1 Mbit/s, dscp: EF}
  gold: {agent: udp, from: S, to: E, rate: 1 Mbit/s, dscp: AF11}
  low: {agent: udp, from: S, to: E, rate: 1 Mbit/s, dscp: AF13}
protections: {p: {path: working, kind: facility-bypass, backup: around}}
FAILURES
run: {duration: 1 s}
"""


@pytest.mark.parametrize(("around", "around_php"), [("short-pipe", "true"), ("pipe", "false")])
@pytest.mark.parametrize(("model", "gold"), [("uniform", "AF13"), ("short-pipe", "AF11")])
def test_rfc4090_s3_2_and_rfc3270_s2_6_a_bypass_of_the_hop_that_pops_reveals_what_the_pop_does(
    model: str, gold: str, around: str, around_php: str
) -> None:
    text = PHP_BYPASS.replace("MODEL", model).replace("AROUND", around).replace("PHP", around_php)
    unharmed, failed = (
        simulate(compile(load(text.replace("FAILURES", failures))), seeds=[1])[0]
        for failures in ("", "failures: {cut: {link: B-C, at: 100 ms}}")
    )
    for run in (unharmed, failed):
        seen = {(row["flow"], row["dscp"]) for row in run.accounts.rows() if row["link"] == "C->E"}
        assert seen == {("voice", "EF"), ("gold", gold), ("low", "AF13")}
    # Nine packets in ten of the failed run came over the bypass.
    carried = sum(row["packets_sent"] for row in failed.ports.rows() if row["link"] == "D->C")
    assert carried > 0.8 * unharmed.summary["packets_delivered"]


@pytest.mark.parametrize(
    ("route", "cut", "marks"),
    [
        # At the path's first node its label is pushed by its own map, below that of the bypass.
        ("[B, C, E]", "B-C", [0, 2]),
        # At others the label is swapped and keeps its TC, which the bypass reads by the path's map.
        ("[A, B, C, E]", "B-C", [None, 2]),
    ],
)
def test_rfc3270_s2_6_labels_of_a_path_and_its_bypass_have_their_own_maps(
    route: str, cut: str, marks: list[int | None]
) -> None:
    text = PHP_BYPASS.replace("[A, B, C]", route).replace("MODEL", "short-pipe")
    text = text.replace("AROUND", "short-pipe").replace("PHP", "true").replace("FAILURES", "")
    network = compile(load(text)).data
    (protection,) = network["recovery"]["protections"]
    entry = network["nhlfe"][protection["switches"][0]["alternative"]]
    assert entry["push_diffserv"] == marks
    # Voice has TC 5 in the path and 6 in the bypass.
    path_map, bypass_map = network["diffserv"][0], network["diffserv"][marks[1] or 0]
    assert path_map["tc_of_dscp"][46] == 5
    assert bypass_map["tc_of_tc"][5] == 6
