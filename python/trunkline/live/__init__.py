"""A scenario while it is written: checked and run on each save, shown as a live page."""

from trunkline.live.server import Server
from trunkline.live.watcher import Watcher

__all__ = ["Server", "Watcher"]
