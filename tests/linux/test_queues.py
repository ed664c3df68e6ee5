"""Queues by time and by flow: the kernel's own beside the simulator's, on IP and under a label.

Sources: RFC 8289 (CoDel), RFC 8290 (FQ-CoDel), RFC 8033 (PIE); Linux 6.1.
"""

from pathlib import Path

import kernel_queues
import numpy as np
import pytest
from kernel_queues import CODEL_AQM, LABELLED_PATH_TEXT, MEASURES, PORTS, list_recorded

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.judge.engine_run import EngineRun, read_kernel_run, trace_simulator
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.compiled_plan import compile_plan as plan
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load

BY_FLOW = ("fq-codel", "fq-pie", "sfq", "fq", "cake")


@pytest.mark.guests
@pytest.mark.parametrize(
    "row",
    [row for row in kernel_queues.read_verdicts() if int(row["seeds"]) <= 24],
    ids=lambda row: "-".join(row.values()),
)
def test_verify_says_what_is_recorded(row: dict[str, str], request: pytest.FixtureRequest) -> None:
    """`trunkline verify` again, with as many seeds."""
    request.getfixturevalue("uml" if row["runner"] == "uml" else "quick")
    result = [row[name] for name in ("runner", "scenario", "queue", "under", "seeds")]
    assert {
        name: str(value) for name, value in kernel_queues.judge_with_verify(*result).items()
    } == row


# In `./dev test` too: an overload without chance is the kernel's, packet by packet.
@pytest.mark.parametrize(
    "kind",
    [
        "codel",
        "fq-codel",
        *(pytest.param(kind, marks=pytest.mark.guests) for kind in ("sfq", "hfsc")),
    ],
)
def test_datagrams_through_a_discipline_agree_packet_by_packet(kind: str, uml: str) -> None:
    result = kernel_queues.judge_with_verify(uml, "overload", kind, "label", "1")
    assert (result["outcome"], result["one_by_one"]) == ("agrees", "true")


def written(kind: str, *, path: bool = False, labelled: str = "label", seconds: int = 30) -> str:
    text = kernel_queues.make_scenario_text(kind, label=path, seconds=seconds)
    if kind in BY_FLOW:
        port = PORTS[kind]
        flows = (
            f"flows: {{kind: {kind}, labelled: {labelled}{', hosts: flows' * (kind == 'cake')}}}"
        )
        asked = port.replace(f"flows: {kind}", flows)
        if kind == "cake":
            asked = port.replace("}", f", classes: {{default: {{queue: {{{flows}}}}}}}}}")
        text = text.replace(port, asked)
    return compile(load(text)).to_json()


def both(network: str, runner: str, seeds: int) -> tuple[list[Results], list[Results]]:
    listed = list(range(1, seeds + 1))
    result = [kernel_queues.run_kernel(network, runner, seed) for seed in listed]
    return simulate(network, seeds=listed), result


@pytest.mark.guests
@pytest.mark.parametrize(("runner", "kind", "under"), list_recorded())
def test_the_kernel_does_what_is_recorded(
    runner: str, kind: str, under: str, request: pytest.FixtureRequest
) -> None:
    """Its first two seeds again, bit by bit; the record is compared in `tests/evidence`."""
    request.getfixturevalue("uml" if runner == "uml" else "quick")
    network = kernel_queues.compile_network(kind, label=under == "label")
    for row in kernel_queues.read_recorded_rows(runner, kind, under)[:2]:
        run = kernel_queues.run_kernel(network, runner, int(row["seed"]))
        assert {name: f"{of(run):.6g}" for name, of in MEASURES.items()} == {
            name: row[name] for name in MEASURES
        }


# One label stack and no hash of the sender's: all is one flow to the kernel, and to the simulator.
# Voice then waits behind the downloads; without the label its queue is its own and all but empty.
@pytest.mark.guests
def test_rfc8290_a_label_hides_the_flows_from_the_queue(uml: str) -> None:
    for path in (False, True):
        network = written("fq-codel", path=path, seconds=10)
        for (results,) in both(network, uml, 1):
            voice = results.flows.where(flow="voice")
            # Propagation is 21 ms. One packet before it takes 1.2 ms; CoDel's target is 5 ms.
            assert (voice["delay_mean_s"] > 0.026) is path
            assert (voice["packets_dropped"] > 0) is path


def refusal(network: str, *, keeps_hash: bool) -> str:
    with pytest.raises(UnsupportedError) as raised:
        plan(network, target=CommandTarget(keeps_hash=keeps_hash))
    return str(raised.value)


def test_what_a_kernel_would_tell_apart_otherwise_is_refused() -> None:
    """A kernel that keeps the hash of the sender; one that does not; sfq has its own hash."""
    for kind in set(BY_FLOW) - {"fq"}:
        for labelled, keeps_hash, found in (
            ("label", True, "the hash of the sender's socket stays"),
            ("5-tuple", False, "sees no flow behind a label; nearest: labelled: label"),
        ):
            network = written(kind, path=True, labelled=labelled)
            if kind == "sfq" and keeps_hash:
                plan(network, target=CommandTarget(keeps_hash=True))
                continue
            assert found in refusal(network, keeps_hash=keeps_hash), kind
            if kind != "sfq":
                plan(network, target=CommandTarget(keeps_hash=not keeps_hash))
        for keeps_hash in (False, True):
            plan(written(kind), target=CommandTarget(keeps_hash=keeps_hash))


def test_fq_is_refused_for_labelled_packets_which_it_would_send_seconds_late() -> None:
    """`ip_forward` clears a packet's time stamp before `fq` reads it, `mpls_forward` does not."""
    assert "which MPLS does not clear" in refusal(written("fq", path=True), keeps_hash=False)
    plan(written("fq"), target=CommandTarget(keeps_hash=False))


@pytest.mark.parametrize("kind", ["codel", "fq-codel", "hfsc", "tbf", "cake"])
def test_a_kernel_without_the_module_is_refused_by_its_name(kind: str) -> None:
    module = f"sch_{kind.replace('-', '_')}"
    network = compile(load(kernel_queues.make_scenario_text(kind))).to_json()
    with pytest.raises(UnsupportedError) as raised:
        plan(network, target=CommandTarget(missing_modules=frozenset({module})))
    assert f"kernel has no module {module}; nearest: --runner uml" in str(raised.value)
    plan(network, target=CommandTarget(missing_modules=frozenset({"sch_sfq"})))


def test_what_cake_cannot_see_behind_a_label_is_refused() -> None:
    text = kernel_queues.make_scenario_text("cake", label=True).replace(
        PORTS["cake"],
        "{scheduler: cake, bandwidth: 9.5 Mbit/s, "
        "classes: {default: {queue: {flows: {kind: cake, labelled: 5-tuple}}}}}",
    )
    network = compile(load(text)).to_json()
    assert "sees no host behind a label; nearest: hosts: flows" in refusal(network, keeps_hash=True)


def test_two_label_stacks_are_one_flow_to_the_kernel_and_refused() -> None:
    paths = LABELLED_PATH_TEXT.replace("}}\ntr", "}, q: {route: [S, A, B, D]}}\ntr").replace(
        "flows: all}", "flows: [voice]}, rest: {path: q, flows: [load]}"
    )
    text = kernel_queues.make_scenario_text("fq-codel").replace("\nflows:", f"\n{paths}", 1)
    network = compile(load(text)).to_json()
    assert "takes all labelled packets for one flow" in refusal(network, keeps_hash=False)


def test_pie_is_updated_in_whole_ticks_of_the_kernels_clock() -> None:
    """At 250 Hz a tick is 4 ms: 15 ms are 4, 16 ms; the timer is a tick late, so it gets 3."""
    for tupdate, found in (("15 ms", True), ("16 ms", False)):
        text = kernel_queues.make_scenario_text("pie").replace(
            "tupdate: 16 ms", f"tupdate: {tupdate}"
        )
        made = plan(compile(load(text)).to_json())
        assert any("tupdate 12000us" in line for node in made.plan.nodes for line in node.tc)
        notes = made.notes
        assert any("tupdate: 16 ms is the same" in note for note in notes) is found


# RFC 8289 section 4.4 by the arithmetic of Linux: an overload by the clock, nothing left to chance.
OVERLOAD = """\
trunkline: 1
nodes: [S, A, B, D]
defaults:
  link: {rate: 1 Gbit/s, mtu: 1504 B, header: 14 B}
  udp: {size: 1000 B, arrivals: poisson}
links: {S-A: {delay: 1 ms}, A-B: {rate: 10 Mbit/s, delay: 20 ms, forward: {port: line}}, B-D: {}}
ports: {line: {queue: QUEUE}}
flows:
  steady: {agent: udp, from: S, to: D, rate: 8 Mbit/s, stop: 6.5 s}
  burst: {agent: udp, from: S, to: D, rate: 5 Mbit/s, start: 500.1 ms, stop: 3 s}
  again: {agent: udp, from: S, to: D, rate: 4.1 Mbit/s, start: 4300.3 ms, stop: 6 s}
run: {duration: 7 s}
"""


def lost(observed: EngineRun) -> dict[str, list[int]]:
    """Numbers of the datagrams of each flow that did not arrive."""
    return {
        name: np.setdiff1d(np.arange(len(result.sent_ns)), result.number).tolist()
        for name, result in observed.flows.items()
    }


@pytest.mark.parametrize("queue", ["limit: 1000 packets", "flows: fq-codel"])
def test_rfc8289_each_drop_of_a_scripted_overload_is_the_kernels(
    queue: str, uml: str, tmp_path: Path
) -> None:
    """Of a thousand drops one may be of the next packet, where two came within a microsecond."""
    network = compile(load(OVERLOAD.replace("QUEUE", f"{{{queue}, aqm: {CODEL_AQM}}}")))
    ours = lost(trace_simulator(network.data, 1))
    result = lost(
        read_kernel_run(engine.run_in_guest(network.to_json(), 1, tmp_path, runner=uml), tmp_path)
    )
    assert sum(map(len, ours.values())) > 900
    assert list(map(len, ours.values())) == list(map(len, result.values()))
    assert sum(len(set(ours[name]) - set(result[name])) for name in ours) <= 1


SPARSE = """\
trunkline: 1
nodes: [S, R, D]
defaults: {link: {mtu: 1504 B}, tcp: {mss: 1460 B}}
links:
  S-R: {rate: 100 Mbit/s, delay: 1 ms}
  R-D: {rate: 10 Mbit/s, delay: 4 ms, forward: {port: fair}}
ports: {fair: {queue: {flows: {kind: fq-codel, quantum: QUANTUM}, aqm: CODEL}}}
flows:
  sparse: {agent: udp, from: S, to: D, rate: 64 kbit/s, size: 160 B}
  bulk: {agent: tcp, from: S, to: D, preset: linux, replicate: 2}
run: {duration: 20 s}
"""


# A packet of 1500 B takes 1.2 ms. Of a quantum of 1514 B the first leaves 14 B to a flow that comes
# back as a new one: the sparse one waits for the packet in service and two more; of 1500 none.
@pytest.mark.slow
@pytest.mark.parametrize(("quantum", "at_least", "below"), [(1514, 2.4, 3.7), (1500, 1.0, 1.3)])
def test_rfc8290_s4_2_a_sparse_flow_waits_behind_bulk_flows_that_came_back_as_new(
    quantum: int, at_least: float, below: float, quick: str, tmp_path: Path
) -> None:
    text = SPARSE.replace("CODEL", CODEL_AQM).replace("QUANTUM", f"{quantum} B")
    network = compile(load(text))
    kernel = read_kernel_run(
        engine.run_in_guest(network.to_json(), 1, tmp_path, runner=quick), tmp_path
    )
    # The guest's timers may come late by some 0.1 ms; a packet more or less takes 1.2.
    for observed, margin_ms in ((trace_simulator(network.data, 1), 0.0), (kernel, 0.5)):
        delays_ms = observed.flows["sparse"].delay_ns / 1e6
        assert at_least - margin_ms <= delays_ms.max() - 5.141 < below + margin_ms


LINES = {
    "codel": f"{{queue: {{limit: 500 packets, aqm: {CODEL_AQM}}}}}",
    "sfq": "{queue: {flows: sfq, limit: 30 packets}}",
    "tbf": "{scheduler: tbf, classes: {default: {rate: 800 kbit/s, burst: 5 kB, "
    "queue: {limit: 20 packets}}}}",
}


def lines() -> str:
    """A line of 1 Mbit/s for each discipline, on IP (`codel`) and under a label (`codel-l`)."""
    names = [f"{kind}{under}" for kind in LINES for under in ("", "-l")]
    links = [
        f"  A-{name}: {{rate: 1 Mbit/s, delay: 5 ms, forward: {{port: {name.removesuffix('-l')}}}}}"
        for name in names
    ]
    ports = [f"  {kind}: {port}" for kind, port in LINES.items()]
    labelled = [name for name in names if name.endswith("-l")]
    paths = [f"  {name}: {{route: [S, A, {name}], php: false}}" for name in labelled]
    trunks = [f"  {name}: {{path: {name}, flows: [{name}]}}" for name in labelled]
    flows = [f"  {name}: {{to: {name}}}" for name in names]
    return "\n".join(
        [
            "trunkline: 1",
            f"nodes: [S, A, {', '.join(names)}]",
            "defaults:",
            "  link: {rate: 100 Mbit/s, mtu: 1504 B, header: 14 B}",
            "  udp: {size: 1000 B, rate: 1.3 Mbit/s, arrivals: poisson, stop: 4 s}",
            *("links:", "  S-A: {}", *links, "ports:", *ports),
            *("paths:", *paths, "trunks:", *trunks),
            "flows:",
            *(flow.replace("{to", "{agent: udp, from: S, to") for flow in flows),
            "run: {duration: 5 s}",
        ]
    )


@pytest.mark.guests
def test_an_emulated_machine_has_codel_sfq_and_tbf_on_ip_and_under_labels(
    emulated: str, tmp_path: Path
) -> None:
    """All of them in one guest: as many packets lost, and the same mean delay within 0.5 %."""
    network = compile(load(lines()))
    result = read_kernel_run(
        engine.run_in_guest(network.to_json(), 1, tmp_path, runner=emulated), tmp_path
    )
    ours = trace_simulator(network.data, 1)
    for name, flow in result.flows.items():
        sent = len(flow.sent_ns)
        drops = [sent - len(each.flows[name].number) for each in (ours, result)]
        delays = [each.flows[name].delay_ns.mean() for each in (ours, result)]
        assert drops[0] > 100, name
        assert drops[1] == pytest.approx(drops[0], abs=2), name
        assert delays[1] == pytest.approx(delays[0], rel=0.005), name
