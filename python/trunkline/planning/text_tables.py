"""Tables of plans, protections and failures as text for terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.results.number_format import format_percent, format_quantity
from trunkline.scenario.units import format_time
from trunkline.stats.service_levels import format_bound_value

if TYPE_CHECKING:
    from trunkline.planning.capacity_upgrade import CapacityUpgrade
    from trunkline.planning.failure_delays import FailureDelays
    from trunkline.planning.failure_screening import Survival
    from trunkline.planning.growth import FirstBreak, Growth, UpgradeList
    from trunkline.planning.maintenance import PlannedOutage
    from trunkline.planning.migration import Migration
    from trunkline.planning.packet_trial import ScreenDeviation, SlaOutcome
    from trunkline.planning.placement import RoutingPlan
    from trunkline.planning.protection import BackupPlan
    from trunkline.planning.robust_placement import RobustPlan
    from trunkline.planning.sla_growth import SlaBreak
    from trunkline.planning.sla_judgement import SlaJudgement


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text."""

    title: str
    heads: list[str]  # The head of each column.
    rows: list[list[str]]  # The most important first.
    name_columns: int = 1  # Number of columns with names; the others hold numbers.
    is_ranked: bool = True  # Whether a terminal or page may show only the first rows.


def format_rates(*values: int | float) -> list[str]:
    """Format the rates for cells."""
    return [format_quantity(value, "bit/s") for value in values]


def _format_stretch(seconds: float) -> str:
    return format_time(round(seconds * 1e9))


def _format_optional_percent(value: float | None) -> str:
    return "–" if value is None else format_percent(value)


def tabulate_plan(plan: RoutingPlan) -> list[TextTable]:
    """Methods with their gaps, links by utilisation, and paths that were refused or displaced."""
    has_costs = any(method.cost_gap is not None for method in plan.methods)
    method_rows = []
    for each in plan.methods:
        cells = [each.method, *map(_format_optional_percent, (each.mlu, each.bound, each.gap))]
        if has_costs:
            cells += [
                "–" if each.cost is None else f"{each.cost:.4g}",
                _format_optional_percent(each.cost_gap),
            ]
        method_rows.append(cells)
    has_reservations = any(link.reserved_bit_s for link in plan.links)
    link_rows = [
        [
            link.link,
            *format_rates(
                link.capacity_bit_s, link.load_bit_s, *[link.reserved_bit_s] * has_reservations
            ),
            format_percent(link.utilisation),
        ]
        for link in sorted(plan.links, key=lambda each: -each.utilisation)
    ]
    refused_rows = [
        [each.path, each.why, *format_rates(each.bandwidth_bit_s)]
        for each in plan.paths
        if not each.placed
    ]
    displaced_rows = [
        [each.path, ", ".join(each.displaced_by)] for each in plan.paths if each.displaced_by
    ]
    method_heads = ["method", "utilisation", "bound", "gap"] + ["cost", "gap of cost"] * has_costs
    link_heads = ["link", "capacity", "load", *["reserved"] * has_reservations, "utilisation"]
    text_tables = [
        TextTable("Maximum link utilisation", method_heads, method_rows),
        TextTable("Links by utilisation", link_heads, link_rows),
        TextTable("Not placed", ["path", "why", "bandwidth"], refused_rows, 2),
        TextTable("Displaced", ["path", "by"], displaced_rows, 2),
    ]
    return [each for at, each in enumerate(text_tables) if at < 2 or each.rows]


def tabulate_robust_plan(plan: RobustPlan) -> list[TextTable]:
    """Tabulate the worst state of each method, all states, and links by their largest load."""
    method_table, link_table, *_ = tabulate_plan(plan)
    has_hours = any(each.hour for each in plan.states)
    state_rows = [
        [
            *[each.hour] * has_hours,
            *(each.failure, each.kind, format_percent(each.mlu), each.worst_link),
        ]
        for each in plan.states
    ]
    heads = [*["hour"] * has_hours, "failure", "kind", "utilisation", "link"]
    return [
        replace(method_table, title="Maximum link utilisation in the worst state"),
        TextTable(f"States, the worst of {len(state_rows)}", heads, state_rows, len(heads) - 2),
        replace(link_table, title="Links by the largest utilisation in any state"),
    ]


def tabulate_backups(plan: BackupPlan) -> list[TextTable]:
    """Tabulate backups, the links whose bandwidth they take, and gaps of protection."""
    backup_rows = [
        [
            *(each.backup, each.around, " ".join(each.route), str(len(each.paths))),
            *format_rates(each.bandwidth_bit_s),
            _format_stretch(each.stretch_s),
        ]
        for each in plan.backups
    ]
    link_rows = [
        [
            link.link,
            *format_rates(
                link.capacity_bit_s, link.load_bit_s, link.backup_bit_s, link.unshared_bit_s
            ),
            format_percent(link.utilisation),
        ]
        for link in sorted(plan.links, key=lambda each: -each.utilisation)
    ]
    unprotected_rows = [
        [gap.path, gap.around, gap.why, "protected" if gap.by_link else "unprotected"]
        for gap in plan.unprotected
    ]
    backup_heads = ["backup", "around", "route", "paths", "bandwidth", "longer by"]
    link_heads = ["link", "capacity", "load", "backups", "if not shared", "worst"]
    text_tables = [
        TextTable("Backups", backup_heads, backup_rows, 3),
        TextTable("Links at the worst single failure", link_heads, link_rows),
    ]
    if unprotected_rows:
        text_tables.append(
            TextTable("No such backup", ["path", "around", "why", "its link"], unprotected_rows, 4)
        )
    return text_tables


def tabulate_failures(survival: Survival) -> list[TextTable]:
    """Tabulate the effect of each failure, the cut-off nodes, and links too small for a failure."""
    rows = [
        [
            *(each.failure, each.kind),
            *format_rates(each.lost_bit_s, each.lost_bit_s - each.unavoidable_bit_s),
            *(format_percent(each.mlu), each.worst_link, str(each.rerouted), str(each.unprotected)),
            _format_stretch(each.stretch_s),
        ]
        for each in survival.failures
    ]
    disconnect_rows = [
        [each.failure, each.kind, ", ".join(each.disconnects)]
        for each in survival.failures
        if each.disconnects
    ]
    upgrade_rows = [
        [
            required.link,
            *format_rates(required.capacity_bit_s, required.needed_bit_s),
            required.failure or "none",
        ]
        for required in survival.undersized_links
    ]
    heads = ["failure", "kind", "lost", "avoidable", "utilisation", "link"]
    heads += ["moved", "down", "longer"]
    text_tables = [TextTable(f"Failures, the worst of {len(rows)}", heads, rows, 2)]
    if disconnect_rows:
        text_tables.append(
            TextTable(
                "Failures that disconnect", ["failure", "kind", "cut off"], disconnect_rows, 3
            )
        )
    if upgrade_rows:
        text_tables.append(
            TextTable("Links too small", ["link", "capacity", "needed", "after"], upgrade_rows)
        )
    return text_tables


OUTCOME_ORDER = ("refuted", "not judged", "undecided", "held")
"""Outcomes, the one first that a reader must see first."""
OUTCOME_WORDS = {"refuted": "BROKEN"}


def tabulate_outages(outages: Sequence[PlannedOutage]) -> list[TextTable]:
    """Tabulate planned outages: the effect of each alone, and the worst failure during it."""
    rows = []
    for outage in outages:
        (alone,) = [each for each in outage.survival.failures if each.failure == outage.link]
        worst = outage.survival.failures[0]
        rows.append(
            [
                outage.link,
                format_percent(alone.mlu),
                *format_rates(alone.lost_bit_s),
                ", ".join(outage.cut_off) or "–",
                "none" if worst is alone else worst.failure.removesuffix(f" + {outage.link}"),
                format_percent(worst.mlu),
                *format_rates(worst.lost_bit_s, worst.lost_bit_s - worst.unavoidable_bit_s),
            ]
        )
    heads = ["drained", "utilisation", "lost", "cuts off", "worst during it"]
    heads += ["utilisation", "lost", "avoidable"]
    unplaced = [[outage.link, ", ".join(outage.unplaced)] for outage in outages if outage.unplaced]
    tables = [TextTable(f"Planned outages, the worst of {len(rows)}", heads, rows)]
    if unplaced:
        tables.append(TextTable("Paths without a route", ["drained", "paths"], unplaced, 2))
    return tables


def describe_outcome(outcome: SlaOutcome) -> str:
    """Describe the outcome as people read it, with what decided."""
    word = OUTCOME_WORDS.get(outcome.outcome, outcome.outcome)
    return word if outcome.outcome == "not judged" else f"{word} ({outcome.by})"


def tabulate_failure_delays(found: FailureDelays) -> list[TextTable]:
    """Tabulate every class without a failure, and after its worst failures."""
    from trunkline.planning.failure_delays import NO_FAILURE

    by_class: dict[str, list[list[str]]] = {each.dscp: [] for each in found.classes}
    ranked = sorted(found.classes, key=lambda each: (-each.loss, -(each.worst_p99_s or 0.0)))
    for each in sorted(ranked, key=lambda each: each.failure != NO_FAILURE):
        by_class[each.dscp].append(
            [
                each.failure,
                format_bound_value(each.delay_p99_s, "s"),
                format_bound_value(each.worst_p99_s, "s"),
                each.worst_flow or "–",
                format_percent(each.loss),
                str(each.cut_flows),
            ]
        )
    heads = ["failure", "p99 of class", "worst p99", "of flow", "loss", "cut flows"]
    return [
        TextTable(f"{name} after each of {found.failures} failures, the worst first", heads, rows)
        for name, rows in by_class.items()
    ]


def tabulate_delay_judgements(found: FailureDelays) -> list[TextTable]:
    """Tabulate every bound after every failure: the broken ones first."""
    order = {"broken": 0, "undecided": 1, "not judged": 2, "held": 3}
    rows = [
        [
            *(each.sla, each.failure, each.row),
            f"{each.measure.replace('_', ' ')} at most {format_bound_value(each.bound, each.unit)}",
            format_bound_value(each.value, each.unit),
            format_bound_value(each.error, each.unit),
            each.outcome,
        ]
        for each in sorted(
            found.judgements, key=lambda each: (order[each.outcome], -(each.value or math.inf))
        )
    ]
    heads = ["SLA", "failure", "for", "promise", "value", "±", "is"]
    return [TextTable(f"Service levels and failures, the worst of {len(rows)}", heads, rows, 3)]


def tabulate_slas(slas: Sequence[SlaOutcome]) -> list[TextTable]:
    """Tabulate every bound over all failures, and its pairs with failures: the worst first."""
    from trunkline.planning.sla_judgement import group_by_bound

    has_links = any(each.by == "links" for each in slas)
    sources = ["packets", "screen", *(["links"] if has_links else [])]
    bound_rows = []
    for outcomes in group_by_bound(slas).values():
        worst = min(outcomes, key=rank_outcome)
        counts = (
            sum(each.outcome == "held" and each.by == by for each in outcomes) for by in sources
        )
        broken = sum(each.outcome == "refuted" for each in outcomes)
        undecided = sum(each.outcome in ("undecided", "not judged") for each in outcomes)
        bound_rows.append(
            [
                *(worst.sla, _format_bound(worst)),
                *map(str, (*counts, broken, undecided)),
                *(worst.failure, _format_interval(worst)),
            ]
        )
    bound_heads = ["SLA", "promise", "held: packets", *sources[1:], "broken", "not judged"]
    pair_rows = [
        [
            *(outcome.sla, outcome.failure, outcome.row, _format_bound(outcome)),
            format_bound_value(outcome.value, outcome.unit),
            _format_interval(outcome),
            describe_outcome(outcome),
        ]
        for outcome in sorted(slas, key=rank_outcome)
    ]
    pair_heads = ["SLA", "failure", "for", "promise", "value", "interval", "is"]
    return [
        TextTable(
            "Service levels under every failure",
            [*bound_heads, "worst failure", "there"],
            bound_rows,
            2,
            is_ranked=False,
        ),
        TextTable(
            f"Service levels and failures, the worst of {len(pair_rows)}", pair_heads, pair_rows, 3
        ),
    ]


def rank_outcome(outcome: SlaOutcome) -> tuple[int, float]:
    """Sort key, smaller for worse: the outcome, then the margin to the bound."""
    margin = outcome.relative_margin
    return OUTCOME_ORDER.index(outcome.outcome), -math.inf if margin is None else margin


def _format_bound(outcome: SlaOutcome) -> str:
    bound = format_bound_value(outcome.bound, outcome.unit)
    return f"{outcome.measure} at {outcome.at} {bound}"


def _format_interval(outcome: SlaOutcome) -> str:
    low, high = (format_bound_value(each, outcome.unit) for each in (outcome.low, outcome.high))
    return f"{low} to {high}"


def describe_judgement(judgement: SlaJudgement) -> str:
    """Describe the counts of failures times bounds, in one line."""
    margin = judgement.least_margin
    spare = "" if margin is None else f" with {format_percent(margin)} of a bound to spare"
    by_links = judgement.count("held", "links")
    links = f"{by_links:,} held by links alone, " if by_links else ""
    broken = f"{judgement.broken:,} broken"
    if judgement.unavoidable:
        broken += f" ({judgement.unavoidable:,} where no routing could carry what is lost)"
    sentence = (
        f"{judgement.total:,} failures x bounds: "
        f"{judgement.count('held', 'packets'):,} held in packets, "
        f"{judgement.count('held', 'screen'):,} held by the screen{spare}, {links}"
        f"{broken}, {judgement.unjudged:,} not judged"
    )
    if judgement.refusal:
        sentence += f"; no screen, since {judgement.refusal}"
    return sentence


def tabulate_deviations(deviations: Sequence[ScreenDeviation]) -> TextTable:
    """Tabulate screen and packets for the failures that ran in packets."""
    rows = []
    for deviation in deviations:
        unit = "bit/s" if deviation.measure == "lost" else "1"
        values = [
            format_bound_value(value, unit) for value in (deviation.screen, deviation.packets)
        ]
        interval = (
            f"{format_bound_value(deviation.low, unit)} to "
            f"{format_bound_value(deviation.high, unit)}"
        )
        rows.append([deviation.failure, deviation.measure, deviation.link, *values, interval])
    heads = ["failure", "measure", "link", "screen", "packets", "interval"]
    return TextTable("The screen against packets", heads, rows, 3, is_ranked=False)


def tabulate_upgrade(upgrade: CapacityUpgrade) -> TextTable:
    """Tabulate the capacity that the linear program adds to links, and its sum."""
    rows = [[link, *format_rates(added_bit_s)] for link, added_bit_s in upgrade.links.items()]
    total = f"{len(upgrade.failures)} of {upgrade.broken} broken"
    title = "The least capacity that mends, over all routings"
    rows.append([total, *format_rates(upgrade.added_bit_s)])
    rows += [[f"{failure} needs more", "–"] for failure in upgrade.unrepaired]
    return TextTable(title, ["link", "add"], rows, is_ranked=False)


def tabulate_migration(migration: Migration) -> list[TextTable]:
    """Tabulate the steps, and what an order without detours needs."""
    step_rows = [
        [
            *(str(number), step.path, step.action, " ".join(step.route) or "–"),
            *format_rates(step.bandwidth_bit_s),
            *(step.busiest_link, format_percent(step.utilisation)),
        ]
        for number, step in enumerate(migration.steps, 1)
    ]
    heads = ["step", "path", "action", "route", "bandwidth", "fullest link", "use"]
    text_tables = []
    if step_rows:
        text_tables.append(TextTable("Steps", heads, step_rows, 4, is_ranked=False))
    if migration.headroom is not None:
        missing_rows = [
            [link, *format_rates(missing)]
            for link, missing in migration.headroom.missing_bit_s.items()
        ]
        title = "Room that an order without detours needs"
        text_tables.append(TextTable(title, ["link", "more"], missing_rows, is_ranked=False))
    return text_tables


def tabulate_growth(growth: Growth) -> list[TextTable]:
    """Tabulate the periods, what breaks first, and the upgrades."""
    period_rows = [
        [
            each.label,
            f"{each.factor:.3g}",
            *(format_percent(each.mlu), format_percent(each.worst_mlu)),
            *(each.worst_failure, each.worst_link, str(each.broken)),
        ]
        for each in growth.periods
    ]
    heads = ["period", "load", "utilisation", "worst failure", "failure", "link", "broken"]
    text_tables = [
        TextTable("Growth with today's routes and links", heads, period_rows, is_ranked=False)
    ]
    for title, at, breaks in (
        ("Links, the first to break", "after", growth.links),
        ("Failures, the first to break", "link", growth.failures),
    ):
        rows = [_list_break_cells(each) for each in breaks if each.period is not None]
        if rows:
            text_tables.append(TextTable(title, [*BREAK_HEADS, at], rows))
    if growth.slas:
        text_tables.append(tabulate_sla_breaks(growth.slas))
    for words, upgrades in (
        ("today's routes", growth.kept_routes),
        ("any routes, which bounds all plans", growth.any_routes),
    ):
        if upgrades is not None:
            text_tables.append(tabulate_modules(words, upgrades))
    return text_tables


def tabulate_sla_breaks(slas: Sequence[SlaBreak], max_rows: int | None = None) -> TextTable:
    """Tabulate failures by agreements: the first period in which each breaks, or held or open."""
    names = list(dict.fromkeys(f"{each.sla} {each.measure}" for each in slas))
    cells: dict[str, dict[str, str]] = {}
    for each in slas:
        word = each.broken or ("open" if each.is_open else "held")
        # Of several bounds of one measure the first to break is here.
        cells.setdefault(each.failure, {}).setdefault(f"{each.sla} {each.measure}", word)
    rows = [[failure, *(row[name] for name in names)] for failure, row in cells.items()]
    title = "Agreements by failure: the first period in which they break"
    return TextTable(title, ["failure", *names], rows[:max_rows])


BREAK_HEADS = ["name", "breaks", "at load", "last period"]


def _list_break_cells(each: FirstBreak) -> list[str]:
    period = f"{each.period}, loses load" if each.reason == "loss" else str(each.period)
    factor = "–" if each.factor is None else f"{each.factor:.3g}"
    return [each.name, period, factor, format_percent(each.utilisation), each.at]


def tabulate_modules(routing: str, upgrades: UpgradeList) -> TextTable:
    """Tabulate the modules for each link, and their cost."""
    rows = [
        [
            link,
            ", ".join(f"{count} x {name}" for name, count in chosen.items()),
            f"{upgrades.link_costs[link]:g}",
        ]
        for link, chosen in upgrades.modules.items()
    ]
    rows += [[each, "the catalogue is not enough", "–"] for each in upgrades.missing]
    gap = "proven cheapest" if not upgrades.gap else f"gap {format_percent(upgrades.gap)}"
    if not upgrades.missing:
        rows.append(["all", gap, f"{upgrades.cost:g}"])
    return TextTable(f"Upgrades with {routing}", ["link", "add", "cost"], rows, 2, is_ranked=False)
