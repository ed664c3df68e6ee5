"""Build a wheel whose engine is compiled with a profile of the benchmark's workloads.

``python tools/build/profiled_wheel.py --out dist [options of maturin]``: builds an engine that
counts which branches it takes, runs the workloads with it, and builds the wheel with those counts
(``-Cprofile-use`` of rustc). Both builds compile with the same options, or the counts would be of
other functions; only the linker may differ. The interpreter that runs this has maturin and the
packages that trunkline needs. Only the standard library is used here.
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAINING = os.path.join(ROOT, "bench", "training.py")


class ProfileUnavailable(Exception):
    """Error where no profile can be made."""


def find_profile_tool() -> str:
    """Find the program that merges counts, of the LLVM that this Rust has.

    Returns
    -------
    str
        Path of ``llvm-profdata``.

    Raises
    ------
    ProfileUnavailable
        It is not installed; says how to get it.
    """
    command = ["rustc", "--print", "target-libdir"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ProfileUnavailable(f"rustc does not say where its libraries are: {error}") from error
    folder = os.path.join(os.path.dirname(done.stdout.strip()), "bin")
    for name in ("llvm-profdata", "llvm-profdata.exe"):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    raise ProfileUnavailable(
        f"llvm-profdata of this Rust is not in {folder}: rustup component add llvm-tools"
    )


def remove_linker_options(options: list[str]) -> list[str]:
    """Remove the options that change how a wheel is linked, not what is compiled.

    zig reads the ``-u SYMBOL`` of a counting build as a file. That wheel runs on this machine only,
    so this machine links it.

    Parameters
    ----------
    options : list of str
        Options of maturin.

    Returns
    -------
    list of str
        Those without ``--zig`` and with ``--compatibility linux``, if they name a compatibility.
    """
    kept = [option for option in options if option != "--zig"]
    return [
        "linux" if before == "--compatibility" else option
        for before, option in zip(["", *kept], kept, strict=False)
    ]


def build_wheel(out: str, options: list[str], flags: str) -> str:
    """Build a wheel with maturin.

    Parameters
    ----------
    out : str
        Folder to put it in.
    options : list of str
        Options of maturin.
    flags : str
        Flags of rustc, besides those of the environment.

    Returns
    -------
    str
        Its path.
    """
    before = os.environ.get("RUSTFLAGS", "")
    environment = {**os.environ, "RUSTFLAGS": f"{before} {flags}".strip()}
    command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", *options]
    subprocess.run([*command, "--out", out], check=True, cwd=ROOT, env=environment)
    return max(glob.glob(os.path.join(out, "*.whl")), key=os.path.getmtime)


def run_training(wheel: str, task: str, folder: str, **environment: str) -> None:
    """Run a task of `bench/training.py` with the package of a wheel.

    Parameters
    ----------
    wheel : str
        Path of the wheel.
    task : {"run", "check"}
        The task.
    folder : str
        Where it is unpacked.
    **environment : str
        Variables to add.
    """
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    variables = {**os.environ, **environment, "PYTHONPATH": folder}
    subprocess.run([sys.executable, TRAINING, task], check=True, cwd=folder, env=variables)


def merge_counts(tool: str, folder: str) -> str:
    """Merge the counts of all runs.

    Parameters
    ----------
    tool : str
        ``llvm-profdata``.
    folder : str
        Has the counts.

    Returns
    -------
    str
        Path of the profile.

    Raises
    ------
    ProfileUnavailable
        There are none.
    """
    counts = glob.glob(os.path.join(folder, "*.profraw"))
    if not counts:
        raise ProfileUnavailable(f"the engine has written no counts to {folder}")
    profile = os.path.join(folder, "engine.profdata")
    subprocess.run([tool, "merge", "-o", profile, *counts], check=True)
    return profile


def build_profiled_wheel(out: str, options: list[str]) -> str:
    """Build the wheel with a profile, and check that its results are the pinned ones.

    Parameters
    ----------
    out : str
        Folder to put it in.
    options : list of str
        Options of maturin.

    Returns
    -------
    str
        Its path.

    Raises
    ------
    ProfileUnavailable
        No profile can be made here.
    """
    tool = find_profile_tool()
    with tempfile.TemporaryDirectory(prefix="trunkline-profile-") as scratch:
        parts = ("counting", "counting-package", "counts", "package")
        counting, counting_package, counts, package = (os.path.join(scratch, p) for p in parts)
        wheel = build_wheel(
            counting, remove_linker_options(options), f"-Cprofile-generate={counts}"
        )
        run_training(wheel, "run", counting_package)
        profile = merge_counts(tool, counts)
        wheel = build_wheel(os.path.abspath(out), options, f"-Cprofile-use={profile}")
        run_training(wheel, "check", package)
    return wheel


def main() -> int:
    """Build the wheel that the command line asks for.

    Returns
    -------
    int
        4 where no profile can be made, 3 where a program that it calls fails, else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder of the wheel")
    known, options = parser.parse_known_args()
    try:
        print(build_profiled_wheel(known.out, options))
    except ProfileUnavailable as error:
        print(f"profiled_wheel: {error}", file=sys.stderr)
        return 4
    except subprocess.CalledProcessError as error:
        # The program has printed why.
        print(f"profiled_wheel: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
