"""The engine for pages: compiled to WebAssembly and packed.

Only the standard library is used: ``./dev`` calls it before any environment is there, and the
build of the package inside one of its own.
"""

import gzip
import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLATFORM = "wasm32-unknown-unknown"
TARGET = os.path.join(ROOT, "python", "trunkline", "share", "vendor", "engine.wasm.gz")


class WebEngineUnavailable(Exception):
    """Error where the engine cannot be compiled."""


def build_web_engine(target_folder: str, *options: str) -> None:
    """Compile the engine for pages and put it to its place.

    target_folder: Folder of cargo's output.
    *options: Further options of cargo.
    Raises WebEngineUnavailable: Rust cannot compile for WebAssembly here.
    """
    if shutil.which("rustup"):
        # Nothing to do where it is there; a Rust without rustup brings the target or does not.
        _run(["rustup", "target", "add", PLATFORM])
    command = ["cargo", "build", "--profile", "web", "--locked", "-p", "trunkline-web"]
    _run([*command, "--target", PLATFORM, "--target-dir", target_folder, *options])
    built = os.path.join(target_folder, PLATFORM, "web", "trunkline_web.wasm")
    os.makedirs(os.path.dirname(TARGET), exist_ok=True)
    with open(built, "rb") as stream:
        # The time in the head of a gzip file would make each build another.
        packed = gzip.compress(stream.read(), 9, mtime=0)
    with open(TARGET + ".partial", "wb") as stream:
        stream.write(packed)
    os.replace(TARGET + ".partial", TARGET)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError as error:
        raise WebEngineUnavailable(str(error)) from error
    if done.returncode:
        raise WebEngineUnavailable(done.stderr.strip()[-2000:])
