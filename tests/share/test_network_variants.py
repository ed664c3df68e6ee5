"""What a page offers is what the compiler makes of the same values."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from trunkline.scenario import load
from trunkline.share import NotShareable, build_runnable_scenario
from trunkline.share.network_variants import apply_patch, find_differences
from trunkline.share.offered_values import list_offered_parameters
from trunkline.share.runnable_scenario import make_document

HEAD = """
trunkline: 1
parameters: {rate: 2 Mbit/s, load: 0.5, burst: 3, wait: 10 ms, count: 2, kind: udp}
nodes: [A, B]
links: {A-B: {rate: $rate, delay: $wait}}
"""
SEPARATE = f"""{HEAD}
flows: {{v: {{agent: udp, from: A, to: B, rate: 1 Mbit/s, replicate: $count}}}}
run: {{duration: 1 s}}
"""
TOGETHER = f"""{HEAD}
flows: {{v: {{agent: udp, from: A, to: B, rate: "${{load * rate}}"}}}}
run: {{duration: 1 s}}
"""
WITH_SLA = f"""{HEAD}
flows: {{v: {{agent: udp, from: A, to: B, rate: 1 Mbit/s, stop: 500 ms}}}}
slas: {{fast: {{flow: v, at_most: {{delay_max: $wait}}}}}}
run: {{duration: 1 s}}
"""


def build(tmp_path: Path, text: str, **options):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    return build_runnable_scenario(file, **options), file


def list_choices(variants):
    """Every value of every parameter, by group: (group, choice)."""
    return [[(group, choice) for choice in group.patches] for group in variants.groups]


def compile_choice(file: Path, combination):
    values = {
        parameter.name: parameter.values[index]
        for group, choice in combination
        for parameter, index in zip(group.parameters, choice, strict=True)
        if index != parameter.written
    }
    return make_document(load(file, overrides=values))


def patch_choice(variants, combination):
    document = variants.document
    for group, choice in combination:
        document = apply_patch(document, group.patches[choice])
    return document


@pytest.mark.parametrize(
    "text", [SEPARATE, TOGETHER, WITH_SLA], ids=["separate", "together", "sla"]
)
def test_any_combination_gives_the_network_of_the_compiler(tmp_path, text):
    runnable, file = build(tmp_path, text)
    choices = list_choices(runnable.variants)
    draw = random.Random(1)
    combinations = [[draw.choice(group) for group in choices] for _ in range(60)]
    combinations += [[group[0] for group in choices], [group[-1] for group in choices]]
    for combination in combinations:
        expected = compile_choice(file, combination)
        assert patch_choice(runnable.variants, combination) == expected, combination


def test_parameters_of_one_expression_form_a_group(tmp_path):
    runnable, _ = build(tmp_path, TOGETHER)
    groups = [{each.name for each in group.parameters} for group in runnable.variants.groups]
    assert {"rate", "load"} in groups
    assert {"wait"} in groups


def test_a_parameter_that_changes_nothing_is_not_offered_but_named(tmp_path):
    runnable, _ = build(tmp_path, SEPARATE)
    names = {each.name for group in runnable.variants.groups for each in group.parameters}
    assert names == {"rate", "wait", "count"}
    reason = "no value of it changes the network"
    assert runnable.variants.left_out == [("load", reason), ("burst", reason)]


def test_values_that_the_checks_refuse_are_left_out(tmp_path):
    text = SEPARATE.replace("duration: 1 s", "duration: 1 s, warm_up: $wait")
    runnable, _ = build(tmp_path, text, stated_values={"wait": ["1 ms", "2 s", "900 ms"]})
    (group,) = (group for group in runnable.variants.groups if group.parameters[0].name == "wait")
    allowed = [group.parameters[0].values[choice[0]] for choice in sorted(group.patches)]
    assert allowed == ["10 ms", "1 ms", "900 ms"]


def test_too_many_parameters_of_one_place_are_left_out_by_name(tmp_path):
    names = [f"p{number}" for number in range(8)]
    text = SEPARATE.replace("parameters: {", "parameters: {" + "".join(f"{n}: 1, " for n in names))
    text = text.replace("delay: $wait", f'delay: "${{{" * ".join(names)} * wait}}"')
    runnable, _ = build(tmp_path, text)
    left_out = dict(runnable.variants.left_out)
    assert "too many combinations" in {reason.rpartition(": ")[2] for reason in left_out.values()}
    offered = {each.name for group in runnable.variants.groups for each in group.parameters}
    assert offered | set(left_out) >= {*names, "wait"}
    for group in runnable.variants.groups:
        assert len(group.patches) <= 400


def test_a_slider_goes_from_a_tenth_to_ten_times_in_equal_ratios(tmp_path):
    (rate, *_) = list_offered_parameters(SEPARATE, {})
    assert (rate.values[0], rate.values[12], rate.values[-1]) == (
        "0.2 Mbit/s",
        "2 Mbit/s",
        "20 Mbit/s",
    )
    numbers = [float(value.split()[0]) for value in rate.values]
    ratios = [b / a for a, b in itertools.pairwise(numbers)]
    assert max(ratios) / min(ratios) < 1.1


def test_differences_are_the_smallest_parts_and_put_back_give_the_other_document():
    before = {"a": [1, {"b": 2, "c": [1, 2]}], "d": 1, "e": {"f": 1}}
    after = {"a": [1, {"b": 3, "c": [1]}], "d": 1.0, "e": {"g": 1}}
    found = list(find_differences(before, after))
    assert [place for place, _ in found] == [("a", 1, "b"), ("a", 1, "c"), ("d",), ("e",)]
    assert apply_patch(before, found) == after
    assert before["a"] == [1, {"b": 2, "c": [1, 2]}]


def test_a_run_too_large_for_a_page_is_refused_with_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr("trunkline.share.runnable_scenario.MAX_PAGE_HOPS", 100)
    with pytest.raises(NotShareable, match="million packets on links"):
        build(tmp_path, SEPARATE)


def test_values_of_what_is_no_parameter_are_refused_with_those_there_are(tmp_path):
    with pytest.raises(NotShareable, match="rat is no parameter; the scenario has rate, load"):
        build(tmp_path, SEPARATE, stated_values={"rat": ["1"]})


def test_a_number_that_scripts_would_round_is_refused(tmp_path):
    # 2^53 ns are 9 007 199.25 s.
    with pytest.raises(NotShareable, match="which scripts of pages round"):
        build(tmp_path, SEPARATE.replace("duration: 1 s", "duration: 9007200 s"))
