"""A scenario while it is written: checked and run on each save, shown as a live page."""

from trunkline.live.server import LiveServer
from trunkline.live.watcher import ScenarioWatcher

__all__ = ["LiveServer", "ScenarioWatcher"]
