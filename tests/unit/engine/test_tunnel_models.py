"""The example of the tunnelling models: what a customer's classes are behind a provider."""

from importlib.resources import files

import pytest

from trunkline.engine.sim import simulate
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
    its = dict(run.paths.where(path="provider"))
    assert its["packets_dropped"] == sum(lost.values())
