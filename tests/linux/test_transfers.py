"""Transfers on the kernel: the same sizes at the same times, by its own TCP."""

from pathlib import Path

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.judge import verification
from trunkline.network import Network, compile
from trunkline.scenario import load

LINE = """\
trunkline: 1
nodes: [S, A, B, D]
links:
  S-A: {rate: 100 Mbit/s, delay: 1 ms}
  A-B: {rate: 10 Mbit/s, delay: 10 ms}
  B-D: {rate: 100 Mbit/s, delay: 1 ms}
flows:
  web: {agent: tcp, preset: linux, connect: true, from: S, to: D, transfers: TRANSFERS}
run: {duration: TIME}
"""
# Not of whole segments: there the kernel sends its FIN by itself.
SIZES = [
    ("0.1 s", "1 kB"),
    ("1 s", "1461 B"),
    ("2 s", "2919 B"),
    ("3 s", "10 kB"),
    ("4 s", "100 kB"),
]
LAW = "{load: 60 %, of: A->B, size: {lognormal: {mean: 30 kB, sd: 60 kB, max: 1 MB}}}"


def line(folder: Path, transfers: str, time: str) -> Network:
    """The scenario, compiled; its schedule lies beside it."""
    rows = "".join(f"{at},{size}\n" for at, size in SIZES)
    (folder / "sizes.csv").write_text(f"time,size\n{rows}")
    written = folder / "line.yaml"
    written.write_text(LINE.replace("TRANSFERS", transfers).replace("TIME", time))
    return compile(load(written))


def test_kernel_alone_each_transfer_takes_the_same_time_and_packets(
    quick: str, tmp_path: Path
) -> None:
    """SYN, data, FIN, every acknowledgement: the same packets on each link; times within 20 us."""
    schedule = "{arrivals: schedule, schedule: sizes.csv, record: true}"
    written = line(tmp_path, schedule, "5 s").to_json()
    (tmp_path / "guest").mkdir()
    ours = simulate(written, seeds=[1])[0]
    value = engine.run_in_guest(written, 1, tmp_path / "guest", runner=quick).results
    for column in ("packets_sent", "bytes_sent"):
        assert list(value.ports[column]) == list(ours.ports[column])
    times = list(zip(ours.transfers["fct_s"], value.transfers["fct_s"], strict=True))
    assert len(times) == len(SIZES)
    assert all(
        abs(float(str(one)) - float(str(other))) < (20e-6 if quick == "uml" else 1e-3)
        for one, other in times
    )
    assert list(value.completions["finished"]) == list(ours.completions["finished"])


@pytest.mark.guests
def test_kernel_completion_times_at_a_load_agree(kernel: str, tmp_path: Path) -> None:
    """Some 740 lognormal transfers at 60 % of a link, eight seeds: means are within margins.

    On user-mode Linux 6.1.192: mean 141.5 and 139.6 ms, median 84.8 and 83.5, p95 397 and 397.
    """
    written = line(tmp_path, LAW, "30 s").to_json()
    verdict = verification.verify_kernel(written, range(1, 9), runner=kernel)
    rows = {row.measure: row for row in verdict.rows if "complet" in row.measure}
    assert len(rows) == 4
    assert "differs" not in {row.outcome for row in rows.values()}
    assert all(abs(row.difference) <= row.margin for row in rows.values())
