"""Exit statuses."""

from enum import IntEnum


class Status(IntEnum):
    """The exit status of a command."""

    DONE = 0  # Done.
    FAILED = 1  # A bug, or a run that failed.
    USAGE = 2  # Wrong usage or an invalid scenario.
    NOT_HELD = 3  # A judged claim, comparison or service level agreement does not hold.
    UNABLE = 4  # This machine cannot do it: a missing tool, no space, no permission.
    PARTIAL = 5  # Some runs of a study failed; the others have ended.
    UNDECIDED = 6  # A comparison or claim needs more runs for a decision.
    INTERRUPTED = 130  # Interrupted by the user.
