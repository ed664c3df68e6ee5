"""Packages are fetched by the system's package manager; these stand in for it."""

import hashlib
import os
import stat

import pytest

from trunkline.linux.guest import setup as setups
from trunkline.linux.guest.kernel_build import SOURCE_PATCHES, SourceMismatch, apply_patches
from trunkline.linux.guest.packages import (
    AptRepository,
    Package,
    PackageUnavailable,
    unpack_archives,
)

ARCHIVE = b"an archive"
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()

APT_CACHE = f"""#!/bin/sh
case "$*" in
*policy*) printf 'flex:\\n  Candidate: 2.6.4-8\\n' ;;
*show*) printf 'Package: flex\\nVersion: 2.6.4-8\\nSize: 10\\nSHA256: {DIGEST}\\n' ;;
esac
"""
APT_GET = """#!/bin/sh
echo "$@" >>"$LOG"
case "$*" in
*download*) printf '%s' "$CONTENT" >flex_2.6.4-8_amd64.deb ;;
esac
"""


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """A package manager that knows one package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("apt-cache", APT_CACHE), ("apt-get", APT_GET), ("dpkg-deb", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.defpath}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("CONTENT", ARCHIVE.decode())
    return AptRepository()


FLEX = Package("flex", "2.6.4-8", 10, DIGEST)


def test_a_package_is_what_the_lists_say(apt):
    assert apt.find_packages([("flex", None)]) == [FLEX]
    with pytest.raises(PackageUnavailable, match="hold no bison"):
        apt.find_packages([("bison", "1")])


def test_a_package_is_fetched_once(apt, tmp_path):
    (path,) = apt.fetch_packages([FLEX], tmp_path / "packages")
    assert path.read_bytes() == ARCHIVE
    assert apt.fetch_packages([FLEX], tmp_path / "packages") == [path]
    assert (tmp_path / "log").read_text().count("download") == 1


def test_a_package_that_was_cut_off_is_fetched_again(apt, tmp_path):
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / FLEX.file_name).write_bytes(ARCHIVE[:4])
    (path,) = apt.fetch_packages([FLEX], tmp_path / "packages")
    assert path.read_bytes() == ARCHIVE


def test_a_package_that_is_not_what_the_lists_say_is_not_kept(apt, tmp_path, monkeypatch):
    monkeypatch.setenv("CONTENT", "another archive")
    with pytest.raises(PackageUnavailable, match="flex"):
        apt.fetch_packages([FLEX], tmp_path / "packages")
    assert list((tmp_path / "packages").iterdir()) == []


def test_a_folder_that_cannot_be_unpacked_whole_is_not_there(apt, tmp_path):
    (tmp_path / "bin" / "dpkg-deb").write_text(
        '#!/bin/sh\nmkdir -p "$3/usr"; echo "dpkg-deb: no space" >&2; exit 2\n'
    )
    with pytest.raises(PackageUnavailable, match="no space"):
        unpack_archives([tmp_path / "x.deb"], tmp_path / "root")
    assert not (tmp_path / "root").exists()
    assert not list(tmp_path.glob(".root*"))


def test_without_a_package_manager_the_reason_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageUnavailable, match="apt-get is missing"):
        AptRepository()


def test_a_setup_that_has_no_room_says_how_much_it_takes(apt, tmp_path):
    setup = setups.SetupPlan("qemu", [FLEX], space_needed=10**18)
    with pytest.raises(setups.SetupFailed, match="this takes 1000000000000 MB"):
        setups.perform_setup(setup, lambda text: None, lambda part: None)


def sources(folder):
    """Files with the texts that the edits change."""
    for edit in SOURCE_PATCHES:
        path = folder / edit.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"before\n{edit.old * edit.times}after\n")
    return folder


def test_edits_change_the_source_once(tmp_path):
    sources(tmp_path)
    apply_patches(tmp_path)
    once = {edit.file: (tmp_path / edit.file).read_text() for edit in SOURCE_PATCHES}
    for edit in SOURCE_PATCHES:
        assert edit.new in once[edit.file]
    apply_patches(tmp_path)
    assert {edit.file: (tmp_path / edit.file).read_text() for edit in SOURCE_PATCHES} == once


def test_a_source_that_is_not_as_expected_is_refused_by_name(tmp_path):
    sources(tmp_path)
    (tmp_path / SOURCE_PATCHES[0].file).write_text("something else\n")
    with pytest.raises(SourceMismatch, match=r"util\.c"):
        apply_patches(tmp_path)
