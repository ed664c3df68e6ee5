"""Names of a package that are imported at their first use, so that unused ones cost no time.

``from trunkline.study.run import cluster`` imports ``trunkline.study`` too. Were its names there at
once, a worker that only measures runs would read the whole language of scenarios first.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def make_lazy_getattr(
    package: str,
    names_by_module: Mapping[str, str],
    renamed: Mapping[str, str] | None = None,
) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package (PEP 562).

    package: Its full name.
    names_by_module: Full names of modules, each with the names that come from it, separated by
        spaces.
    renamed: Names of earlier versions, and the ones of today; who asks for an old one reads the
        new.
    """
    new_by_old_name = renamed or {}
    module_by_name = {
        name: home for home, names in names_by_module.items() for name in names.split()
    }

    def attribute(name: str) -> Any:
        if name in new_by_old_name:
            raise AttributeError(f"{package}.{name} is now {package}.{new_by_old_name[name]}")
        if name not in module_by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module_by_name[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute
