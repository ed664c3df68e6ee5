"""Exceptions that are no bugs: errors of the user or of the machine, with text and exit status."""

import errno
import sys

from trunkline.cli.status import Status

_RESOURCE_ERRNOS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EFBIG,
}

# Module, class, code (empty for a class that renders itself) and exit status. The module may not be
# imported yet.
_KNOWN_ERROR_CLASSES = (
    ("results.store", "UnreadableResultsError", "results", Status.USAGE),
    ("scenario.diagnostic", "ScenarioError", "", Status.USAGE),
    ("engine.packet_engine", "EngineFault", "engine", Status.FAILED),
    ("linux.plan.command_script", "UnsupportedError", "", Status.USAGE),
    ("linux.guest.readiness", "RunnerNotReady", "linux", Status.UNABLE),
    ("share.runnable_scenario", "NotShareable", "share", Status.USAGE),
    ("share.engine_module", "EngineModuleMissing", "share", Status.UNABLE),
    ("linux.guest.process", "GuestFailed", "guest", Status.FAILED),
)


def describe_known_error(error: Exception) -> tuple[str, int] | None:
    """Describe a known error by its text and exit status.

    Returns: None for an unknown error, which is a bug.
    """
    if isinstance(error, ImportError) and "_core" in str(error):
        text = f"error[engine]: the packet engine cannot be loaded: {error}; build it: ./dev setup"
        return text, Status.UNABLE
    if isinstance(error, TimeoutError) and error.errno == errno.ETIME:
        return f"error[time]: {error.strerror}", Status.UNABLE
    if isinstance(error, OSError):
        place = f": {error.filename}" if error.filename else ""
        status = Status.UNABLE if error.errno in _RESOURCE_ERRNOS else Status.USAGE
        return f"error[file]: {error.strerror or error}{place}", status
    if isinstance(error, MemoryError):
        reason = str(error) or "this machine has not enough memory for the run"
        return f"error[memory]: {reason}", Status.UNABLE
    for module, kind, code, status in _KNOWN_ERROR_CLASSES:
        error_class = getattr(sys.modules.get(f"trunkline.{module}"), kind, None)
        if error_class is not None and isinstance(error, error_class):
            return f"error[{code}]: {error}" if code else error_class.render(error), status
    return None
