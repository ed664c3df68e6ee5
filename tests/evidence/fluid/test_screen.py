"""The screen of failures against packets: every single link failure of two published networks."""

import pytest
from scipy.stats import spearmanr

import trunkline as tl
from trunkline.importers.network import ImportRules, read_network
from trunkline.planning import survive

# Network, part of the link rate that the busiest has without a failure, Spearman's rank
# correlation of use after each failure, screen against packets.
NETWORKS = [("polska", 0.8, 0.99), ("nobel-germany", 0.95, 0.95)]
BROKEN = 0.01
"""Loss that breaks an agreement."""
SAFE = 0.95
"""Use below which the screen says that nothing is lost: queues of 100 packets take the rest."""


def scenario_of(name, busiest, tmp_path):
    """Poisson arrivals by IP routing that follows failures, at a hundredth of a gigabit."""
    pytest.importorskip("topohub")
    made = read_network(f"topohub:sndlib/{name}", ImportRules(10**7, 10**4), matrix_file="m.csv")
    head, _, rest = made.text.partition("\ntraffic:")
    demands = rest[rest.index("\ndemands:") : rest.index("\ntrunks:")]
    (tmp_path / "m.csv").write_text(made.matrix, "utf-8")
    traffic = "\ntraffic: {data: {agent: udp, arrivals: poisson, size: 500 B}}"
    end = "\nrerouting: {}\nrun: {duration: 10 s, warm_up: 2 s}\n"
    file = tmp_path / "n.yaml"
    file.write_text(head + traffic + demands + end, "utf-8")
    mlu = survive(tl.load(file), kinds=("link",)).mlu
    text = file.read_text("utf-8").replace(
        "rate: 10 Mbit/s", f"rate: {1e7 * mlu / busiest:.0f} bit/s"
    )
    file.write_text(text, "utf-8")
    return file, text


@pytest.mark.parametrize(("name", "busiest", "least"), NETWORKS)
def test_ranking_is_that_of_packets_and_no_broken_agreement_is_missed(
    name, busiest, least, tmp_path
):
    file, text = scenario_of(name, busiest, tmp_path)
    found = survive(tl.load(file), kinds=("link",))
    assert found.mlu == pytest.approx(busiest, rel=1e-3)
    ours, theirs, broken = [], [], []
    for each in found.failures:
        file.write_text(
            text + f"failures: {{cut: {{link: {each.failure}, at: 500 ms}}}}\n", "utf-8"
        )
        run = tl.run(tl.load(file))
        loss = run.aggregates["loss_ratio"][0]
        offered = zip(run.ports["bytes_offered"], run.ports["link"], strict=True)
        rates = {arc.name: arc.options.rate for arc in tl.load(file).resolve().arcs}
        theirs.append(max(octets * 8 / 8 / rates[link] for octets, link in offered))
        ours.append(each.mlu)
        if loss > BROKEN:
            broken.append((each.failure, loss, each.mlu))
    assert broken
    assert all(mlu >= SAFE for _, _, mlu in broken), broken
    assert spearmanr(ours, theirs).statistic >= least
