"""Scenarios as pages that run: the engine, the network and its parameters in one file of HTML."""

from trunkline.share.engine_module import EngineModuleMissing
from trunkline.share.exercise_code import CodeError, TaskVerdict, check_code
from trunkline.share.page_writer import share_page, write_live_report, write_page
from trunkline.share.runnable_scenario import (
    NotShareable,
    RunnableScenario,
    build_runnable_scenario,
)

__all__ = [
    "CodeError",
    "EngineModuleMissing",
    "NotShareable",
    "RunnableScenario",
    "TaskVerdict",
    "build_runnable_scenario",
    "check_code",
    "share_page",
    "write_live_report",
    "write_page",
]
