"""What the solver prints stays out of the standard output, and what others print gets there."""

from __future__ import annotations

import os

import numpy as np
import pytest

from trunkline.te.linear_program import _standard_output_silenced, solve_integer_program


def test_the_standard_output_alone_is_silenced_and_then_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for _ in range(2):
        with _standard_output_silenced():
            os.write(1, b"of the solver\n")
            os.write(2, b"an error\n")
        os.write(1, b"an answer\n")
    assert tuple(capfd.readouterr()) == ("an answer\n" * 2, "an error\n" * 2)


def test_whole_numbers_of_least_cost_are_found_where_there_are_any() -> None:
    """x + 2 y of at least 5 with x and y of at most 2: 3 x + 4 y is least for 1 and 2."""
    cost, rows, most = np.array([3.0, 4.0]), np.array([[1.0, 2.0]]), np.array([2.0, 2.0])
    found = solve_integer_program(cost, rows, np.array([5.0]), most, max_nodes=100)
    assert found is not None
    assert found.values is not None
    assert (found.values.tolist(), found.bound) == ([1, 2], pytest.approx(11))
    assert solve_integer_program(cost, rows, np.array([7.0]), most, max_nodes=100) is None
