"""Exit statuses."""

from enum import IntEnum


class Status(IntEnum):
    """How a command ended."""

    DONE = 0
    """Done."""
    FAILED = 1
    """A bug, or a run that failed."""
    USAGE = 2
    """Wrong usage or an invalid scenario."""
    NOT_HELD = 3
    """A claim or comparison did not hold where one was asked for."""
    UNABLE = 4
    """This machine cannot do it: a missing tool, no space, no permission."""
    PARTIAL = 5
    """Some runs of a study failed; the others have ended."""
    UNDECIDED = 6
    """A comparison or claim needs more runs before anything can be said of it."""
    INTERRUPTED = 130
    """Interrupted by the user."""
