"""Steps that prepare the environment, each skipped when its inputs have not changed."""

import hashlib
import os
import shutil
import sys

from shell import Clock, Failed, run, say

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BOOT = os.path.join(ROOT, ".boot")
VENV = os.path.join(ROOT, ".venv")
STAMPS = os.path.join(ROOT, ".stamps")
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
MODULE = os.path.join(ROOT, "python", "trunkline", "_core.abi3.so")
# Each level of the environment holds all that the ones before it hold.
LEVELS = ["run", "test", "check", "docs"]
# The same for every cargo call, so that none makes another rebuild; the first as maturin sets it.
CARGO_ENVIRONMENT = {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_NO_PYTHON": "1"}
QUICK = ["--config", os.path.join(ROOT, "tools", "dev", "quick.toml")]
OLDEST_RUST = (1, 85)


def relative(path: str) -> str:
    """A path as seen from where the user stands.

    Parameters
    ----------
    path : str
        Absolute path.

    Returns
    -------
    str
    """
    return os.path.relpath(path)


def prepare(level: str) -> None:
    """Make the environment ready.

    Parameters
    ----------
    level : {"run", "test", "check", "docs"}
        What has to be possible in it.

    Raises
    ------
    Failed
        A tool is missing or a step failed.
    """
    if level not in LEVELS:
        raise Failed(f"no such level {level!r}; there are {', '.join(LEVELS)}", 2)
    packages = packages_wanted(level)
    engine = engine_wanted()
    charts = charts_wanted()
    if packages is None and engine is None and charts is None:
        return
    from concurrent.futures import ThreadPoolExecutor

    clock = Clock()
    with ThreadPoolExecutor(2) as pool:
        # Compiling keeps the processors busy while the wheels arrive.
        tasks = []
        if engine is not None:
            check_rust()
            say("compiling the packet engine (about a minute the first time, less after edits)")
            tasks.append(pool.submit(build_engine, engine))
        if packages is not None:
            say(f"fetching the Python packages to .venv, level {packages[0]} (about 15 s, once)")
            tasks.append(pool.submit(sync_packages, *packages))
        if charts is not None:
            tasks.append(pool.submit(fetch_charts, charts))
        for task in tasks:
            task.result()
    say(f"environment ready after {clock}")


def stamp_path(name: str) -> str:
    """The file that says what a step was last done with.

    Parameters
    ----------
    name : str
        The step.

    Returns
    -------
    str
    """
    return os.path.join(STAMPS, name)


def read_stamp(name: str) -> str:
    """What a step was last done with; empty if never.

    Parameters
    ----------
    name : str
        The step.

    Returns
    -------
    str
    """
    try:
        with open(stamp_path(name), encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def write_stamp(name: str, text: str) -> None:
    """Record that a step is done.

    Parameters
    ----------
    name : str
        The step.
    text : str
        What it was done with.
    """
    os.makedirs(STAMPS, exist_ok=True)
    partial = stamp_path(name) + ".partial"
    with open(partial, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(partial, stamp_path(name))


def digest(paths: list[str]) -> str:
    """Hash of files, names and contents.

    Parameters
    ----------
    paths : list of str
        The files.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    total = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as stream:
            content = stream.read()
        total.update(f"{os.path.relpath(path, ROOT)}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def requirements(level: str) -> str:
    """The hashed requirements of a level.

    Parameters
    ----------
    level : str
        The level.

    Returns
    -------
    str
        Path.
    """
    return os.path.join(ROOT, "requirements", f"{level}.txt")


def packages_wanted(level: str) -> tuple[str, str] | None:
    """Level to install and its stamp, or nothing when the environment has it already.

    Parameters
    ----------
    level : str
        What is asked for now; a higher level that was installed before is kept.

    Returns
    -------
    (str, str) or None
    """
    done = read_stamp("packages")
    had = done.partition(" ")[0]
    if had in LEVELS and LEVELS.index(had) > LEVELS.index(level):
        level = had
    stamp = f"{level} {digest([requirements(level)])} {sys.version} {ROOT}"
    if done == stamp and os.path.exists(VENV_PYTHON):
        return None
    return level, stamp


def engine_wanted() -> str | None:
    """The engine's stamp, or nothing when it is built from the sources as they are.

    Returns
    -------
    str or None
    """
    sources = [os.path.join(ROOT, name) for name in ("Cargo.toml", "Cargo.lock")] + QUICK[1:]
    for folder, folders, names in os.walk(os.path.join(ROOT, "crates")):
        folders.sort()
        sources += [os.path.join(folder, n) for n in sorted(names) if n.endswith((".rs", ".toml"))]
    stamp = digest(sources)
    return None if read_stamp("engine") == stamp and os.path.exists(MODULE) else stamp


def check_rust() -> None:
    """Make sure that the engine can be compiled.

    Raises
    ------
    Failed
        A tool is missing or too old; says how to get it.
    """
    import subprocess

    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        raise Failed("a C linker is missing. On Debian or Ubuntu: apt-get install gcc libc6-dev", 4)
    wanted = ".".join(map(str, OLDEST_RUST))
    how = f"Rust {wanted} or newer comes with rustup: https://rustup.rs"
    if not shutil.which("cargo"):
        raise Failed(f"cargo is missing. {how}", 4)
    text = subprocess.run(["cargo", "--version"], capture_output=True, text=True, cwd=ROOT).stdout
    try:
        version = tuple(int(part) for part in text.split()[1].split("-")[0].split(".")[:2])
    except (IndexError, ValueError):
        raise Failed(f"cargo does not say its version: {text.strip()!r}. {how}", 4) from None
    if version < OLDEST_RUST:
        raise Failed(f"{text.strip()} is too old. {how}", 4)


def build_engine(stamp: str) -> None:
    """Compile the Python module of the engine and put it into the source tree.

    Parameters
    ----------
    stamp : str
        What to record when it is done.
    """
    clock = Clock()
    run(
        ["cargo", "build", "--release", "--locked", "-p", "trunkline-python", *QUICK],
        cwd=ROOT,
        log=stamp_path("engine.log"),
        environment=CARGO_ENVIRONMENT,
    )
    built = os.path.join(TARGET, "release", "lib_core.so")
    if sys.platform == "darwin":
        built = built.removesuffix(".so") + ".dylib"
    # A process that has the old one loaded keeps it: the name moves, the file does not change.
    shutil.copyfile(built, MODULE + ".partial")
    os.replace(MODULE + ".partial", MODULE)
    write_stamp("engine", stamp)
    say(f"packet engine compiled in {clock}")


def uv() -> str:
    """The package installer, fetched into .boot at the first call.

    Returns
    -------
    str
        Its path.
    """
    program = os.path.join(BOOT, "bin", "uv")
    file = os.path.join(ROOT, "requirements", "boot.txt")
    stamp = digest([file])
    if read_stamp("boot") == stamp and os.path.exists(program):
        return program
    import subprocess

    # A user's PYTHONPATH and site packages stay visible to pip, as everywhere else, and so does its
    # own byte code: to compile it again takes as long as all else here.
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONPYCACHEPREFIX"}
    known = "import importlib.util as it; raise SystemExit(it.find_spec('pip') is None)"
    if subprocess.call([sys.executable, "-c", known], env=plain, stderr=subprocess.DEVNULL):
        found = shutil.which("uv")
        if found:
            return found
        raise Failed("pip is missing. On Debian or Ubuntu: apt-get install python3-pip", 4)
    shutil.rmtree(BOOT, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--require-hashes", "--target", BOOT, "-r", file]
    run(pip, cwd=ROOT, log=stamp_path("boot.log"), environment={"PYTHONPYCACHEPREFIX": ""})
    write_stamp("boot", stamp)
    return program


def sync_packages(level: str, stamp: str) -> None:
    """Bring .venv to exactly the packages of a level.

    Parameters
    ----------
    level : str
        The level.
    stamp : str
        What to record when it is done.
    """
    clock = Clock()
    program = uv()
    # Nothing but the named files may decide, and no other Python is ever fetched.
    environment = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "VIRTUAL_ENV": VENV}
    log = stamp_path("packages.log")
    if stamp.split(" ", 2)[2] != read_stamp("packages").split(" ", 2)[-1]:
        make = [program, "venv", "--quiet", "--clear", "--python", sys.executable, VENV]
        run(make, cwd=ROOT, log=log, environment=environment)
    sync = [program, "pip", "sync", "--quiet", "--require-hashes", requirements(level)]
    run(sync, cwd=ROOT, log=log, environment=environment)
    link_sources()
    write_stamp("packages", stamp)
    say(f"Python packages ready in {clock}")


def charts_wanted() -> str | None:
    """The stamp of the charts library, or nothing when it was fetched, or tried in vain, before.

    Returns
    -------
    str or None
    """
    stamp = digest([os.path.join(ROOT, "requirements", "charts.txt")])
    return None if read_stamp("charts") == stamp else stamp


def fetch_charts(stamp: str) -> None:
    """Fetch the charts library of reports; without it they have still pictures.

    Parameters
    ----------
    stamp : str
        What to record when it is done.
    """
    sys.path.insert(0, os.path.join(ROOT, "tools", "build"))
    import charts

    try:
        charts.fetch(charts.with_pip())
    except charts.Unavailable as error:
        say(f"the charts of reports will be still pictures: {error}")
    write_stamp("charts", stamp)


def link_sources(venv: str = VENV) -> None:
    """Make the source tree importable in an environment, with a ``trunkline`` program in its bin.

    Parameters
    ----------
    venv : str
        The environment.
    """
    library = os.path.join(venv, "lib")
    site = os.path.join(library, sorted(os.listdir(library))[0], "site-packages")
    with open(os.path.join(site, "trunkline-sources.pth"), "w", encoding="utf-8") as stream:
        stream.write(os.path.join(ROOT, "python") + "\n")
    python, program = (os.path.join(venv, "bin", name) for name in ("python", "trunkline"))
    with open(program, "w", encoding="utf-8") as stream:
        stream.write(f'#!/bin/sh\nexec "{python}" -m trunkline "$@"\n')
    os.chmod(program, 0o755)


def clean() -> None:
    """Remove what the steps made."""
    vendor = os.path.join(ROOT, "python", "trunkline", "report", "vendor")
    made = [os.path.join(ROOT, name) for name in ("target", "build")]
    for path in (BOOT, VENV, STAMPS, vendor, *made):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(MODULE):
        os.remove(MODULE)
