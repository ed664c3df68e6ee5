"""``trunkline diff``: the first packet at which two runs diverge, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import SEED_TYPE, convert_engine_errors, echo_json
from trunkline.cli.compare_command import load_operand
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from trunkline.compare import ComparisonOperand, Divergence


@click.command("diff", short_help="Show the first packet at which two runs diverge.")
@click.argument("a", metavar="RESULT", type=click.Path(exists=True))
@click.argument("b", metavar="RESULT", type=click.Path(exists=True))
@click.option("--seed", type=SEED_TYPE, help="Seed of the run; default: the first that differs.")
@click.option(
    "--seed-b", type=SEED_TYPE, help="Seed of the run in the second result; default: the same."
)
@click.option("--judge", is_flag=True, help="Exit with status 3 if they differ.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    a: str, b: str, seed: int | None, seed_b: int | None, judge: bool, as_json: bool
) -> int:
    """Compare two results packet by packet, each a folder of results or a scenario file.

    Print "identical" with the hash, or the time and place at which the first packet moves
    differently, what each side does with it, and the differences of the networks that concern it.
    Runs without a trace run again from the files in the folder. For runs of a Linux kernel, only
    the tables are compared.
    """
    from trunkline.compare import find_divergence

    operand_a, operand_b = load_operand(a, ()), load_operand(b, ())
    with convert_engine_errors():
        pairs = _pair_seeds(operand_a, operand_b, seed, seed_b)
        hashes = [
            (operand_a.get_runs([x])[0].hash(), operand_b.get_runs([y])[0].hash()) for x, y in pairs
        ]
        different = [
            pair
            for pair, run_hashes in zip(pairs, hashes, strict=True)
            if run_hashes[0] != run_hashes[1]
        ]
        document: dict[str, Any] = {
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
            lines = [_format_identical(hashes)]
        else:
            first = different[0]
            try:
                # Packets in a kernel have no trace.
                divergence = (
                    None
                    if _list_kernels(operand_a, operand_b, first)
                    else find_divergence(operand_a, operand_b, *first)
                )
            except ValueError as error:
                if type(error) is not ValueError:
                    raise
                raise click.UsageError(f"{error}.") from None
            document["divergence"] = None if divergence is None else divergence.to_json()
            document["tables"] = _list_table_differences(operand_a, operand_b, first)
            lines = _format_divergence(
                operand_a, operand_b, first, divergence, len(different), len(pairs)
            )
            lines += [f"  tables: {text}" for text in document["tables"]]
    if as_json:
        echo_json(document)
    else:
        from trunkline.results.terminal_tables import escape_unprintable

        for line in lines:
            click.echo(escape_unprintable(line))
    return Status.NOT_HELD if judge and different else Status.DONE


def _pair_seeds(
    a: ComparisonOperand, b: ComparisonOperand, seed: int | None, seed_b: int | None
) -> list[tuple[int, int]]:
    """List the pairs of seeds to compare, A's and B's."""
    from trunkline.compare.difference import list_common_seeds

    for name, wanted_seed, operand in ((a.name, seed, a), (b.name, seed_b, b)):
        if wanted_seed is not None and operand.is_stored and wanted_seed not in operand.runs:
            raise click.UsageError(f"{name} has no run of seed {wanted_seed}.")
    if seed is None and seed_b is not None:
        seed = next(iter(a.runs)) if a.is_stored else int((a.network or {})["run"]["seed"])
    if seed is not None:
        second_seed = seed if seed_b is None else seed_b
        if b.is_stored and second_seed not in b.runs:
            raise click.UsageError(f"{b.name} has no run of seed {second_seed}; give --seed-b.")
        return [(seed, second_seed)]
    try:
        common_seed_list = list_common_seeds(a, b, 1, None)
        if not common_seed_list:
            raise ValueError(f"{a.name} and {b.name} have no seed in common, so no runs to pair")
        return [(common_seed, common_seed) for common_seed in common_seed_list]
    except ValueError as error:
        raise click.UsageError(f"{error}; give --seed and --seed-b.") from None


def _format_identical(hashes: list[tuple[str, str]]) -> str:
    if len(hashes) == 1:
        return f"identical: results hash {hashes[0][0]}"
    return f"identical: {len(hashes)} runs, results hash of the first {hashes[0][0]}"


def _list_kernels(a: ComparisonOperand, b: ComparisonOperand, seeds: tuple[int, int]) -> list[str]:
    """List the Linux kernels that ran a side, each once; empty for the simulator."""
    runs = (a.runs[seeds[0]], b.runs[seeds[1]])
    kernels = [f"Linux {run.provenance.kernel}" for run in runs if run.provenance.kernel]
    return list(dict.fromkeys(kernels))


def _format_divergence(
    a: ComparisonOperand,
    b: ComparisonOperand,
    seeds: tuple[int, int],
    divergence: Divergence | None,
    different: int,
    count: int,
) -> list[str]:
    from trunkline.compare.divergence import describe_event

    count_text = f"{different} of {count} runs differ; " if count > 1 else ""
    seeds_text = f"seed {seeds[0]}" if seeds[0] == seeds[1] else f"seeds {seeds[0]} and {seeds[1]}"
    versions = [side.runs[seed].provenance.version for side, seed in ((a, seeds[0]), (b, seeds[1]))]
    versions_text = f"made by versions {versions[0]} (A) and {versions[1]} (B)"
    kernels = _list_kernels(a, b, seeds)
    if kernels:
        return [
            f"{count_text}{seeds_text}: for runs in {' and '.join(kernels)}, only the tables "
            f"are compared"
        ]
    if divergence is None:
        reason = versions_text if versions[0] != versions[1] else "the difference is in the tables"
        return [f"{count_text}{seeds_text}: all packets move alike when run again; {reason}"]
    other_side = "B" if divergence.side == "A" else "A"
    lines = [
        f"{count_text}{seeds_text}: the runs diverge at {divergence.time_ns / 1e9:.9f} s at "
        f"{divergence.place}, "
        f"after {divergence.compared} events alike",
        f"  packet: {divergence.packet}",
        f"  {divergence.side}: {describe_event(divergence.event)}",
        f"  {other_side}: {divergence.other}",
    ]
    if divergence.before is not None:
        lines.append(f"  before: {describe_event(divergence.before)}, in both")
    lines += [f"  why: {text}" for text in divergence.why]
    if versions[0] != versions[1]:
        lines.append(f"  note: {versions_text}")
    return lines


def _list_table_differences(
    a: ComparisonOperand, b: ComparisonOperand, seeds: tuple[int, int]
) -> list[str]:
    """Describe the first cell that differs in each table."""
    first, second = a.runs[seeds[0]], b.runs[seeds[1]]
    differences = []
    for name, table in first.tables.items():
        second_table = second.tables[name]
        if name == "packets":
            continue
        if len(table) != len(second_table):
            differences.append(f"{name} has {len(table)} rows in A, {len(second_table)} in B")
            continue
        for field in table.fields:
            if not field.in_hash:
                continue
            pairs = zip(table[field.name], second_table[field.name], strict=True)
            row = next((i for i, (x, y) in enumerate(pairs) if x != y), None)
            if row is not None:
                key = table[table.columns[0]][row] if table.fields[0].kind == "str" else "the run"
                values = (table[field.name][row], second_table[field.name][row])
                differences.append(
                    f"{name}.{field.name} of {key}: {values[0]} in A, {values[1]} in B"
                )
                break
    return differences
