"""What the kernel is asked for, what it is not, and what a runner says that it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from trunkline.cli.linux_command import command
from trunkline.linux.guest import native, packages, readiness, setup
from trunkline.linux.guest.requirements import Requirement
from trunkline.linux.plan.command_script import UnsupportedError
from trunkline.linux.plan.compiled_plan import compile_plan as plan_of
from trunkline.linux.plan.guest_plan import GuestPlan
from trunkline.network import compile
from trunkline.scenario import load

LABELLED = """\
trunkline: 1
nodes: [S, A, B, D]
links:
  S-A: {rate: 10 Mbit/s, delay: 1 ms}
  A-B: {rate: 10 Mbit/s, delay: 1 ms, forward: {ingress: meter}}
  B-D: {rate: 10 Mbit/s, delay: 1 ms}
paths: {lsp: {route: [A, B, D]}}
trunks: {t: {path: lsp, flows: [u]}}
conditioners:
  meter:
    rules: [{RULE, profile: one}]
    profiles: {one: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 10 kB}, red: drop}}
flows: {u: {agent: udp, from: S, to: D, rate: 2 Mbit/s, dscp: EF}}
run: {duration: 1 s}
"""


def planned(text: str) -> GuestPlan:
    return plan_of(compile(load(text)).to_json()).plan


@pytest.mark.parametrize("rule", ["tc: 5", "dscp: EF"])
def test_b2_a_conditioner_of_labelled_packets_is_refused(rule: str) -> None:
    """B2: its filters were for IP only: 464 packets policed in the simulator, 0 in the kernel."""
    text = LABELLED.replace("RULE", rule)
    if rule == "dscp: EF":
        planned(text)
        return
    with pytest.raises(UnsupportedError, match="packets arrive with labels over A->B") as refused:
        planned(text)
    assert "ingress: meter" not in str(refused.value)
    assert "conditioners[meter]" in refused.value.to_scenario_error(load(text)).render()


def test_b7_a_kernel_without_netem_or_labels_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """B7: `doctor` called `native` ready on any kernel with namespaces."""
    why = "node n0: ip: RTNETLINK answers: Operation not supported"
    monkeypatch.setattr(
        native,
        "check_tools",
        lambda _: [Requirement("ip", True, "ip"), Requirement("tc", True, "tc")],
    )
    monkeypatch.setattr(native, "_find_missing_support", lambda: why)
    state = readiness.examine_runner("native")
    if not any(part.name == "namespaces" and part.found for part in state.requirements):
        pytest.skip("no namespaces here")
    assert not state.is_ready
    assert f"kernel: {why}" in state.reason
    assert readiness.choose_runner("native") == "native"  # A plan that needs less runs.


def test_b8_a_cache_that_cannot_be_removed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B8: `linux clean` on a read-only home said "238 MB freed"."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = tmp_path / "trunkline" / "linux" / "qemu"
    kept.mkdir(parents=True)

    def refused(folder: Path) -> None:
        raise OSError(30, "Read-only file system", str(folder))

    monkeypatch.setattr(setup.shutil, "rmtree", refused)
    done = CliRunner().invoke(command, ["clean", "--runner", "qemu"], standalone_mode=False)
    assert done.return_value == 4
    assert f"{kept}: Read-only file system; 0 MB freed" in done.output


def test_b8_lists_that_were_not_fetched_are_an_error_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B8: without a network `apt-get update` ended with 0 and its empty lists were kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for name in ("apt-cache", "dpkg-deb", "apt-get"):
        # As apt: what cannot be fetched is a warning, unless it is asked to be an error.
        (tmp_path / name).write_text(
            '#!/bin/sh\ncase "$*" in *Error-Mode=any*update*) '
            "echo 'E: Could not resolve the archive' >&2; exit 100 ;; esac\n"
        )
        (tmp_path / name).chmod(0o755)
    apt = packages.AptRepository()
    with pytest.raises(packages.PackageUnavailable, match="Could not resolve the archive"):
        apt.refresh_lists()
    assert not list((tmp_path / "cache").rglob("lists"))
