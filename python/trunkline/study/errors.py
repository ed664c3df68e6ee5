"""What a user can do something about."""


class Refused(Exception):
    """A study cannot be run as asked: the folder, the cluster or the resumption is at odds."""


class Damaged(Refused):
    """A file of a study is not as it was written."""


class OutOfMemory(Exception):
    """The process held more memory than it was allowed to."""


class Unable(Exception):
    """The system does not allow this process what a study needs."""
