"""Where prepared runners lie."""

import os
import tempfile
from pathlib import Path

import pytest

from trunkline.linux.guest import cache


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """A user without a home; the folder for temporary files."""

    def home():
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_cache_is_the_users_of_the_xdg_specification(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.get_cache_folder() == tmp_path / "trunkline" / "linux"
    # "All paths set in these environment variables must be absolute", others are ignored.
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.get_cache_folder() == tmp_path / ".cache" / "trunkline" / "linux"


def test_a_user_without_a_home_gets_a_folder_of_his_own(homeless):
    folder = cache.get_cache_folder()
    assert folder.parent.parent == homeless
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_refused(homeless):
    folder = homeless / f"trunkline-cache-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match="XDG_CACHE_HOME"):
        cache.get_cache_folder()


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "file"
    cache.write_atomically(path, b"one")

    def replace(_old, _new):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="no space"):
        cache.write_atomically(path, b"two")
    assert path.read_bytes() == b"one"
    assert [each.name for each in path.parent.iterdir()] == ["file"]
