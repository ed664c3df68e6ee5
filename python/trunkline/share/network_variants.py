"""Effect of parameters on a compiled network: the changes by each value, found by compiling.

Each offered value is compiled as ``trunkline run --set`` would compile it, and only the differences
from the written scenario are kept: a patch, a list of places and values. Parameters that change
different places combine freely. Those that change the same place, or whose patches together do not
give the network of the compiler, form a group, of which every combination is compiled.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trunkline.scenario.diagnostic import ScenarioError
from trunkline.share.offered_values import OfferedParameter

MAX_GROUP_VARIANTS = 400  # Combinations of a group's values that are compiled.
MIN_VALUES_IN_GROUP = 3
"""Values that a parameter keeps, at least, where its group would have too many combinations."""

Document = Mapping[str, Any]
Place = tuple[str | int, ...]
Patch = list[tuple[Place, Any]]
Choice = tuple[int, ...]
CompileDocument = Callable[[Mapping[str, str]], Document]


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters that enter a network together, and the patch of each combination of values."""

    parameters: tuple[OfferedParameter, ...]  # Those of the group.
    # By the index of the value of each parameter; a combination that the compiler refuses has none.
    patches: Mapping[Choice, Patch]


@dataclass(slots=True)
class NetworkVariants:
    """A compiled network and its changes."""

    document: Document  # Compiled network of the written scenario.
    # Groups whose patches change different places.
    groups: list[ParameterGroup] = field(default_factory=list)
    # Parameters that the page cannot offer, and why.
    left_out: list[tuple[str, str]] = field(default_factory=list)


def find_differences(before: Any, after: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Find the smallest parts of a document that differ, with their new values.

    Lists of different lengths, and mappings of different keys, are one part each.
    """
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from find_differences(before[key], after[key], (*place, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from find_differences(old, new, (*place, index))
    elif before != after or type(before) is not type(after):
        yield place, after


def apply_patch(document: Any, patch: Patch) -> Any:
    """The document with other values at the places of a patch; the original does not change."""
    for place, value in patch:
        document = _replace(document, place, value)
    return document


def _replace(document: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    key, *rest = place
    changed: Any = dict(document) if isinstance(document, dict) else list(document)
    changed[key] = _replace(document[key], tuple(rest), value)
    return changed


def find_variants(
    compile_document: CompileDocument,
    parameters: Sequence[OfferedParameter],
    progress: Callable[[int, int], object] | None = None,
) -> NetworkVariants:
    """Compile the values that a page offers.

    compile_document: From values by parameter to the compiled scenario.
    parameters: Parameters to offer.
    progress: Called with the number of values compiled and of all.
    Raises ScenarioError: The written scenario does not compile.
    """
    variants = NetworkVariants(compile_document({}))
    total = sum(len(each.values) - 1 for each in parameters)
    compiled_count = 0

    def count() -> None:
        nonlocal compiled_count
        compiled_count += 1
        if progress is not None:
            progress(min(compiled_count, total), total)

    single = [_compile_group(compile_document, variants, (each,), count) for each in parameters]
    groups = []
    for group in single:
        name = group.parameters[0].name
        if len(group.patches) == 1:
            variants.left_out.append((name, "the checks refuse every other value of it"))
        elif not any(group.patches.values()):
            variants.left_out.append((name, "no value of it changes the network"))
        else:
            groups.append(group)
    variants.groups = _join_dependent_groups(compile_document, variants, groups, count)
    return variants


def _compile_group(
    compile_document: CompileDocument,
    variants: NetworkVariants,
    parameters: tuple[OfferedParameter, ...],
    count: Callable[[], None],
) -> ParameterGroup:
    written = tuple(each.written for each in parameters)
    patches: dict[Choice, Patch] = {}
    for choice in itertools.product(*(range(len(each.values)) for each in parameters)):
        if choice == written:
            patches[choice] = []
            continue
        count()
        try:
            document = compile_document(_list_values(parameters, choice, written))
        except ScenarioError:
            continue
        patches[choice] = list(find_differences(variants.document, document))
    return ParameterGroup(parameters, patches)


def _list_values(
    parameters: Sequence[OfferedParameter], choice: Choice, written: Choice
) -> dict[str, str]:
    """List the values to set; those that the scenario has are not set again."""
    return {
        parameter.name: parameter.values[index]
        for parameter, index, own in zip(parameters, choice, written, strict=True)
        if index != own
    }


def _join_dependent_groups(
    compile_document: CompileDocument,
    variants: NetworkVariants,
    groups: list[ParameterGroup],
    count: Callable[[], None],
) -> list[ParameterGroup]:
    """Join groups until the patches of any two equal the compiler's output."""
    joined = list(groups)
    while True:
        pair = next(
            (
                (one, other)
                for one, other in itertools.combinations(joined, 2)
                if not _are_independent(compile_document, variants, one, other)
            ),
            None,
        )
        if pair is None:
            return joined
        for group in pair:
            joined.remove(group)
        parameters = _thin_out((*pair[0].parameters, *pair[1].parameters))
        if parameters is None:
            kept, left_out = pair
            names = ", ".join(each.name for each in kept.parameters)
            variants.left_out += [
                (each.name, f"it enters the network together with {names}: too many combinations")
                for each in left_out.parameters
            ]
            joined.append(kept)
        else:
            joined.append(_compile_group(compile_document, variants, parameters, count))


def _thin_out(parameters: tuple[OfferedParameter, ...]) -> tuple[OfferedParameter, ...] | None:
    """The same parameters with so few values that all combinations can be compiled.

    None if that would leave less than ``MIN_VALUES_IN_GROUP`` of some.
    """
    limit = int(MAX_GROUP_VARIANTS ** (1 / len(parameters)))
    if limit < MIN_VALUES_IN_GROUP:
        return None
    return tuple(_keep_values(each, limit) for each in parameters)


def _keep_values(parameter: OfferedParameter, limit: int) -> OfferedParameter:
    if len(parameter.values) <= limit:
        return parameter
    last, written = len(parameter.values) - 1, parameter.written
    # The ends, the written value, and the rest as even as they come.
    kept = {round(last * step / (limit - 2)) for step in range(limit - 1)} | {written}
    values = tuple(parameter.values[index] for index in sorted(kept))
    return OfferedParameter(
        parameter.name,
        values,
        values.index(parameter.values[written]),
        parameter.is_number,
    )


def _are_independent(
    compile_document: CompileDocument,
    variants: NetworkVariants,
    one: ParameterGroup,
    other: ParameterGroup,
) -> bool:
    """Whether two groups change different places, and together the same as each alone."""
    if _touch_same_place(_list_places(one), _list_places(other)):
        return False
    for first, second in itertools.product(_pick_probes(one), _pick_probes(other)):
        values = {
            name: value
            for group, choice in ((one, first), (other, second))
            for name, value in _list_values(
                group.parameters, choice, tuple(each.written for each in group.parameters)
            ).items()
        }
        patch = [*one.patches[first], *other.patches[second]]
        try:
            if compile_document(values) != apply_patch(variants.document, patch):
                return False
        except ScenarioError:
            return False
    return True


def _list_places(group: ParameterGroup) -> set[Place]:
    return {place for patch in group.patches.values() for place, _ in patch}


def _touch_same_place(some: set[Place], others: set[Place]) -> bool:
    def reaches(places: set[Place], targets: set[Place]) -> bool:
        return any(place[:depth] in targets for place in places for depth in range(len(place) + 1))

    return reaches(some, others) or reaches(others, some)


def _pick_probes(group: ParameterGroup) -> list[Choice]:
    """Combinations to try two groups with: the first and the last that compile, and one between."""
    choices = sorted(choice for choice, patch in group.patches.items() if patch)
    return sorted({choices[0], choices[len(choices) // 2], choices[-1]}) if choices else []
