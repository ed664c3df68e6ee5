"""Which exceptions are the user's or the machine's, how they read and how the program ends."""

import errno
import sys

from trunkline.cli.status import Status

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EFBIG}


def known(error: Exception) -> tuple[str, int] | None:
    """Text and exit status of a foreseen fault.

    Returns
    -------
    (str, int) or None
        None for what nobody foresaw: a bug.
    """
    if isinstance(error, ImportError) and "_core" in str(error):
        text = f"error[engine]: the packet engine cannot be loaded: {error}; build it: ./dev setup"
        return text, Status.UNABLE
    if isinstance(error, TimeoutError) and error.errno == errno.ETIME:
        return f"error[time]: {error.strerror}", Status.UNABLE
    if isinstance(error, OSError):
        place = f": {error.filename}" if error.filename else ""
        status = Status.UNABLE if error.errno in _NO_SPACE else Status.USAGE
        return f"error[file]: {error.strerror or error}{place}", status
    if isinstance(error, MemoryError):
        said = str(error) or "this machine has not enough memory for the run"
        return f"error[memory]: {said}", Status.UNABLE
    store = sys.modules.get("trunkline.results.store")
    if store is not None and isinstance(error, store.Unreadable):
        return f"error[results]: {error}", Status.USAGE
    # Whoever raised it has imported the module; if importing it failed, the error is another.
    diagnostic = sys.modules.get("trunkline.scenario.diagnostic")
    if diagnostic is not None and isinstance(error, diagnostic.ScenarioError):
        return error.render(), Status.USAGE
    script = sys.modules.get("trunkline.linux.plan.script")
    if script is not None and isinstance(error, script.UnsupportedError):
        return error.render(), Status.USAGE
    readiness = sys.modules.get("trunkline.linux.guest.readiness")
    if readiness is not None and isinstance(error, readiness.Unready):
        return f"error[linux]: {error}", Status.UNABLE
    process = sys.modules.get("trunkline.linux.guest.process")
    if process is not None and isinstance(error, process.GuestFailed):
        return f"error[guest]: {error}", Status.FAILED
    return None
