"""What to read first: what was asked, what came out, and whether to believe it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from trunkline.report.exhibit import Exhibit
from trunkline.report.loads import by_class, by_link
from trunkline.report.stress import stressed
from trunkline.results.numbers import count, number, percent, quantity, span
from trunkline.results.own_drops import own_drops

Sign = Literal["held", "broken", "known", "doubt", "undecided"]

SIGNS: Final[dict[str, Sign]] = {"held": "held", "refuted": "broken", "undecided": "undecided"}
"""Of the outcomes of claims."""


FEW_RUNS = 4
"""Below so many runs of a point Student's t makes an interval far wider than chance alone does."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement with a sign: held, broken, plainly known, or a reason to doubt."""

    sign: Sign
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in large type."""

    value: str
    about: str


@dataclass(frozen=True, slots=True)
class Said:
    """A paragraph from the head of a scenario, or a list with terms where it stands in columns."""

    text: str
    items: tuple[tuple[str, str], ...] = ()


def asked(scenario: str) -> list[Said]:
    """What the head of a scenario says it is for."""
    paragraphs: list[Said] = []
    going = False
    for line in scenario.splitlines():
        if not line.startswith("#"):
            break
        said = line.removeprefix("#").removeprefix(" ").rstrip()
        if said.startswith("yaml-language-server"):
            continue
        if not said:
            going = False
            continue
        indented = said.startswith(" ")
        if not (going and bool(paragraphs[-1].items) == indented):
            paragraphs.append(Said(""))
        last = paragraphs[-1]
        if indented:
            paragraphs[-1] = Said("", _item(last.items, said))
        else:
            paragraphs[-1] = Said(f"{last.text} {said}".strip())
        going = True
    return paragraphs


def _item(items: tuple[tuple[str, str], ...], line: str) -> tuple[tuple[str, str], ...]:
    """Add an indented line: a new item, or more of the one before if it stands deeper."""
    said = line.strip()
    if items and items[-1][0].endswith("\\"):
        term, _, text = said.partition("  ")
        return (*items[:-1], (f"{items[-1][0][:-1].rstrip()} {term}", text.strip()))
    if items and len(line) - len(line.lstrip()) > 4:
        term, text = items[-1]
        return (*items[:-1], (term, f"{text} {said}"))
    term, _, text = said.partition("  ")
    return (*items, (term, text.strip()))


def title(scenario: str, name: str) -> str:
    """The first line of a scenario if it is a headline, else its name."""
    paragraphs = asked(scenario)
    first = paragraphs[0].text if paragraphs else ""
    headline = first and len(first) <= 100 and first[-1] not in ".:"
    return first if headline else name


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def figures_of_run(exhibit: Exhibit) -> list[Figure]:
    """The few numbers that sum a run up."""
    runs = exhibit.runs
    number_of = len(runs)

    def mean(name: str) -> float:
        return sum(float(run.summary[name] or 0) for run in runs) / number_of

    sent, lost = mean("packets_sent"), mean("packets_dropped")
    busiest = max(by_link(exhibit).items(), key=lambda item: item[1].use, default=None)
    goodput = sum(float(value or 0) for run in runs for value in run.flows["goodput_bit_s"])
    shown = [
        Figure(
            quantity(goodput / number_of, "bit/s"),
            f"goodput of {_counted(len(runs[0].flows), 'flow')}",
        ),
        Figure(percent(lost / sent if sent else 0.0), f"of {count(sent)} packets lost"),
    ]
    if busiest is not None:
        shown.append(
            Figure(percent(busiest[1].use), f"utilisation of {busiest[0]}, the busiest link")
        )
    worst = max(_losses(exhibit).items(), key=lambda item: item[1], default=None)
    if worst is not None and worst[1] > 0:
        shown.append(Figure(percent(worst[1]), f"loss at {worst[0]}, the worst port"))
    late = [float(value or 0) for run in runs for value in run.flows["delay_p99_s"]]
    if any(late):
        shown.append(
            Figure(quantity(max(late), "s"), "99th percentile of the slowest flow's delay")
        )
    return shown


def _losses(exhibit: Exhibit) -> dict[str, float]:
    """Packets lost over those that came, by link, and by class where it has several.

    Of a class, only what its port dropped: what a failure takes from the wire is of no class.
    """
    found = by_class(exhibit)
    classes = Counter(link for link, _ in found)
    return {
        link if classes[link] == 1 else f"{link}, class {of_class}": (
            load.loss if classes[link] == 1 else load.refused
        )
        for (link, of_class), load in found.items()
    }


def of_run(exhibit: Exhibit) -> list[Fact]:
    """What came out of runs and what speaks for it."""
    from trunkline.stats import across
    from trunkline.stats.render import not_enough

    facts = [*_levels(exhibit), *_recovery(exhibit), *_failed(exhibit)]
    if own := own_drops(exhibit.runs):
        says, _, detail = own.partition("; ")
        facts.append(Fact("doubt", says, detail))
    total = {
        name: sum(int(run.summary[name] or 0) for run in exhibit.runs)
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
            f"{count(before)} inside at the start + {count(sent)} sent = {count(delivered)} "
            f"delivered + {count(dropped)} lost + {count(after)} inside at the end",
        )
    )
    runs = len(exhibit.runs)
    if runs == 1:
        facts.append(
            Fact(
                "doubt",
                "One run: nothing here says how much is chance",
                "--runs 20 gives means with 95 % intervals over 20 seeds",
            )
        )
    elif len({run.hash() for run in exhibit.runs}) == 1:
        facts.append(Fact("known", f"All {runs} runs are alike", "nothing here is random"))
    else:
        seeds = f"{exhibit.first.seed} to {exhibit.runs[-1].seed}"
        detail = f"seeds {seeds}; 95 % intervals by Student's t"
        facts.append(Fact("held", f"{runs} independent runs", detail))
        wide = not_enough(across(exhibit.runs, "flows"))
        if wide:
            detail = wide.partition(": ")[2]
            facts.append(Fact("doubt", "Not enough runs for narrow intervals", detail))
        else:
            says = "The intervals of all flows are narrow"
            detail = "goodput, mean delay and 99th percentile: half of each within 10 % of its mean"
            facts.append(Fact("held", says, detail))
    watched = exhibit.watched
    if watched.runs:
        again = f"{len(watched.runs)} of {runs} runs were" if runs > 1 else "the run was"
        facts.append(
            Fact(
                "held",
                "The results repeat",
                f"for the series of this page {again} repeated with probes, and every count came "
                "out the same",
            )
        )
    else:
        facts.append(Fact("doubt", "Nothing was repeated for this page", watched.why_not))
    if not exhibit.warmup_ns and any(
        flow["agent"]["protocol"] == "tcp" for flow in exhibit.network["flows"]
    ):
        facts.append(
            Fact("known", "Counted from the start", "no warm-up: slow start is in the averages")
        )
    return facts


def _levels(exhibit: Exhibit) -> list[Fact]:
    """The scenario's service level agreements; those that are broken first."""
    from pydantic import ValidationError

    from trunkline.scenario import ScenarioError
    from trunkline.scenario.scenario import reread
    from trunkline.stats.sla import judge, promise, said, whom

    written = exhibit.first.provenance.scenario
    if "slas" not in written:
        return []
    try:
        bounds = reread(written).bounds()
    except (ScenarioError, ValidationError):
        return [Fact("doubt", "The text of the scenario cannot be read again for its SLAs")]
    facts = []
    try:
        levels = judge(bounds, exhibit.runs)
    except ValueError as error:
        return [Fact("doubt", "The runs cannot be held to the scenario's SLAs", str(error))]
    for level in levels:
        unit = level.bound.unit
        kept = (
            f"{level.kept} of {len(level.values)} runs keep it, " if len(level.values) > 1 else ""
        )
        detail = "it has no value: nothing arrived" if level.worst is None else ""
        if level.worst is not None:
            of = f" ({level.worst_row})" if len(level.bound.rows) > 1 else ""
            detail = f"{said(level.worst, unit)} at worst{of}, margin {said(level.margin, unit)}"
        text = f"SLA {level.bound.sla}: {whom(level.bound)}, {promise(level.bound)}"
        facts.append(Fact("held" if level.met else "broken", text, kept + detail))
    return sorted(facts, key=lambda fact: fact.sign != "broken")


def _recovery(exhibit: Exhibit) -> list[Fact]:
    from trunkline.stats.recovery import outages

    recovery = exhibit.network.get("recovery") or {}
    paths = exhibit.network["paths"]
    facts = []
    for protection in recovery.get("protections", []):
        name, path = str(protection["name"]), str(paths[protection["path"]]["name"])
        lasted = []
        open_ended = 0
        for run in exhibit.runs:
            for outage in outages(run, name):
                if outage.lasted_ns is None:
                    open_ended += 1
                else:
                    lasted.append(outage.lasted_ns)
        if lasted:
            how_long = span(max(lasted))
            if min(lasted) != max(lasted):
                how_long = f"{span(min(lasted))} to {how_long}"
            text = f"{path} was switched {how_long} after the failure"
            detail = f"by protection {name}, {_counted(len(lasted), 'outage')}"
            facts.append(Fact("known", f"Path {text}", detail))
        if open_ended:
            facts.append(
                Fact(
                    "broken",
                    f"Path {path} failed and was not switched",
                    _counted(open_ended, "time"),
                )
            )
    return facts + _unprotected(exhibit.network)


def _unprotected(network: Mapping[str, Any]) -> list[Fact]:
    """Paths in use over links that fail, of which nothing takes the packets elsewhere."""
    recovery = network.get("recovery") or {}
    safe = {each["path"] for each in recovery.get("protections", [])}
    used = {network["nhlfe"][each["nhlfe"]]["path"] for each in network["ftn"]} - safe
    failing = {
        link: each["name"] for each in recovery.get("failures", []) for link in each["links"]
    }
    facts = []
    for number_, path in enumerate(network["paths"]):
        hit = [link for link in path["links"] if link in failing]
        if number_ in used and hit:
            link = network["links"][hit[0]]["name"]
            says = f"Path {path['name']} has no protection"
            detail = f"it crosses {link}, which failure {failing[hit[0]]} takes down"
            facts.append(Fact("doubt", says, detail))
    return facts


def _failed(exhibit: Exhibit) -> list[Fact]:
    """What failures cost."""
    cost = {name: load.failed for name, load in by_link(exhibit).items() if load.failed}
    if not cost:
        return []
    worst = sorted(cost, key=lambda name: -cost[name])[:4]
    detail = ", ".join(f"{name} {number(cost[name])}" for name in worst)
    if len(cost) > len(worst):
        detail += f", {_counted(len(cost) - len(worst), 'more link')}"
    packets = f"{number(sum(cost.values()))} packets"
    over = f", mean of {len(exhibit.runs)} runs" if len(exhibit.runs) > 1 else ""
    says = f"Links that were down cost {packets}: queued, on the wire or coming later"
    facts = [Fact("known", says, detail + over)]
    stress = stressed(exhibit)
    if stress:
        busiest = stress[0]
        says = (
            f"While something is down {busiest.link} is the busiest link, "
            f"{percent(busiest.use_down)}"
        )
        others = f"{percent(busiest.use_up)} otherwise; the table of links while something is down"
        facts.append(Fact("known", f"{says} used", f"{others} has all, seed {exhibit.first.seed}"))
    return facts


def figures_of_study(record: Mapping[str, Any]) -> list[Figure]:
    """The few numbers that sum a study up."""
    summary = record["summary"]
    shown = [Figure(f"{summary['claims_held']} of {summary['claims']}", "claims hold")]
    errors = summary.get("tables", {}).values()
    inside = sum(each.get("published_inside_prediction", 0) for each in errors)
    cells = sum(each.get("cells", 0) for each in errors)
    if cells:
        shown.append(
            Figure(f"{inside} of {cells}", "published values inside our 95 % prediction interval")
        )
    relative = [each["mape_percent"] for each in errors if each.get("mape_percent") is not None]
    if relative:
        shown.append(
            Figure(f"{number(sum(relative) / len(relative), 3)} %", "mean absolute error of tables")
        )
    elif summary.get("mean_absolute_error") is not None:
        off = f"{number(summary['mean_absolute_error'], 3)} {summary['error_unit']}"
        shown.append(Figure(off, "off the published values on average"))
    shown.append(Figure(count(summary["runs"]), f"runs, {record['runs']} a point"))
    return shown


def _outcome(claim: Mapping[str, Any]) -> str:
    """How a claim came out; a record of an earlier version knows held and not held alone."""
    return str(claim.get("outcome") or ("held" if claim["held"] else "refuted"))


def of_study(record: Mapping[str, Any]) -> list[Fact]:
    """Each claim and how it came out."""
    tables = {str(cell["table"]) for cell in record["cells"]}
    facts = []
    for claim in record["claims"]:
        says, _, detail = str(claim["detail"]).partition(": ")
        if says in tables:
            # The claim itself begins with the table that it speaks of.
            what, _, detail = detail.partition(": ")
            says = f"{says}: {what}"
        facts.append(Fact(SIGNS[_outcome(claim)], says, detail))
    if record["runs"] < FEW_RUNS:
        says = f"{_counted(record['runs'], 'run')} a point leave wide intervals"
        detail = "much is undecided here; without --runs there are more"
        facts.insert(0, Fact("doubt", says, detail))
    return facts
