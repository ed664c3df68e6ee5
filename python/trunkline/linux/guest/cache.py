"""Cache of prepared parts of runners: one folder for each user."""

import errno
import hashlib
import os
import stat
import tempfile
from pathlib import Path


def get_cache_folder() -> Path:
    """``trunkline/linux`` in the user's cache, after the XDG Base Directory Specification.

    Returns: It need not exist.
    Raises OSError: This user has no home, and the folder for that lies open to others.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification: ignore a relative path.
    if base.startswith("/"):
        return Path(base) / "trunkline" / "linux"
    try:
        return Path.home() / ".cache" / "trunkline" / "linux"
    except RuntimeError:
        return _make_homeless_folder() / "linux"


def _make_homeless_folder() -> Path:
    """Make the folder of a user who has no home, as in some containers."""
    folder = Path(tempfile.gettempdir()) / f"trunkline-cache-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    # Programs are started from here, so nobody else may have put them there.
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or not stat.S_ISDIR(status.st_mode):
        raise PermissionError(errno.EACCES, "not ours alone; set XDG_CACHE_HOME", str(folder))
    return folder


def write_atomically(path: Path, data: bytes, *, is_program: bool = False) -> None:
    """Write a file so that it is there whole or not at all. path: Where; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if is_program:
            os.chmod(name, 0o755)  # noqa: S103 - a program that everybody may start
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def measure_folder(folder: Path) -> int:
    """Measure the bytes that the files below a folder take on disk.

    folder: It need not exist.
    Returns: [B]
    """
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def read_agent() -> bytes | None:
    """Read the agent's program. Returns: None where the package was built without one."""
    from trunkline import _core

    return _core.guest_agent()


def get_agent_file() -> Path:
    """Return the agent as a file that can be started.

    Raises OSError: The package was built without an agent.
    """
    program = read_agent()
    if program is None:
        raise OSError("this build of trunkline carries no agent for the Linux engine")
    path = get_cache_folder() / "agent" / hashlib.sha256(program).hexdigest()[:16]
    if not path.exists():
        write_atomically(path, program, is_program=True)
    return path
