"""Findings to read first: the question, the answer, and the reasons to believe it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from trunkline.network.identity import hash_without_probes
from trunkline.report.failure_load import compute_failure_loads
from trunkline.report.link_loads import compute_class_loads, compute_link_loads
from trunkline.report.reported_run import ReportedRun
from trunkline.results.host_drops import describe_host_drops
from trunkline.results.number_format import (
    format_count,
    format_duration,
    format_number,
    format_percent,
    format_quantity,
)

FactSign = Literal["held", "broken", "known", "doubt", "undecided"]
_SIGN_OF_LEVEL: dict[str, FactSign] = {
    "met": "held",
    "broken": "broken",
    "not judged": "undecided",
}

SIGN_BY_OUTCOME: Final[dict[str, FactSign]] = {
    "held": "held",
    "refuted": "broken",
    "undecided": "undecided",
}
"""Signs of the outcomes of claims."""
SIGN_BY_VERDICT: Final[dict[str, FactSign]] = {
    "agrees": "held",
    "differs": "broken",
    "undecided": "undecided",
}
"""Signs of the outcomes of comparisons with another engine."""


MIN_RUNS_FOR_INTERVALS = 4
"""Below so many runs of a point Student's t makes an interval far wider than chance alone does."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement with a sign: held, broken, plainly known, or a reason to doubt."""

    sign: FactSign
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HeadlineNumber:
    """A number in large type."""

    value: str
    about: str


@dataclass(frozen=True, slots=True)
class Description:
    """A paragraph from the head of a scenario, or a list with terms where it is in columns."""

    text: str
    items: tuple[tuple[str, str], ...] = ()


def read_descriptions(scenario: str) -> list[Description]:
    """Read the purpose of a scenario from its head."""
    paragraphs: list[Description] = []
    in_paragraph = False
    for line in scenario.splitlines():
        if not line.startswith("#"):
            break
        text = line.removeprefix("#").removeprefix(" ").rstrip()
        if text.startswith("yaml-language-server"):
            continue
        if not text:
            in_paragraph = False
            continue
        indented = text.startswith(" ")
        if not (in_paragraph and bool(paragraphs[-1].items) == indented):
            paragraphs.append(Description(""))
        last = paragraphs[-1]
        if indented:
            paragraphs[-1] = Description("", _add_item(last.items, text))
        else:
            paragraphs[-1] = Description(f"{last.text} {text}".strip())
        in_paragraph = True
    return paragraphs


def _add_item(items: tuple[tuple[str, str], ...], line: str) -> tuple[tuple[str, str], ...]:
    """Add an indented line: a new item, or more of the one before if its indent is deeper."""
    stripped = line.strip()
    if items and items[-1][0].endswith("\\"):
        term, _, text = stripped.partition("  ")
        return (*items[:-1], (f"{items[-1][0][:-1].rstrip()} {term}", text.strip()))
    if items and len(line) - len(line.lstrip()) > 4:
        term, text = items[-1]
        return (*items[:-1], (term, f"{text} {stripped}"))
    term, _, text = stripped.partition("  ")
    return (*items, (term, text.strip()))


def find_title(scenario: str, name: str) -> str:
    """Find the first line of a scenario if it is a headline, else its name."""
    paragraphs = read_descriptions(scenario)
    first = paragraphs[0].text if paragraphs else ""
    headline = first and len(first) <= 100 and first[-1] not in ".:"
    return first if headline else name


def _count_noun(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def list_run_numbers(reported_run: ReportedRun) -> list[HeadlineNumber]:
    """List the few numbers that sum a run up."""
    runs = reported_run.runs
    run_count = len(runs)

    def mean(name: str) -> float:
        return sum(float(run.summary[name] or 0) for run in runs) / run_count

    sent, lost = mean("packets_sent"), mean("packets_dropped")
    busiest = max(
        compute_link_loads(reported_run).items(), key=lambda item: item[1].utilisation, default=None
    )
    goodput = sum(float(value or 0) for run in runs for value in run.flows["goodput_bit_s"])
    numbers = [
        HeadlineNumber(
            format_quantity(goodput / run_count, "bit/s"),
            f"goodput of {_count_noun(len(runs[0].flows), 'flow')}",
        ),
        HeadlineNumber(
            format_percent(lost / sent if sent else None), f"of {format_count(sent)} packets lost"
        ),
    ]
    if busiest is not None:
        numbers.append(
            HeadlineNumber(
                format_percent(busiest[1].utilisation),
                f"utilisation of {busiest[0]}, the busiest link",
            )
        )
    worst = max(_compute_losses(reported_run).items(), key=lambda item: item[1], default=None)
    if worst is not None and worst[1] > 0:
        numbers.append(
            HeadlineNumber(format_percent(worst[1]), f"loss at {worst[0]}, the worst port")
        )
    delays_p99 = [float(v) for run in runs for v in run.flows["delay_p99_s"] if v is not None]
    if delays_p99:
        numbers.append(
            HeadlineNumber(
                format_quantity(max(delays_p99), "s"), "99th percentile of the slowest flow's delay"
            )
        )
    return numbers


def _compute_losses(reported_run: ReportedRun) -> dict[str, float]:
    """Compute packets lost over those that came, by link, and by class where it has several.

    A class counts only drops of its port: packets lost from the wire by a failure have no class.
    """
    found = compute_class_loads(reported_run)
    classes = Counter(link for link, _ in found)
    shares = {
        link if classes[link] == 1 else f"{link}, class {class_name}": (
            load.loss_ratio if classes[link] == 1 else load.port_loss_ratio
        )
        for (link, class_name), load in found.items()
    }
    return {name: share for name, share in shares.items() if share is not None}


def list_run_facts(reported_run: ReportedRun) -> list[Fact]:
    """List results of the runs and their evidence."""
    from trunkline.stats import average_runs
    from trunkline.stats.run_tables import describe_wide_interval

    facts = [
        *_list_verdict_facts(reported_run.verdict, reported_run.network),
        *_list_sla_facts(reported_run),
        *_list_recovery_facts(reported_run),
        *_list_failure_facts(reported_run),
    ]
    if own_drops_note := describe_host_drops(reported_run.runs):
        statement, _, detail = own_drops_note.partition("; ")
        facts.append(Fact("doubt", statement, detail))
    total = {
        name: sum(int(run.summary[name] or 0) for run in reported_run.runs)
        for name in (
            "packets_inside_before",
            "packets_sent",
            "packets_delivered",
            "packets_dropped",
            "packets_inside_after",
        )
    }
    before, sent, delivered, dropped, after = total.values()
    adds = before + sent == delivered + dropped + after
    facts.append(
        Fact(
            "held" if adds else "broken",
            "Every packet is accounted for",
            f"{format_count(before)} inside at the start + {format_count(sent)} sent = "
            f"{format_count(delivered)} "
            f"delivered + {format_count(dropped)} lost + {format_count(after)} inside at the end",
        )
    )
    runs = len(reported_run.runs)
    if runs == 1:
        facts.append(
            Fact(
                "doubt",
                "One run: nothing here says how much is chance",
                "--runs 20 gives means with 95 % intervals over 20 seeds",
            )
        )
    elif len({run.hash() for run in reported_run.runs}) == 1:
        facts.append(Fact("known", f"All {runs} runs are alike", "nothing here is random"))
    else:
        seeds = f"{reported_run.first_run.seed} to {reported_run.runs[-1].seed}"
        detail = f"seeds {seeds}; 95 % intervals by Student's t"
        facts.append(Fact("held", f"{runs} independent runs", detail))
        interval_note = describe_wide_interval(average_runs(reported_run.runs, "flows"))
        if interval_note:
            detail = interval_note.partition(": ")[2]
            facts.append(Fact("doubt", "Not enough runs for narrow intervals", detail))
        else:
            statement = "The intervals of all flows are narrow"
            detail = "goodput, mean delay and 99th percentile: half of each within 10 % of its mean"
            facts.append(Fact("held", statement, detail))
    watched = reported_run.probed
    if watched.runs:
        repeated_text = f"{len(watched.runs)} of {runs} runs were" if runs > 1 else "the run was"
        facts.append(
            Fact(
                "held",
                "The results repeat",
                f"for the series of this page {repeated_text} repeated with probes, and "
                f"every count came "
                "out the same",
            )
        )
    else:
        facts.append(Fact("doubt", "Nothing was repeated for this page", watched.refusal_reason))
    if not reported_run.warmup_ns and any(
        flow["agent"]["protocol"] == "tcp" for flow in reported_run.network["flows"]
    ):
        facts.append(
            Fact("known", "Counted from the start", "no warm-up: slow start is in the averages")
        )
    return facts


def _list_verdict_facts(
    document: Mapping[str, Any] | None, network: Mapping[str, Any]
) -> list[Fact]:
    """List facts of a comparison with another engine, and of the proof of its power."""
    facts = []
    for verdict in document["verdicts"] if document else ():
        if verdict.get("network", "") not in ("", hash_without_probes(network)):
            other = f"The verdict in the folder is of another network: {verdict['scenario']}"
            facts.append(Fact("doubt", other, "verify this scenario again"))
            continue
        agreed = sum(bool(row["outcome"] == "agrees") for row in verdict["rows"])
        score = (verdict.get("proof") or {}).get("score")
        statement = (
            f"{agreed} of {len(verdict['rows'])} comparisons agree with {verdict['reference']}"
            f"{_describe_omissions([verdict])}"
        )
        detail = (
            "not proved: verify --prove says what it could have missed"
            if score is None
            else f"of single mistakes that show, it would have caught {100 * score:.0f} %"
        )
        facts.append(Fact(SIGN_BY_VERDICT[verdict["outcome"]], statement, detail))
    return facts


def _describe_omissions(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Say how many kinds of values verdicts did not compare, and what could have hidden at most."""
    kinds = {line.partition(", of ")[0] for verdict in verdicts for line in verdict["not_compared"]}
    shares = [
        each["share"]
        for verdict in verdicts
        for each in verdict["power"]
        if each["share"] is not None
    ]
    omitted = f"; {_count_noun(len(kinds), 'kind')} of values not compared" if kinds else ""
    hidden = f"; at most {100 * max(shares):.2g} % could have hidden in one" if shares else ""
    return omitted + hidden


def list_kernel_facts(document: Mapping[str, Any] | None) -> list[Fact]:
    """List what the verdicts of a study's tables say together, and what proofs would have caught.

    document: What ``reproduce --engine linux --out`` stored; None without.
    """
    verdicts = [each["verdict"] for each in document["tables"].values()] if document else []
    if not verdicts:
        return []
    outcomes = [row["outcome"] for verdict in verdicts for row in verdict["rows"]]
    counts = {outcome: outcomes.count(outcome) for outcome in SIGN_BY_VERDICT}
    worst = next((each for each in ("differs", "undecided") if counts[each]), "agrees")
    of_tables = f"of {_count_noun(len(verdicts), 'table')} agree with {verdicts[0]['reference']}"
    statement = (
        f"{counts['agrees']} of {len(outcomes)} comparisons {of_tables}; "
        f"{counts['differs']} differ, {counts['undecided']} are undecided"
        f"{_describe_omissions(verdicts)}"
    )
    proofs = [verdict["proof"] for verdict in verdicts if verdict.get("proof")]
    caught = sum(proof["counts"]["caught"] for proof in proofs)
    effective = sum(sum(each["counts"].values()) - each["counts"]["no effect"] for each in proofs)
    detail = "not proved: reproduce --engine linux --prove says what they could have missed"
    if effective:
        detail = (
            f"of {effective} single mistakes that show, in {_count_noun(len(proofs), 'table')}, "
            f"they would have caught {100 * caught / effective:.0f} %"
        )
    return [Fact(SIGN_BY_VERDICT[worst], statement, detail)]


def _list_sla_facts(reported_run: ReportedRun) -> list[Fact]:
    """List the scenario's service level agreements; those that are broken first."""
    from pydantic import ValidationError

    from trunkline.scenario import ScenarioError
    from trunkline.scenario.scenario import reload_text
    from trunkline.stats.service_levels import (
        describe_subject,
        format_bound_value,
        format_promise,
        judge_bounds,
    )

    written = reported_run.first_run.provenance.scenario
    if "slas" not in written:
        return []
    try:
        bounds = reload_text(written).list_sla_bounds()
    except (ScenarioError, ValidationError):
        return [Fact("doubt", "The text of the scenario cannot be read again for its SLAs")]
    facts = []
    try:
        levels = judge_bounds(bounds, reported_run.runs)
    except ValueError as error:
        return [Fact("doubt", "The runs cannot be held to the scenario's SLAs", str(error))]
    for level in levels:
        unit = level.bound.unit
        kept_text = (
            f"{level.kept} of {len(level.values)} runs keep it, " if len(level.values) > 1 else ""
        )
        detail = "it has no value: nothing to measure" if level.worst is None else ""
        if level.outcome == "not judged":
            detail = f"not judged: {level.worst_row} sent nothing"
        if level.worst is not None:
            row_text = f" ({level.worst_row})" if len(level.bound.rows) > 1 else ""
            detail = (
                f"{format_bound_value(level.worst, unit)} at worst{row_text}, margin "
                f"{format_bound_value(level.margin, unit)}"
            )
        text = (
            f"SLA {level.bound.sla}: {describe_subject(level.bound)}, {format_promise(level.bound)}"
        )
        facts.append(Fact(_SIGN_OF_LEVEL[level.outcome], text, kept_text + detail))
    return sorted(facts, key=lambda fact: fact.sign != "broken")


def _list_recovery_facts(reported_run: ReportedRun) -> list[Fact]:
    from trunkline.stats.recovery import outages

    recovery = reported_run.network.get("recovery") or {}
    paths = reported_run.network["paths"]
    facts = []
    for protection in recovery.get("protections", []):
        name, path = str(protection["name"]), str(paths[protection["path"]]["name"])
        durations_ns = []
        open_ended = 0
        for run in reported_run.runs:
            for outage in outages(run, name):
                if outage.duration_ns is None:
                    open_ended += 1
                else:
                    durations_ns.append(outage.duration_ns)
        if durations_ns:
            duration_text = format_duration(max(durations_ns))
            if min(durations_ns) != max(durations_ns):
                duration_text = f"{format_duration(min(durations_ns))} to {duration_text}"
            text = f"{path} was switched {duration_text} after the failure"
            detail = f"by protection {name}, {_count_noun(len(durations_ns), 'outage')}"
            facts.append(Fact("known", f"Path {text}", detail))
        if open_ended:
            facts.append(
                Fact(
                    "broken",
                    f"Path {path} failed and was not switched",
                    _count_noun(open_ended, "time"),
                )
            )
    return facts + _list_unprotected_facts(reported_run.network)


def _list_unprotected_facts(network: Mapping[str, Any]) -> list[Fact]:
    """List the paths in use over links that fail, of which nothing takes the packets elsewhere."""
    recovery = network.get("recovery") or {}
    protected_paths = {each["path"] for each in recovery.get("protections", [])}
    used = {network["nhlfe"][each["nhlfe"]]["path"] for each in network["ftn"]} - protected_paths
    failing = {
        link: each["name"] for each in recovery.get("failures", []) for link in each["links"]
    }
    facts = []
    for number_, path in enumerate(network["paths"]):
        failing_links = [link for link in path["links"] if link in failing]
        if number_ in used and failing_links:
            link = network["links"][failing_links[0]]["name"]
            statement = f"Path {path['name']} has no protection"
            detail = f"it crosses {link}, which failure {failing[failing_links[0]]} takes down"
            facts.append(Fact("doubt", statement, detail))
    return facts


def _list_failure_facts(reported_run: ReportedRun) -> list[Fact]:
    """List the losses that failures cause."""
    cost = {
        name: load.lost_by_failure
        for name, load in compute_link_loads(reported_run).items()
        if load.lost_by_failure
    }
    if not cost:
        return []
    worst = sorted(cost, key=lambda name: -cost[name])[:4]
    detail = ", ".join(f"{name} {format_number(cost[name])}" for name in worst)
    if len(cost) > len(worst):
        detail += f", {_count_noun(len(cost) - len(worst), 'more link')}"
    packets = f"{format_number(sum(cost.values()))} packets"
    run_note = f", mean of {len(reported_run.runs)} runs" if len(reported_run.runs) > 1 else ""
    statement = f"Links that were down cost {packets}: queued, on the wire or coming later"
    facts = [Fact("known", statement, detail + run_note)]
    stress = compute_failure_loads(reported_run)
    if stress:
        busiest = stress[0]
        statement = (
            f"While something is down {busiest.link} is the busiest link, "
            f"{format_percent(busiest.use_down)}"
        )
        others = (
            f"{format_percent(busiest.use_up)} otherwise; the table of links while "
            f"something is down"
        )
        facts.append(
            Fact(
                "known",
                f"{statement} used",
                f"{others} has all, seed {reported_run.first_run.seed}",
            )
        )
    return facts


def list_study_numbers(record: Mapping[str, Any]) -> list[HeadlineNumber]:
    """List the few numbers that sum a study up."""
    summary = record["summary"]
    numbers = [HeadlineNumber(f"{summary['claims_held']} of {summary['claims']}", "claims hold")]
    errors = summary.get("tables", {}).values()
    inside = sum(each.get("published_inside_prediction", 0) for each in errors)
    cells = sum(each.get("cells", 0) for each in errors)
    if cells:
        numbers.append(
            HeadlineNumber(
                f"{inside} of {cells}", "published values inside our 95 % prediction interval"
            )
        )
    relative = [each["mape_percent"] for each in errors if each.get("mape_percent") is not None]
    if relative:
        numbers.append(
            HeadlineNumber(
                f"{format_number(sum(relative) / len(relative), 3)} %",
                "mean absolute error of tables",
            )
        )
    elif summary.get("mean_absolute_error") is not None:
        error_text = f"{format_number(summary['mean_absolute_error'], 3)} {summary['error_unit']}"
        numbers.append(HeadlineNumber(error_text, "off the published values on average"))
    counted = f"{'at most ' if 'precision' in record else ''}{record['runs']}"
    numbers.append(HeadlineNumber(format_count(summary["runs"]), f"runs, {counted} a point"))
    return numbers


def _get_outcome(claim: Mapping[str, Any]) -> str:
    """Return the outcome of a claim; records of earlier versions have only held and not held."""
    return str(claim.get("outcome") or ("held" if claim["held"] else "refuted"))


def list_claim_facts(record: Mapping[str, Any]) -> list[Fact]:
    """List each claim and its outcome."""
    tables = {str(cell["table"]) for cell in record["cells"]}
    facts = []
    for claim in record["claims"]:
        statement, _, detail = str(claim["detail"]).partition(": ")
        if statement in tables:
            # The claim itself begins with the table that it concerns.
            claim_text, _, detail = detail.partition(": ")
            statement = f"{statement}: {claim_text}"
        for reading in record.get("fitted_readings", []):
            if claim["name"] in reading["claims"]:
                detail += f"; {reading['says']}: {reading['claims'][claim['name']]}"
        facts.append(Fact(SIGN_BY_OUTCOME[_get_outcome(claim)], statement, detail))
    if precision := record.get("precision"):
        unsure_count = sum(not each["reached"] for each in precision["claims"])
        share = f"± {100 * precision['wanted']:g} %"
        detail = (
            f"{precision['runs']} runs; plain replication needs about {precision['plain_runs']}"
        )
        statement = f"What claims compare is sure to {share} of the larger side"
        if unsure_count:
            statement = f"{_count_noun(unsure_count, 'claim')} not sure to {share}"
        facts.append(Fact("doubt" if unsure_count else "known", statement, detail))
    if record["runs"] < MIN_RUNS_FOR_INTERVALS:
        statement = f"{_count_noun(record['runs'], 'run')} a point leave wide intervals"
        detail = "much is undecided here; without --runs there are more"
        facts.insert(0, Fact("doubt", statement, detail))
    return facts
