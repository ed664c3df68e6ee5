"""Steps that prepare the environment, each skipped when its inputs have not changed."""

import hashlib
import os
import shutil
import sys

from shell import StepFailed, Stopwatch, print_message, run_program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BOOT_FOLDER = os.path.join(ROOT, ".boot")
VENV_FOLDER = os.path.join(ROOT, ".venv")
STAMPS_FOLDER = os.path.join(ROOT, ".stamps")
TARGET_FOLDER = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
VENV_PYTHON = os.path.join(VENV_FOLDER, "bin", "python")
ENGINE_MODULE = os.path.join(ROOT, "python", "trunkline", "_core.abi3.so")
# Each level of the environment holds all that the ones before it hold.
PACKAGE_LEVELS = ["run", "test", "check", "docs"]
# The same for every cargo call, so that none makes another rebuild; the first as maturin sets it.
CARGO_ENVIRONMENT = {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_NO_PYTHON": "1"}
QUICK_BUILD_OPTIONS = ["--config", os.path.join(ROOT, "tools", "dev", "quick.toml")]
MIN_RUST_VERSION = (1, 85)


def make_relative(path: str) -> str:
    """Make a path as seen from where the user stands. path: Absolute path."""
    return os.path.relpath(path)


def prepare_environment(level: str) -> None:
    """Make the environment ready.

    level: one of "run", "test", "check", "docs"; the tasks that it must allow.
    Raises StepFailed: A tool is missing or a step failed.
    """
    if level not in PACKAGE_LEVELS:
        raise StepFailed(f"no such level {level!r}; there are {', '.join(PACKAGE_LEVELS)}", 2)
    packages = check_packages(level)
    engine = check_engine()
    charts = check_charts()
    web = None if level == "run" else check_web_engine()
    if packages is None and engine is None and charts is None and web is None:
        return
    from concurrent.futures import ThreadPoolExecutor

    clock = Stopwatch()
    with ThreadPoolExecutor(2) as pool:
        # Compiling keeps the processors busy while the wheels arrive.
        tasks = []
        if engine is not None:
            check_rust()
            print_message(
                "compiling the packet engine (about a minute the first time, less after edits)"
            )
            tasks.append(pool.submit(build_engine, engine))
        if packages is not None:
            print_message(
                f"fetching the Python packages to .venv, level {packages[0]} (about 15 s, once)"
            )
            tasks.append(pool.submit(sync_packages, *packages))
        if charts is not None:
            tasks.append(pool.submit(fetch_charts, charts))
        if web is not None:
            tasks.append(pool.submit(build_web_engine, web))
        for task in tasks:
            task.result()
    print_message(f"environment ready after {clock}")


def get_stamp_path(name: str) -> str:
    """Return the file with the inputs of the last run of a step. name: The step."""
    return os.path.join(STAMPS_FOLDER, name)


def read_stamp(name: str) -> str:
    """Read the inputs of the last run of a step; empty if never. name: The step."""
    try:
        with open(get_stamp_path(name), encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def write_stamp(name: str, text: str) -> None:
    """Record that a step is done.

    name: The step.
    text: Inputs of the step.
    """
    os.makedirs(STAMPS_FOLDER, exist_ok=True)
    partial = get_stamp_path(name) + ".partial"
    with open(partial, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(partial, get_stamp_path(name))


def hash_files(paths: list[str]) -> str:
    """Hash of files, names and contents.

    paths: The files.
    Returns: SHA-256, hexadecimal.
    """
    total = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as stream:
            content = stream.read()
        total.update(f"{os.path.relpath(path, ROOT)}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def get_requirements_path(level: str) -> str:
    """Return the hashed requirements of a level.

    Returns: Path.
    """
    return os.path.join(ROOT, "requirements", f"{level}.txt")


def check_packages(level: str) -> tuple[str, str] | None:
    """Check the level to install and its stamp, or nothing when the environment has it already.

    level: Requested level; a higher level that is installed stays.
    """
    last_stamp = read_stamp("packages")
    installed_level = last_stamp.partition(" ")[0]
    if installed_level in PACKAGE_LEVELS and PACKAGE_LEVELS.index(
        installed_level
    ) > PACKAGE_LEVELS.index(level):
        level = installed_level
    stamp = f"{level} {hash_files([get_requirements_path(level)])} {sys.version} {ROOT}"
    if last_stamp == stamp and os.path.exists(VENV_PYTHON):
        return None
    return level, stamp


def hash_rust_sources() -> str:
    """Hash of all that the engine is compiled from. Returns: SHA-256, hexadecimal."""
    sources = [
        os.path.join(ROOT, name) for name in ("Cargo.toml", "Cargo.lock")
    ] + QUICK_BUILD_OPTIONS[1:]
    for folder, folders, names in os.walk(os.path.join(ROOT, "crates")):
        folders.sort()
        sources += [os.path.join(folder, n) for n in sorted(names) if n.endswith((".rs", ".toml"))]
    return hash_files(sources)


def check_engine() -> str | None:
    """Read the engine's stamp; nothing if it is built from the present sources."""
    stamp = hash_rust_sources()
    return None if read_stamp("engine") == stamp and os.path.exists(ENGINE_MODULE) else stamp


def check_web_engine() -> str | None:
    """The stamp of the engine for pages, or nothing when it was built, or tried in vain, before."""
    stamp = hash_rust_sources()
    return None if read_stamp("web-engine") == stamp else stamp


def build_web_engine(stamp: str) -> None:
    """Compile the engine for pages; without it no page can run a scenario.

    stamp: Record of the completed step.
    """
    sys.path.insert(0, os.path.join(ROOT, "tools", "build"))
    import web_engine

    clock = Stopwatch()
    try:
        web_engine.build_web_engine(TARGET_FOLDER, *QUICK_BUILD_OPTIONS)
        print_message(f"engine for pages compiled in {clock}")
    except web_engine.WebEngineUnavailable as error:
        print_message(f"no page can run a scenario: {error}")
    write_stamp("web-engine", stamp)


def check_rust() -> None:
    """Make sure that the engine can be compiled.

    Raises StepFailed: A tool is missing or too old; says how to get it.
    """
    import subprocess

    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        raise StepFailed(
            "a C linker is missing. On Debian or Ubuntu: apt-get install gcc libc6-dev", 4
        )
    min_version = ".".join(map(str, MIN_RUST_VERSION))
    hint = f"Rust {min_version} or newer comes with rustup: https://rustup.rs"
    if not shutil.which("cargo"):
        raise StepFailed(f"cargo is missing. {hint}", 4)
    text = subprocess.run(["cargo", "--version"], capture_output=True, text=True, cwd=ROOT).stdout
    try:
        version = tuple(int(part) for part in text.split()[1].split("-")[0].split(".")[:2])
    except (IndexError, ValueError):
        raise StepFailed(f"cargo does not say its version: {text.strip()!r}. {hint}", 4) from None
    if version < MIN_RUST_VERSION:
        raise StepFailed(f"{text.strip()} is too old. {hint}", 4)


def build_engine(stamp: str) -> None:
    """Compile the Python module of the engine and put it into the source tree.

    stamp: Record of the completed step.
    """
    clock = Stopwatch()
    run_program(
        ["cargo", "build", "--release", "--locked", "-p", "trunkline-python", *QUICK_BUILD_OPTIONS],
        cwd=ROOT,
        log=get_stamp_path("engine.log"),
        environment=CARGO_ENVIRONMENT,
    )
    built = os.path.join(TARGET_FOLDER, "release", "lib_core.so")
    if sys.platform == "darwin":
        built = built.removesuffix(".so") + ".dylib"
    # A process that has the old one loaded keeps it: the name moves, the file does not change.
    shutil.copyfile(built, ENGINE_MODULE + ".partial")
    os.replace(ENGINE_MODULE + ".partial", ENGINE_MODULE)
    write_stamp("engine", stamp)
    print_message(f"packet engine compiled in {clock}")


def get_installer() -> str:
    """Return the package installer, fetched into .boot at the first call. Returns: Its path."""
    program = os.path.join(BOOT_FOLDER, "bin", "uv")
    file = os.path.join(ROOT, "requirements", "boot.txt")
    stamp = hash_files([file])
    if read_stamp("boot") == stamp and os.path.exists(program):
        return program
    import subprocess

    # A user's PYTHONPATH and site packages stay visible to pip, as everywhere else, and so does its
    # own byte code: to compile it again takes as long as all else here.
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONPYCACHEPREFIX"}
    has_pip_code = "import importlib.util as it; raise SystemExit(it.find_spec('pip') is None)"
    if subprocess.call([sys.executable, "-c", has_pip_code], env=plain, stderr=subprocess.DEVNULL):
        found = shutil.which("uv")
        if found:
            return found
        raise StepFailed("pip is missing. On Debian or Ubuntu: apt-get install python3-pip", 4)
    shutil.rmtree(BOOT_FOLDER, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--require-hashes", "--target", BOOT_FOLDER, "-r", file]
    run_program(
        pip, cwd=ROOT, log=get_stamp_path("boot.log"), environment={"PYTHONPYCACHEPREFIX": ""}
    )
    write_stamp("boot", stamp)
    return program


def sync_packages(level: str, stamp: str) -> None:
    """Bring .venv to exactly the packages of a level.

    stamp: Record of the completed step.
    """
    clock = Stopwatch()
    program = get_installer()
    # Nothing but the named files may decide, and no other Python is ever fetched.
    environment = {
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "VIRTUAL_ENV": VENV_FOLDER,
    }
    log = get_stamp_path("packages.log")
    if stamp.split(" ", 2)[2] != read_stamp("packages").split(" ", 2)[-1]:
        make = [program, "venv", "--quiet", "--clear", "--python", sys.executable, VENV_FOLDER]
        run_program(make, cwd=ROOT, log=log, environment=environment)
    sync = [program, "pip", "sync", "--quiet", "--require-hashes", get_requirements_path(level)]
    run_program(sync, cwd=ROOT, log=log, environment=environment)
    link_sources()
    write_stamp("packages", stamp)
    print_message(f"Python packages ready in {clock}")


def check_charts() -> str | None:
    """The stamp of the charts library, or nothing when it was fetched, or tried in vain, before."""
    stamp = hash_files([os.path.join(ROOT, "requirements", "charts.txt")])
    return None if read_stamp("charts") == stamp else stamp


def fetch_charts(stamp: str) -> None:
    """Fetch the charts library of reports; without it they have still pictures.

    stamp: Record of the completed step.
    """
    sys.path.insert(0, os.path.join(ROOT, "tools", "build"))
    import charts

    try:
        charts.fetch_library(charts.get_pip_command())
    except charts.ChartsUnavailable as error:
        print_message(f"the charts of reports will be still pictures: {error}")
    write_stamp("charts", stamp)


def link_sources(venv: str = VENV_FOLDER) -> None:
    """Make the source tree importable in an environment, with a ``trunkline`` program in its bin.

    venv: The environment.
    """
    library = os.path.join(venv, "lib")
    site = os.path.join(library, sorted(os.listdir(library))[0], "site-packages")
    with open(os.path.join(site, "trunkline-sources.pth"), "w", encoding="utf-8") as stream:
        stream.write(os.path.join(ROOT, "python") + "\n")
    python, program = (os.path.join(venv, "bin", name) for name in ("python", "trunkline"))
    with open(program, "w", encoding="utf-8") as stream:
        stream.write(f'#!/bin/sh\nexec "{python}" -m trunkline "$@"\n')
    os.chmod(program, 0o755)


def remove_environment() -> None:
    """Remove the output of the steps."""
    vendor_folders = [
        os.path.join(ROOT, "python", "trunkline", name, "vendor") for name in ("report", "share")
    ]
    build_folders = [os.path.join(ROOT, name) for name in ("target", "build")]
    for path in (BOOT_FOLDER, VENV_FOLDER, STAMPS_FOLDER, *vendor_folders, *build_folders):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(ENGINE_MODULE):
        os.remove(ENGINE_MODULE)
