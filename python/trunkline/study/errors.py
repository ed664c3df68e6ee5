"""Errors that a user can correct."""


class StudyError(Exception):
    """A study cannot be run as asked: the folder, the cluster or the resumption is at odds."""


class DamagedStudyFile(StudyError):
    """A file of a study differs from its checksum."""


class MemoryLimitExceeded(Exception):
    """The process held more memory than it was allowed to."""


class SystemLimitError(Exception):
    """The system does not grant this process the needs of a study."""
