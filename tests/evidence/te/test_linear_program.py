"""What the solver prints stays out of the standard output, and what others print gets there."""

from __future__ import annotations

import os

import pytest

from trunkline.te.linear_program import _standard_output_silenced


def test_the_standard_output_alone_is_silenced_and_then_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for _ in range(2):
        with _standard_output_silenced():
            os.write(1, b"of the solver\n")
            os.write(2, b"an error\n")
        os.write(1, b"an answer\n")
    assert tuple(capfd.readouterr()) == ("an answer\n" * 2, "an error\n" * 2)
