"""Matrices of demands: gravity, with any diagonal or none, and with lognormal masses.

Sources: Y. Zhang, M. Roughan, N. Duffield, A. Greenberg, Fast Accurate Computation of Large-Scale
IP Traffic Matrices from Link Loads, SIGMETRICS 2003 (gravity); W. E. Deming, F. F. Stephan, On a
Least Squares Adjustment of a Sampled Frequency Table, Ann. Math. Statist. 11(4), 1940 (iterative
proportional fitting); A. Nucci, A. Sridharan, N. Taft, The Problem of Synthetically Generating IP
Traffic Matrices, CCR 35(3), 2005 (lognormal demands).
"""

import hashlib
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from trunkline.te.topology import Floats

MAX_FITTING_ROUNDS = 10_000
FITTING_TOLERANCE = 1e-12  # Relative difference from the sums at which fitting ends.


def fit_gravity_matrix(out: Sequence[float], into: Sequence[float]) -> Floats:
    """Fit a gravity matrix with an empty diagonal by iterative proportional fitting.

    Rows sum to ``out``, columns to ``into``.

    Raises ValueError: The sums differ, or one node has more than all others can take or send.
    """
    sent = np.asarray(out, dtype=np.float64)
    received = np.asarray(into, dtype=np.float64)
    if not np.isclose(sent.sum(), received.sum(), rtol=1e-9):
        raise ValueError("what nodes send and what they receive must have the same sum")
    total = sent.sum()
    if ((sent + received) > total * (1 + FITTING_TOLERANCE)).any():
        raise ValueError("a node sends or receives more than all others together can")
    matrix: Floats = 1.0 - np.eye(len(sent))
    matrix[sent == 0, :] = 0.0
    matrix[:, received == 0] = 0.0
    for _ in range(MAX_FITTING_ROUNDS):
        matrix *= _scale_factors(sent, matrix.sum(axis=1))[:, None]
        matrix *= _scale_factors(received, matrix.sum(axis=0))
        if np.abs(matrix.sum(axis=1) - sent).max() <= FITTING_TOLERANCE * total:
            break
    return matrix


def _scale_factors(target: Floats, current: Floats) -> Floats:
    return np.divide(target, current, out=np.zeros_like(target), where=current > 0)


def make_lognormal_matrix(count: int, total: float, sigma: float, stream: str) -> Floats:
    """Make a gravity matrix between nodes with lognormal masses, with an empty diagonal.

    count: Number of nodes, 2 or more.
    total: Sum of all demands.
    sigma: Standard deviation of the logarithm of a mass; above 0.
    stream: Name of the random stream: the same name gives the same matrix on every machine.
    """
    # An extendable hash as the stream: 53 bits make a number inside (0, 1).
    random_bits = (
        np.frombuffer(hashlib.shake_256(stream.encode()).digest(8 * count), dtype=">u8") >> 11
    )
    normal = NormalDist()
    masses = np.exp([sigma * normal.inv_cdf((int(each) + 0.5) / 2**53) for each in random_bits])
    matrix: Floats = np.outer(masses, masses)
    np.fill_diagonal(matrix, 0.0)
    matrix *= total / matrix.sum()
    return matrix
