"""What can go wrong while a runner is prepared: killed, cut off, no space, a guest that dies.

The package manager is a stand-in that hands out one kernel without content.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trunkline.linux.guest import setup
from trunkline.linux.guest.qemu import MODULES_AFTER
from trunkline.linux.plan.modules import KERNEL_MODULES

IMAGE = "linux-image-6.1.0-1-cloud-amd64"
ARCHIVE = b"an archive"
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()
ABOUT = f"Package: {IMAGE}\\nVersion: 6.1-1\\nSize: {len(ARCHIVE)}\\nSHA256: {DIGEST}\\n"
BUILT_IN = "\\n".join(f"kernel/{name}.ko" for name in (*KERNEL_MODULES, *MODULES_AFTER))

PROGRAMS = {
    "apt-cache": f"""
case "$*" in
*depends*) echo "  Depends: {IMAGE}" ;;
*policy*) printf '{IMAGE}:\\n  Candidate: 6.1-1\\n' ;;
*show*) printf '{ABOUT}' ;;
esac
""",
    "apt-get": f"""
echo "$@" >>"$FAKES/log"
case "$*" in
*download*)
    if [ -e "$FAKES/gone" ] && ! grep -q update "$FAKES/log"; then
        echo "E: Failed to fetch {IMAGE}  404  Not Found" >&2
        exit 100
    fi
    cat "$FAKES/content" >{IMAGE}_6.1-1_amd64.deb
    ;;
esac
""",
    "dpkg-deb": f"""
mkdir -p "$3/boot" "$3/lib/modules/6.1.0-1-cloud-amd64"
[ ! -e "$FAKES/slow" ] || sleep 60
[ ! -e "$FAKES/large" ] || head -c 4000000 /dev/zero >"$3/large" || exit 2
printf '{BUILT_IN}' >"$3/lib/modules/6.1.0-1-cloud-amd64/modules.builtin"
echo kernel >"$3/boot/vmlinuz-6.1.0-1-cloud-amd64"
""",
    # An emulator whose guest panics.
    "qemu-system-x86_64": 'echo "Kernel panic - not syncing: no init" >>console; exit 1\n',
}


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """Folder of the programs that stand in, and of the files that tell them what to do."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    (folder / "content").write_bytes(ARCHIVE)
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def environment(fakes: Path, tmp_path: Path) -> dict[str, str]:
    """Of a setup that finds them first."""
    path = f"{fakes}:{os.environ['PATH']}"
    return {"PATH": path, "FAKES": str(fakes), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "trunkline" / "linux"


SETUP = ("linux", "setup", "--runner", "qemu")
DIES = "the guest of qemu does not come up on this machine"


def hidden(folder: Path) -> list[str]:
    """What is half done."""
    return [str(path) for path in folder.rglob(".*")]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_setup_that_is_interrupted_goes_on_where_it_stopped(
    number, status, trunkline, environment, fakes, cache
):
    (fakes / "slow").touch()
    command = [sys.executable, "-m", "trunkline", *SETUP]
    run = subprocess.Popen(
        command, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True
    )
    with run:
        assert any("unpacking" in line for line in run.stderr)
        while not list(cache.rglob("boot")):
            time.sleep(0.01)
        run.send_signal(number)
        assert run.wait(30) == status
    assert (hidden(cache) == []) is (number == signal.SIGINT)
    assert not (cache / "qemu" / "root").exists()
    (fakes / "slow").unlink()
    done = trunkline(*SETUP, env=environment)
    assert DIES in done.stderr
    assert hidden(cache) == []
    assert (cache / "qemu" / "root" / "boot").exists()
    assert (fakes / "log").read_text().count("download") == 1


def test_a_compiler_that_outlives_its_setup_is_waited_for(tmp_path):
    expected = []
    with setup._lock_cache(tmp_path, expected.append) as lock:
        left = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[lock])
    # It lives until nobody holds the other end of its pipe.
    ends = threading.Timer(0.5, left.stdin.close)
    ends.start()
    with left, setup._lock_cache(tmp_path, expected.append):
        assert left.stdin.closed
        assert left.wait(60) == 0
    assert expected == ["waiting for another setup, or for what is left of one"]


def test_a_runner_whose_guest_dies_at_its_trial_is_reported_and_not_ready(
    trunkline, environment, cache
):
    done = trunkline(*SETUP, env=environment)
    assert done.returncode == 4
    assert DIES in done.stderr
    assert "  | Kernel panic - not syncing: no init" in done.stderr
    assert not (cache / "qemu" / "tried").exists()
    state = trunkline("linux", "status", "--json", env=environment)
    (qemu,) = [r for r in json.loads(state.stdout)["runners"] if r["runner"] == "qemu"]
    (lacking,) = [part for part in qemu["parts"] if not part["found"]]
    assert lacking == {
        "name": "trial",
        "found": False,
        "detail": "trunkline linux setup --runner qemu",
    }


def test_a_package_with_another_checksum_is_refused_and_nothing_of_it_kept(
    trunkline, environment, fakes, cache
):
    (fakes / "content").write_bytes(b"another archive")
    done = trunkline(*SETUP, env=environment)
    assert done.returncode == 4
    assert f"error[linux]: not what the package lists say: {IMAGE}" in done.stderr
    assert list((cache / "packages").iterdir()) == []
    assert not (cache / "qemu").exists()


def test_a_package_that_the_archive_has_replaced_is_found_in_new_lists(
    trunkline, environment, fakes, cache
):
    (fakes / "gone").touch()
    done = trunkline(*SETUP, env=environment)
    assert "404  Not Found" in done.stderr
    assert "trying again with today's package lists" in done.stderr
    assert DIES in done.stderr
    assert (cache / "qemu" / "root" / "boot").exists()


def test_a_kernel_that_lacks_a_module_is_named_with_it(trunkline, environment, fakes):
    lacking = (fakes / "dpkg-deb").read_text().replace("kernel/sch_htb.ko", "kernel/other.ko")
    (fakes / "dpkg-deb").write_text(lacking)
    done = trunkline(*SETUP, env=environment)
    assert done.returncode == 4
    assert "qemu is not ready: modules: the kernel lacks sch_htb" in done.stderr


BEGIN = "from trunkline.cli import main; from trunkline.linux.guest import setup; "
NO_CHECK = "setup.UNPACKED_BYTES['qemu'] = 0; "


@pytest.mark.parametrize(
    ("before", "expected"),
    [("", "has 2 MB free; this takes 190 MB"), (NO_CHECK, "No space left on device")],
    ids=["seen-before", "met-on-the-way"],
)
def test_f5_a_full_disk_is_said_and_nothing_half_unpacked_stays(
    before, expected, environment, fakes, tmp_path
):
    # A file system of 2 MB in a mount namespace of its own; 4 MB are to be unpacked into it.
    (fakes / "large").touch()
    small = tmp_path / "cache"
    small.mkdir()
    code = f"{BEGIN}{before}main({list(SETUP)})"
    script = (
        f"mount -t tmpfs -o size=2m none {small} || exit 99\n"
        f'{sys.executable} -c "{code}"; echo status $?\n'
        f"find {small} -name root -o -name '.*'\n"
    )
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        ["unshare", "--mount", *root, "sh", "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 99 or "unshare:" in done.stderr:
        pytest.skip(f"no small file system here: {done.stderr.strip()}")
    assert done.stdout.splitlines() == ["status 4"], done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
