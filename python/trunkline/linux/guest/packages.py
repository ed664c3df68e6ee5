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

from trunkline.linux.guest.cache import get_cache_folder
from trunkline.linux.guest.requirements import run_program

if TYPE_CHECKING:
    from collections.abc import Iterable


class PackageUnavailable(Exception):
    """A package cannot be had."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package at one version."""

    name: str
    version: str
    size: int  # Size of the archive [B].
    sha256: str  # Digest of the archive, hexadecimal.

    @property
    def file_name(self) -> str:
        """Name of the archive in our cache."""
        return f"{self.name}_{self.version.replace(':', '%3a')}.deb"


class AptRepository:
    """The system's package manager, for reading only. Raises PackageUnavailable: There is none."""

    def __init__(self) -> None:
        for program in ("apt-get", "apt-cache", "dpkg-deb"):
            if shutil.which(program) is None:
                raise PackageUnavailable(
                    f"{program} is missing: setup fetches packages of Debian and Ubuntu only; "
                    "elsewhere install qemu-system-x86_64 and see docs/reference/linux-engine.md"
                )
        self._lists = get_cache_folder() / "apt"

    def _options(self) -> list[str]:
        options = ["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]
        if (self._lists / "fresh").exists():
            options += ["-o", f"Dir::State::Lists={self._lists / 'lists'}"]
            options += ["-o", f"Dir::Cache={self._lists / 'cache'}"]
        return options

    def _run_apt(
        self, program: str, *arguments: str, cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        return run_program([program, *self._options(), *arguments], cwd=cwd, env=environment)

    def refresh_lists(self) -> None:
        """Fetch lists of our own, where the system's are missing or out of date.

        Raises PackageUnavailable: They cannot be fetched.
        """
        for name in ("lists/partial", "cache/archives/partial"):
            (self._lists / name).mkdir(parents=True, exist_ok=True)
        (self._lists / "fresh").touch()
        # Without that it ends well where it has fetched nothing.
        update_run = self._run_apt("apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
        if update_run.returncode:
            shutil.rmtree(self._lists)
            raise PackageUnavailable(_format_failure("apt-get update", update_run))

    def find_dependency(self, name: str, pattern: str) -> str | None:
        """Find the package that another one stands for.

        pattern: Regular expression of the whole name.
        """
        listing = self._run_apt("apt-cache", "depends", name).stdout
        dependencies = re.findall(r"Depends: (\S+)", listing)
        return next((each for each in dependencies if re.fullmatch(pattern, each)), None)

    def _find_version(self, name: str) -> str | None:
        listing = self._run_apt("apt-cache", "policy", name).stdout
        candidate = re.search(r"Candidate: (\S+)", listing)
        return None if candidate is None or candidate.group(1) == "(none)" else candidate.group(1)

    def find_packages(self, wanted: Iterable[tuple[str, str | None]]) -> list[Package]:
        """Find packages in the lists of the distribution.

        wanted: Names and versions; None for the version that would be installed.
        Raises PackageUnavailable: The lists do not hold one of them.
        """
        versions = {name: version or self._find_version(name) for name, version in wanted}
        listing = self._run_apt(
            "apt-cache",
            "show",
            *(
                f"{package_name}={package_version}"
                for package_name, package_version in versions.items()
            ),
        )
        packages_found = {}
        for record in listing.stdout.split("\n\n"):
            fields = dict(re.findall(r"^(\S+): (.*)$", record, re.M))
            if {"Package", "Version", "Size", "SHA256"} <= fields.keys():
                name, version = fields["Package"], fields["Version"]
                size = int(fields["Size"])
                packages_found[name, version] = Package(name, version, size, fields["SHA256"])
        for name, version in versions.items():
            if version is None or (name, version) not in packages_found:
                raise PackageUnavailable(f"the package lists hold no {name}")
        return [packages_found[name, version] for name, version in versions.items() if version]

    def find_missing(self, names: Iterable[str]) -> list[Package]:
        """Find the packages, with their dependencies, that are not installed.

        Raises PackageUnavailable: They cannot be had.
        """
        install_run = self._run_apt(
            "apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends", *names
        )
        if install_run.returncode:
            raise PackageUnavailable(_format_failure(f"packages {' '.join(names)}", install_run))
        files = re.findall(r"^'\S+' (\S+)_(\S+)_\S+\.deb \d+", install_run.stdout, re.M)
        return (
            self.find_packages((name, unquote(version)) for name, version in files) if files else []
        )

    def fetch_packages(self, packages: Iterable[Package], folder: Path) -> list[Path]:
        """Download packages that are not there yet.

        Returns: In the order of the packages.
        Raises PackageUnavailable: One cannot be downloaded, or differs from the lists.
        """
        folder.mkdir(parents=True, exist_ok=True)
        paths = {package: folder / package.file_name for package in packages}
        missing = [
            package
            for package, path in paths.items()
            if not path.exists() or _compute_sha256(path) != package.sha256
        ]
        if not missing:
            return list(paths.values())
        with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as partial_folder:
            names = [f"{package.name}={package.version}" for package in missing]
            digests: dict[str, Path] = {}
            try:
                download_run = self._run_apt(
                    "apt-get", "-q", "download", *names, cwd=partial_folder
                )
            finally:
                # Complete files stay, also after an interruption.
                digests |= {
                    _compute_sha256(path): path for path in Path(partial_folder).glob("*.deb")
                }
                for package in missing:
                    if package.sha256 in digests:
                        digests[package.sha256].replace(paths[package])
            if download_run.returncode:
                raise PackageUnavailable(_format_failure("download", download_run))
            mismatched = [package.name for package in missing if package.sha256 not in digests]
            if mismatched:
                raise PackageUnavailable(f"not what the package lists say: {', '.join(mismatched)}")
        return list(paths.values())


def unpack_archives(archives: Iterable[Path], folder: Path) -> None:
    """Unpack packages into a folder, which is there whole or not at all.

    folder: Target; its earlier content is replaced.
    Raises PackageUnavailable: One cannot be unpacked.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial_folder = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        for archive in archives:
            unpack_run = run_program(["dpkg-deb", "-x", str(archive), str(partial_folder)])
            if unpack_run.returncode:
                raise PackageUnavailable(_format_failure(f"unpacking {archive.name}", unpack_run))
        partial_folder.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        partial_folder.rename(folder)
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)


def _compute_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _format_failure(step: str, finished_run: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in finished_run.stderr.splitlines() if line.startswith(("E:", "dpkg"))]
    return f"{step}: {'; '.join(lines) or finished_run.stderr.strip() or 'failed'}"
