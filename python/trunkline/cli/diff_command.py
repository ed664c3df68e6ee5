"""``trunkline diff``: the first packet at which two runs diverge, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import SEED, echo_json, engine_faults
from trunkline.cli.compare_command import side
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.compare import Divergence, Side


@click.command("diff", short_help="Show the first packet at which two runs diverge.")
@click.argument("a", metavar="RESULT", type=click.Path(exists=True))
@click.argument("b", metavar="RESULT", type=click.Path(exists=True))
@click.option("--seed", type=SEED, help="Which run; default: the first that differs.")
@click.option("--seed-b", type=SEED, help="Which run of the second; default: that of the first.")
@click.option("--judge", is_flag=True, help="End with 3 if they differ.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    a: str, b: str, seed: int | None, seed_b: int | None, judge: bool, as_json: bool
) -> int:
    """Compare two results packet by packet, each a folder of results or a scenario file.

    Says "identical" with the hash, or when and where the first packet moves differently, what
    each side does with it, and which differences of the two networks concern it. Runs that were
    not traced are run again from what the folder holds; of those of a Linux kernel the tables
    alone are compared.
    """
    from trunkline.compare import diverge

    of_a, of_b = side(a, ()), side(b, ())
    with engine_faults():
        pairs = _pairs(of_a, of_b, seed, seed_b)
        hashes = [(of_a.take([x])[0].hash(), of_b.take([y])[0].hash()) for x, y in pairs]
        different = [pair for pair, its in zip(pairs, hashes, strict=True) if its[0] != its[1]]
        about: dict[str, Any] = {
            "schema": 1,
            "a": a,
            "b": b,
            "identical": not different,
            "runs": [
                {"seed_a": x, "seed_b": y, "hash_a": first, "hash_b": second}
                for (x, y), (first, second) in zip(pairs, hashes, strict=True)
            ],
        }
        if not different:
            lines = [_identical(hashes)]
        else:
            first = different[0]
            try:
                # A kernel's packets are not traced: its tables alone can be compared.
                found = None if _kernels(of_a, of_b, first) else diverge(of_a, of_b, *first)
            except ValueError as error:
                if type(error) is not ValueError:
                    raise
                raise click.UsageError(f"{error}.") from None
            about["divergence"] = None if found is None else found.to_json()
            about["tables"] = _tables(of_a, of_b, first)
            lines = _told(of_a, of_b, first, found, len(different), len(pairs))
            lines += [f"  tables: {text}" for text in about["tables"]]
    if as_json:
        echo_json(about)
    else:
        from trunkline.results.render import printable

        for line in lines:
            click.echo(printable(line))
    return Status.NOT_HELD if judge and different else Status.DONE


def _pairs(a: Side, b: Side, seed: int | None, seed_b: int | None) -> list[tuple[int, int]]:
    """Seeds of the runs to compare, A's and B's."""
    from trunkline.compare.difference import common_seeds

    for name, wanted, each in ((a.name, seed, a), (b.name, seed_b, b)):
        if wanted is not None and each.stored and wanted not in each.runs:
            raise click.UsageError(f"{name} has no run of seed {wanted}.")
    if seed is None and seed_b is not None:
        seed = next(iter(a.runs)) if a.stored else int((a.network or {})["run"]["seed"])
    if seed is not None:
        other = seed if seed_b is None else seed_b
        if b.stored and other not in b.runs:
            raise click.UsageError(f"{b.name} has no run of seed {other}; say --seed-b.")
        return [(seed, other)]
    try:
        common = common_seeds(a, b, 1, None)
        if not common:
            msg = f"{a.name} and {b.name} have no seed in common, so no runs to pair"
            raise ValueError(msg)
        return [(each, each) for each in common]
    except ValueError as error:
        raise click.UsageError(f"{error}; say --seed and --seed-b.") from None


def _identical(hashes: list[tuple[str, str]]) -> str:
    if len(hashes) == 1:
        return f"identical: results hash {hashes[0][0]}"
    return f"identical: {len(hashes)} runs, results hash of the first {hashes[0][0]}"


def _kernels(a: Side, b: Side, seeds: tuple[int, int]) -> list[str]:
    """Linux kernels that ran a side, each once; none of the simulator's."""
    runs = (a.runs[seeds[0]], b.runs[seeds[1]])
    kernels = [f"Linux {run.provenance.kernel}" for run in runs if run.provenance.kernel]
    return list(dict.fromkeys(kernels))


def _told(
    a: Side,
    b: Side,
    seeds: tuple[int, int],
    found: Divergence | None,
    different: int,
    count: int,
) -> list[str]:
    from trunkline.compare.divergence import describe

    of = f"{different} of {count} runs differ; " if count > 1 else ""
    named = f"seed {seeds[0]}" if seeds[0] == seeds[1] else f"seeds {seeds[0]} and {seeds[1]}"
    versions = [side.runs[seed].provenance.version for side, seed in ((a, seeds[0]), (b, seeds[1]))]
    made = f"made by versions {versions[0]} (A) and {versions[1]} (B)"
    kernels = _kernels(a, b, seeds)
    if kernels:
        return [f"{of}{named}: of runs in {' and '.join(kernels)} the tables alone are compared"]
    if found is None:
        why = (
            made
            if versions[0] != versions[1]
            else "what differs is recorded beside the packets, see the tables"
        )
        return [f"{of}{named}: all packets move alike when run again; {why}"]
    other = "B" if found.side == "A" else "A"
    lines = [
        f"{of}{named}: the runs diverge at {found.time_ns / 1e9:.9f} s at {found.place}, "
        f"after {found.compared} events alike",
        f"  packet: {found.packet}",
        f"  {found.side}: {describe(found.event)}",
        f"  {other}: {found.other}",
    ]
    if found.before is not None:
        lines.append(f"  before: {describe(found.before)}, in both")
    lines += [f"  why: {text}" for text in found.why]
    if versions[0] != versions[1]:
        lines.append(f"  note: {made}")
    return lines


def _tables(a: Side, b: Side, seeds: tuple[int, int]) -> list[str]:
    """The first cell that differs in each table of counted values."""
    first, second = a.runs[seeds[0]], b.runs[seeds[1]]
    found = []
    for name, table in first.tables.items():
        other = second.tables[name]
        if name == "packets":
            continue
        if len(table) != len(other):
            found.append(f"{name} has {len(table)} rows in A, {len(other)} in B")
            continue
        for field in table.fields:
            if not field.in_hash:
                continue
            pairs = zip(table[field.name], other[field.name], strict=True)
            row = next((i for i, (x, y) in enumerate(pairs) if x != y), None)
            if row is not None:
                key = table[table.columns[0]][row] if table.fields[0].kind == "str" else "the run"
                values = (table[field.name][row], other[field.name][row])
                found.append(f"{name}.{field.name} of {key}: {values[0]} in A, {values[1]} in B")
                break
    return found
