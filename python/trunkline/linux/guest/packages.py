"""Packages of Debian and its relatives, fetched and unpacked with a user's rights.

``apt-get`` finds and downloads them and ``dpkg-deb`` unpacks them into a folder; nothing is
installed. A package counts only if its SHA-256 is the one in the signed lists of the system.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from trunkline.linux.guest.cache import cache_folder
from trunkline.linux.guest.needs import ask

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoPackages(Exception):
    """A package cannot be had."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package at one version.

    Parameters
    ----------
    size : int
        Of the archive [B].
    sha256 : str
        Of the archive, hexadecimal.
    """

    name: str
    version: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        """Name of the archive in our cache."""
        return f"{self.name}_{self.version.replace(':', '%3a')}.deb"


class Apt:
    """The system's package manager, for reading only.

    Raises
    ------
    NoPackages
        There is none.
    """

    def __init__(self) -> None:
        for program in ("apt-get", "apt-cache", "dpkg-deb"):
            if shutil.which(program) is None:
                msg = (
                    f"{program} is missing: setup fetches packages of Debian and Ubuntu only; "
                    "elsewhere install qemu-system-x86_64 and see docs/reference/linux-engine.md"
                )
                raise NoPackages(msg)
        self._lists = cache_folder() / "apt"

    def _options(self) -> list[str]:
        options = ["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]
        if (self._lists / "fresh").exists():
            options += ["-o", f"Dir::State::Lists={self._lists / 'lists'}"]
            options += ["-o", f"Dir::Cache={self._lists / 'cache'}"]
        return options

    def _ask(
        self, program: str, *arguments: str, cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        return ask([program, *self._options(), *arguments], cwd=cwd, env=environment)

    def refresh(self) -> None:
        """Fetch lists of our own, where the system's are missing or out of date.

        Raises
        ------
        NoPackages
            They cannot be fetched.
        """
        for name in ("lists/partial", "cache/archives/partial"):
            (self._lists / name).mkdir(parents=True, exist_ok=True)
        (self._lists / "fresh").touch()
        # Without that it ends well where it has fetched nothing.
        done = self._ask("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
        if done.returncode:
            shutil.rmtree(self._lists)
            raise NoPackages(_said("apt-get update", done))

    def depends(self, name: str, pattern: str) -> str | None:
        """The package that another one stands for.

        Parameters
        ----------
        pattern : str
            Regular expression of the whole name.
        """
        listed = self._ask("apt-cache", "depends", name).stdout
        found = re.findall(r"Depends: (\S+)", listed)
        return next((each for each in found if re.fullmatch(pattern, each)), None)

    def _version(self, name: str) -> str | None:
        listed = self._ask("apt-cache", "policy", name).stdout
        found = re.search(r"Candidate: (\S+)", listed)
        return None if found is None or found.group(1) == "(none)" else found.group(1)

    def packages(self, wanted: Iterable[tuple[str, str | None]]) -> list[Package]:
        """What the lists say of packages.

        Parameters
        ----------
        wanted : iterable of (str, str or None)
            Names and versions; None for the version that would be installed.

        Raises
        ------
        NoPackages
            The lists do not hold one of them.
        """
        versions = {name: version or self._version(name) for name, version in wanted}
        shown = self._ask("apt-cache", "show", *(f"{n}={v}" for n, v in versions.items()))
        found = {}
        for record in shown.stdout.split("\n\n"):
            fields = dict(re.findall(r"^(\S+): (.*)$", record, re.M))
            if {"Package", "Version", "Size", "SHA256"} <= fields.keys():
                name, version = fields["Package"], fields["Version"]
                size = int(fields["Size"])
                found[name, version] = Package(name, version, size, fields["SHA256"])
        for name, version in versions.items():
            if version is None or (name, version) not in found:
                msg = f"the package lists hold no {name}"
                raise NoPackages(msg)
        return [found[name, version] for name, version in versions.items() if version]

    def missing(self, names: Iterable[str]) -> list[Package]:
        """Packages, with what they depend on, that are not installed.

        Raises
        ------
        NoPackages
            They cannot be had.
        """
        done = self._ask(
            "apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends", *names
        )
        if done.returncode:
            raise NoPackages(_said(f"packages {' '.join(names)}", done))
        files = re.findall(r"^'\S+' (\S+)_(\S+)_\S+\.deb \d+", done.stdout, re.M)
        return self.packages((name, unquote(version)) for name, version in files) if files else []

    def fetch(self, packages: Iterable[Package], folder: Path) -> list[Path]:
        """Download packages that are not there yet.

        Returns
        -------
        list of Path
            In the order of the packages.

        Raises
        ------
        NoPackages
            One cannot be downloaded, or is not what the lists say.
        """
        folder.mkdir(parents=True, exist_ok=True)
        paths = {package: folder / package.file for package in packages}
        lacking = [
            package
            for package, path in paths.items()
            if not path.exists() or _sha256(path) != package.sha256
        ]
        if not lacking:
            return list(paths.values())
        with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as private:
            names = [f"{package.name}={package.version}" for package in lacking]
            digests: dict[str, Path] = {}
            try:
                done = self._ask("apt-get", "-q", "download", *names, cwd=private)
            finally:
                # What is there whole is kept, also when we are interrupted.
                digests |= {_sha256(path): path for path in Path(private).glob("*.deb")}
                for package in lacking:
                    if package.sha256 in digests:
                        digests[package.sha256].replace(paths[package])
            if done.returncode:
                raise NoPackages(_said("download", done))
            wrong = [package.name for package in lacking if package.sha256 not in digests]
            if wrong:
                msg = f"not what the package lists say: {', '.join(wrong)}"
                raise NoPackages(msg)
        return list(paths.values())


def unpack(archives: Iterable[Path], folder: Path) -> None:
    """Unpack packages into a folder, which is there whole or not at all.

    Parameters
    ----------
    folder : Path
        Where to; what was there before is replaced.

    Raises
    ------
    NoPackages
        One cannot be unpacked.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    private = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        for archive in archives:
            done = ask(["dpkg-deb", "-x", str(archive), str(private)])
            if done.returncode:
                raise NoPackages(_said(f"unpacking {archive.name}", done))
        private.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        private.rename(folder)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _said(what: str, done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.startswith(("E:", "dpkg"))]
    return f"{what}: {'; '.join(lines) or done.stderr.strip() or 'failed'}"
