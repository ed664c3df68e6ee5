"""Migrations of scenarios: six paths against all orders, steps in packets, and what is refused."""

from __future__ import annotations

import itertools

import pytest

import trunkline as tl
from trunkline.planning import migrate, write_migration_steps
from trunkline.scenario import Scenario


def build(routes: dict[str, str], middles: int, *, rate: int = 6, extra: str = "") -> Scenario:
    """Paths from A to T over one node each: `routes` has it by the name of the path."""
    nodes = [f"M{number}" for number in range(middles)]
    lines = ["trunkline: 1", f"nodes: [A, T, {', '.join(nodes)}]"]
    lines += ["defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}", "links:"]
    lines += [f"  A-{node}: {{}}\n  {node}-T: {{}}" for node in nodes]
    lines += ["traffic: {data: {agent: udp, size: 500 B}}", "demands:"]
    lines += [f"  {p}: {{from: A, to: T, rate: {rate} Mbit/s, class: data}}" for p in routes]
    lines += ["paths:", *(f"  {p}: {{route: [A, {node}, T]}}" for p, node in routes.items())]
    lines += ["trunks:", *(f"  {p}: {{path: {p}, demands: {p}}}" for p in routes)]
    lines += ["run: {duration: 1200 ms, warm_up: 200 ms}", extra]
    return tl.load("\n".join(lines) + "\n")


BEFORE = {f"p{number}": f"M{number}" for number in range(6)}
SHIFTED = {f"p{number}": f"M{number + 1}" for number in range(6)}
TURNED = {f"p{number}": f"M{(number + 1) % 6}" for number in range(6)}


def list_good_orders(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, ...]]:
    """All orders in which no node ever carries two paths of 6 Mbit/s, by trying each of them."""
    good = []
    for order in itertools.permutations(before):
        place, fits = dict(before), True
        for path in order:
            fits = fits and after[path] not in {place[each] for each in place if each != path}
            place[path] = after[path]
        if fits:
            good.append(order)
    return good


def test_six_paths_move_in_the_one_good_order_of_720_and_no_step_loses_a_packet() -> None:
    (order,) = list_good_orders(BEFORE, SHIFTED)
    before, after = build(BEFORE, 7), build(SHIFTED, 7)
    migration = migrate(before, after)
    assert (migration.outcome, migration.detours, migration.is_fewest) == ("found", 0, True)
    assert tuple(step.path for step in migration.steps) == order
    assert max(step.utilisation for step in migration.steps) == pytest.approx(0.6)
    for step in write_migration_steps(before, after, migration):
        results = tl.run(tl.load(step.text))
        assert not len(results.drops), step.name
        moved = [row["path"] for row in results.lsps.rows() if row["moved"]]
        assert moved == [step.name.rpartition("-")[2]]


def test_six_paths_in_a_circle_have_no_order_and_one_free_node_needs_one_detour() -> None:
    assert not list_good_orders(BEFORE, TURNED)
    stuck = migrate(build(BEFORE, 6), build(TURNED, 6))
    assert (stuck.outcome, stuck.steps) == ("impossible", ())
    # Two of 6 on 10 Mbit/s: the last to move finds its place free.
    assert stuck.headroom is not None
    assert stuck.headroom.factor == pytest.approx(1.2)
    assert set(stuck.headroom.missing_bit_s.values()) == {2_000_000}
    before, after = build(BEFORE, 7), build(TURNED, 7)
    solved = migrate(before, after)
    assert (solved.outcome, solved.detours, solved.is_fewest) == ("found", 1, True)
    assert [step.action for step in solved.steps] == ["detour", *["move"] * 6]
    for step in write_migration_steps(before, after, solved):
        assert not len(tl.run(tl.load(step.text)).drops), step.name


def test_headroom_is_enough() -> None:
    before, after = build(BEFORE, 6), build(TURNED, 6)
    headroom = migrate(before, after).headroom
    assert headroom is not None
    more = {
        link: f"{10_000_000 + headroom.missing_bit_s.get(name, 0)} bit/s"
        for link in after.links
        for name in [link.replace("-", "->")]
    }
    upgraded = tl.load(
        after.text, overrides={f"links.{link}.rate": at for link, at in more.items()}
    )
    assert migrate(before, upgraded).outcome == "found"
    assert migrate(before, upgraded).detours == 0


def test_a_path_that_grows_shrinks_comes_or_goes_is_a_step() -> None:
    before = build({"stays": "M0", "goes": "M1", "grows": "M2"}, 4, rate=2)
    text = before.text.replace(
        "grows: {route: [A, M2, T]}", "grows: {route: [A, M3, T], bandwidth: 7 Mbit/s}"
    )
    text = text.replace(
        "goes: {route: [A, M1, T]}", "comes: {route: [A, M1, T], bandwidth: 9 Mbit/s}"
    )
    text = text.replace("  goes: {path: goes, demands: goes}\n", "")
    migration = migrate(before, after := tl.load(text))
    actions = {step.path: step.action for step in migration.steps}
    assert actions == {"goes": "tear", "comes": "set up", "grows": "move"}
    # 2 and 9 do not fit together on 10.
    assert [step.path for step in migration.steps if step.path != "grows"] == ["goes", "comes"]
    assert migration.unchanged == 1
    for step in write_migration_steps(before, after, migration):
        results = tl.run(tl.load(step.text))
        states = {row["path"]: row for row in results.lsps.rows()}
        done = [(row["path"], row["event"]) for row in results.signalling.rows()]
        if "tear" in step.name:
            assert done[-1] == ("goes", "torn")
        elif "set-up" in step.name:
            assert states["comes"]["up"] == 1
            assert "goes" not in states
        else:
            assert states["grows"]["moved"] == 2


def test_preemption_follows_the_priorities() -> None:
    weak = "{route: [A, %s, T], setup: 6, hold: 6}"
    before, after = build({"a": "M0", "b": "M1"}, 2), build({"a": "M1", "b": "M0"}, 2)
    pairs = [(before, "M1"), (after, "M0")]
    graded = [
        tl.load(
            each.text.replace(f"b: {{route: [A, {node}, T]}}", "b: " + weak % node)
            .replace("a: {route: [A, M0, T]", "a: {setup: 2, hold: 2, route: [A, M0, T]")
            .replace("a: {route: [A, M1, T]", "a: {setup: 2, hold: 2, route: [A, M1, T]")
        )
        for each, node in pairs
    ]
    assert migrate(before, after, preemption=True).outcome == "impossible"
    assert migrate(*graded).outcome == "impossible"
    found = migrate(*graded, preemption=True)
    assert [(step.path, step.action) for step in found.steps] == [
        ("b", "preempt"),
        ("a", "move"),
        ("b", "set up"),
    ]
    assert found.preemptions == 1
    for step in write_migration_steps(*graded, found):
        tl.run(tl.load(step.text))


@pytest.mark.parametrize(
    ("after", "bound", "message"),
    [
        (build({"p0": "M0"}, 1), 1.0, "the second scenario has no node M1"),
        (build({"p0": "M0", "p1": "M0"}, 2), 1.0, "after the migration A->M0 holds 12 Mbit/s"),
        (build({"p0": "M1", "p1": "M0"}, 2), 0.5, "before the migration A->M0 holds 6 Mbit/s"),
        (build({"p0": "M1", "p1": "M0"}, 2), 0.0, "the bound is above 0"),
    ],
)
def test_what_no_order_can_solve_is_refused(after: Scenario, bound: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        migrate(build({"p0": "M0", "p1": "M1"}, 2), after, bound=bound)


def test_a_flow_that_changes_its_path_is_refused() -> None:
    before = build({"p0": "M0", "p1": "M1"}, 2)
    text = before.text.replace("p0: {path: p0, demands: p0}", "p0: {path: p0, demands: p1}")
    text = text.replace("p1: {path: p1, demands: p1}", "p1: {path: p1, demands: p0}")
    with pytest.raises(ValueError, match="p0 is on path p0 before and on path p1 after"):
        migrate(before, tl.load(text))
