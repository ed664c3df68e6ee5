"""The charts library of reports: one file of the official release, from a wheel that carries it.

Only the standard library is used: ``./dev`` calls it before any environment is there, and the
build of the package inside one of its own.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

VERSION = "5.5.1"
SHA256 = "e84270bd0cd5bdf60fefc26d00c2a391cb2e81f4d26a7a9ee16185a54773a3cf"
"""Digest of ``dist/echarts.min.js`` in the release of Apache ECharts of that version."""

PATH_IN_WHEEL = os.path.join("vizly", "assets", "echarts.min.js")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REQUIREMENTS = os.path.join(ROOT, "requirements", "charts.txt")
TARGET = os.path.join(ROOT, "python", "trunkline", "report", "vendor", "echarts.min.js")


class ChartsUnavailable(Exception):
    """The file could not be fetched."""


def is_present() -> bool:
    """Whether the file is in its place and is the official one."""
    try:
        with open(TARGET, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest() == SHA256
    except OSError:
        return False


def fetch_library(installer: list[str]) -> None:
    """Put the file to its place, unless it is there.

    installer: Program that takes ``--no-deps --require-hashes --target FOLDER -r FILE``, as pip
        does.
    Raises ChartsUnavailable: The wheel could not be had, or does not hold the official file.
    """
    if is_present():
        return
    folder = tempfile.mkdtemp(prefix="trunkline-charts-")
    try:
        options = ["--quiet", "--no-deps", "--require-hashes", "--target", folder]
        command = [*installer, *options, "-r", REQUIREMENTS]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ChartsUnavailable(str(error)) from error
        if done.returncode:
            raise ChartsUnavailable(done.stderr.strip()[-2000:])
        with open(os.path.join(folder, PATH_IN_WHEEL), "rb") as stream:
            found_hash = hashlib.sha256(stream.read()).hexdigest()
        if found_hash != SHA256:
            raise ChartsUnavailable(f"the wheel holds another file: its SHA-256 is {found_hash}")
        os.makedirs(os.path.dirname(TARGET), exist_ok=True)
        shutil.copyfile(os.path.join(folder, PATH_IN_WHEEL), TARGET + ".partial")
        os.replace(TARGET + ".partial", TARGET)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def get_pip_command() -> list[str]:
    """Give the installer of the Python that runs this."""
    return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
