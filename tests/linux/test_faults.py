"""A guest that dies or hangs, and what is left of the host's network and processes after it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

import pytest
from host_state import read_host_network
from line_plans import SECOND_NS, make_line_plan, make_schedule, make_tcp_flow, make_udp_flow

from trunkline.linux.engine import _list_doubts
from trunkline.linux.guest.process import GuestFailed
from trunkline.linux.guest.readiness import RunnerNotReady, choose_runner
from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.guest.scratch_folders import SCRATCH_PREFIX, remove_leftovers


def processes_in(session):
    """Numbers of the processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def guests_of(parent, others=()):
    """Numbers of the processes that a process has started, but for others that it had before.

    The process that tests has more children than the guest: a browser of a test before, say.
    """
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(word) for word in listed.split() if int(word) not in others]


def gone(session, within_s=5):
    end = time.monotonic() + within_s
    while processes_in(session) and time.monotonic() < end:
        time.sleep(0.05)
    return not processes_in(session)


# A link of a finite rate: over one without, TCP would never let the virtual clock go on.
SLOW = {"n1": ("qdisc add dev l1a root tbf rate 1mbit burst 5k limit 50k",)}


def test_a_guest_that_is_killed_is_reported_and_leaves_nothing(kernel, tmp_path):
    before, sessions, others = read_host_network(), [], guests_of(os.getpid())

    def kill(_part):
        if not sessions:
            sessions.extend(guests_of(os.getpid(), others))
            os.kill(sessions[0], signal.SIGKILL)

    plan = make_line_plan(3, tc=SLOW, tcp=(make_tcp_flow(),), duration_ns=1000 * SECOND_NS)
    with pytest.raises(GuestFailed, match="before it was done") as failed:
        execute_plan(plan, {}, tmp_path / "out", kernel, on_progress=kill)
    assert "| trunkline: 5 %" in str(failed.value)
    assert gone(sessions[0])
    assert not (tmp_path / "out").exists()
    assert read_host_network() == before


def test_a_run_that_hangs_is_ended_in_time_and_reported_with_its_last_lines(native, tmp_path):
    sessions, others = [], guests_of(os.getpid())

    def stop(_part):
        if not sessions:
            sessions.extend(guests_of(os.getpid(), others))
            os.kill(sessions[0], signal.SIGSTOP)

    plan = make_line_plan(3, udp=(make_udp_flow(),), duration_ns=20 * SECOND_NS)
    started = time.monotonic()
    with pytest.raises(GuestFailed, match="sent nothing for 3 s") as failed:
        execute_plan(
            plan, {"udp-0": make_schedule([0])}, tmp_path, native, on_progress=stop, max_silence_s=3
        )
    assert time.monotonic() - started < 60
    assert "| trunkline: time zero" in str(failed.value)
    assert gone(sessions[0])


RUN = """\
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from line_plans import SECOND_NS, make_line_plan, make_tcp_flow
from trunkline.linux.guest.runner import execute_plan
slow = {"n1": ("qdisc add dev l1a root tbf rate 1mbit burst 5k limit 50k",)}
if sys.argv[3] == "native":
    slow = {}
plan = make_line_plan(3, tcp=(make_tcp_flow(),), tc=slow, duration_ns=36000 * SECOND_NS)
execute_plan(plan, {}, Path(sys.argv[2]), sys.argv[3], on_progress=lambda part: None)
"""


def kill_the_owner_of_a_guest(command, folder):
    """Start a program that runs a guest, kill it, and see that nothing of the guest is left."""
    before = read_host_network()
    output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, *command], cwd=folder, **output) as run:
        end = time.monotonic() + 120
        guests = []
        while not guests and time.monotonic() < end and run.poll() is None:
            time.sleep(0.05)
            # The guest has a session of its own; what looks for its parts has not.
            guests = [each for each in guests_of(run.pid) if os.getsid(each) == each]
        time.sleep(2)
        assert guests
        assert processes_in(guests[0])
        run.kill()
    assert gone(guests[0])
    assert read_host_network() == before
    remove_leftovers()
    assert not list(Path(gettempdir()).glob(f"{SCRATCH_PREFIX}{run.pid}-*"))


def library_run(runner, folder):
    return ["-c", RUN, str(Path(__file__).parent), str(folder / "out"), runner]


def test_nothing_of_a_guest_outlives_us_when_we_are_killed(kernel, tmp_path):
    kill_the_owner_of_a_guest(library_run(kernel, tmp_path), tmp_path)


def test_nothing_of_a_run_on_this_kernel_outlives_us_when_we_are_killed(native, tmp_path):
    kill_the_owner_of_a_guest(library_run(native, tmp_path), tmp_path)


@pytest.mark.parametrize("words", [("run", "--engine", "linux"), ("verify",)], ids=lambda w: w[0])
def test_f17_nothing_is_left_of_a_command_that_was_killed(words, quick, trunkline, tmp_path):
    trunkline("examples", "copy", "hello")
    command = ["-m", "trunkline", *words, "hello.yaml", "--set", "run.duration=100000 s"]
    kill_the_owner_of_a_guest([*command, "--runner", quick], tmp_path)


def test_a_run_on_this_kernel_touches_nothing_of_the_host(native, tmp_path):
    before = read_host_network()
    plan = make_line_plan(3, udp=(make_udp_flow(),), duration_ns=SECOND_NS // 5)
    during = []
    record = execute_plan(
        plan,
        {"udp-0": make_schedule([i * 10_000_000 for i in range(20)])},
        tmp_path,
        native,
        on_progress=lambda part: during.append(read_host_network()[:3]),
    )
    assert read_host_network() == before
    assert during
    assert all(seen == before[:3] for seen in during)
    assert not record.comparable
    # A run that was late by more than a millisecond says of itself that it is not to be trusted.
    assert record.trustworthy == (record.late_ns <= 1_000_000)
    about = json.loads((tmp_path / "run.json").read_text())
    assert (about["comparable"], about["late_ns"]) == (False, record.late_ns)
    assert len((tmp_path / "udp-0.bin").read_bytes()) == 20 * 24


def test_f18_devices_and_namespaces_of_the_same_names_are_left_alone(native, tmp_path):
    # A network and mounts of our own, with a device and a namespace named as those of the plan.
    run = f'{sys.executable} -c "$RUN" {Path(__file__).parent} {tmp_path / "out"} native'
    look = "{ ip -j link; ip -j addr; tc -j qdisc; ip netns list; }"
    script = (
        "mount -t tmpfs none /run && ip link add l0a type veth peer name l0b && "
        f"ip netns add n0 && ip link set l0a up || exit 99; {look} >before; {run}; {look} >after"
    )
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        ["unshare", "--net", "--mount", *root, "sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "RUN": RUN.replace("36000", "1")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 99:
        pytest.skip(f"no network of our own here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "tcp-1.json").read_text())["received_bytes"] > 0
    before, after = ((tmp_path / name).read_text() for name in ("before", "after"))
    assert "l0a" in before
    assert "n0" in before.splitlines()[-1]
    assert after == before


def test_f19_a_run_on_a_busy_host_says_by_how_much_it_was_late(native, tmp_path):
    others, stopped = guests_of(os.getpid()), []

    def stall(_part):
        if not stopped:
            stopped.extend(guests_of(os.getpid(), others))
            os.kill(stopped[0], signal.SIGSTOP)
            time.sleep(0.1)
            os.kill(stopped[0], signal.SIGCONT)

    plan = make_line_plan(3, udp=(make_udp_flow(),), duration_ns=2 * SECOND_NS)
    given = {"udp-0": make_schedule([i * 10_000_000 for i in range(200)])}
    record = execute_plan(plan, given, tmp_path, native, on_progress=stall)
    assert record.late_ns > 80_000_000
    assert not record.trustworthy
    printed = list(_list_doubts(record))
    assert printed[0] == "native runs in real time: its delays are not to be compared"
    assert re.match(r"not trustworthy: late by \d+\.\d ms with a packet", printed[1])
    assert list(_list_doubts(replace(record, late_ns=0, trustworthy=True))) == printed[:1]


def test_where_no_runner_is_ready_the_reasons_and_remedies_are_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(RunnerNotReady) as unready:
        choose_runner(None)
    text = str(unready.value)
    assert "uml is not ready: kernel: trunkline linux setup --runner uml" in text
    assert "qemu is not ready: " in text
    assert "trunkline linux setup --runner qemu" in text


def test_a_guest_without_memory_enough_is_reported_with_the_kernels_reason(quick, tmp_path):
    plan = make_line_plan(2, udp=(make_udp_flow(2),))
    many = make_schedule([0] * 3_000_000)
    with pytest.raises(GuestFailed) as failed:
        execute_plan(plan, {"udp-0": many}, tmp_path, quick, memory_mb=64)
    # The emulated machine's firmware finds no room for the first file system: nothing is said then.
    reason = "Out of memory" if quick == "uml" else "before it was done"
    assert reason in str(failed.value)
