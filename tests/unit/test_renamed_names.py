"""Public names of earlier versions: who uses one reads what it is called today."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import trunkline

PACKAGES = ("study", "stats", "results", "compare", "planning")


@pytest.mark.parametrize("name", PACKAGES)
def test_an_old_name_leads_to_one_that_exists(name):
    package = importlib.import_module(f"trunkline.{name}")
    source = Path(package.__file__).read_text("utf-8").partition("renamed=")[2]
    renamed = re.findall(r'"(\w+)": "(\w+)"', source)
    assert renamed
    for old, new in renamed:
        hint = f"trunkline.{name}.{old} is now trunkline.{name}.{new}"
        with pytest.raises(AttributeError, match=re.escape(hint)):
            getattr(package, old)
        assert getattr(package, new) is not None
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = package.absent


def test_forms_of_notebooks_come_from_above():
    scenario = trunkline.loads(
        "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nrun: {duration: 1 s}\n"
    )
    assert "<svg" in scenario._repr_html_()
