"""Scenarios as pages that run: the engine, the network and its parameters in one file of HTML."""

from trunkline.share.engine_module import EngineModuleMissing
from trunkline.share.page_writer import write_live_report, write_page
from trunkline.share.runnable_scenario import (
    NotShareable,
    RunnableScenario,
    build_runnable_scenario,
)

__all__ = [
    "EngineModuleMissing",
    "NotShareable",
    "RunnableScenario",
    "build_runnable_scenario",
    "write_live_report",
    "write_page",
]
