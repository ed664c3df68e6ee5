"""The E-model by hand: ITU-T G.107 with default values."""

from __future__ import annotations

import pytest

from trunkline.results.e_model import (
    DEFAULT_RATING,
    compute_delay_impairment,
    compute_equipment_impairment,
    compute_mos,
)
from trunkline.scenario.call import CODECS

# Delay from mouth to ear [ms], loss, Ie, Bpl; then Idd, the simplified Id, Ie,eff, and the MOS by
# either formula. 200 ms: X = log2 2 = 1, Idd = 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) = 3.044;
# simplified 0.024 * 200 + 0.11 * 22.7 = 7.297; 1 % at Bpl 25.1: 95 / 26.1 = 3.640, and so on.
CASES = [
    (0, 0.0, 0, 25.1, 0.0, 0.0, 0.0, 4.409, 4.409),
    (150, 0.0, 0, 25.1, 0.164, 3.6, 0.0, 4.406, 4.329),
    (200, 0.01, 0, 25.1, 3.044, 7.297, 3.640, 4.245, 4.107),
    (100, 0.02, 0, 4.3, 0.0, 2.4, 30.159, 3.256, 3.133),
    (150, 0.03, 11, 19.0, 0.164, 3.6, 22.455, 3.624, 3.460),
]


@pytest.mark.parametrize(
    ("delay", "loss", "ie", "bpl", "idd", "simplified", "ie_eff", "by_g107", "by_simplified"), CASES
)
def test_g107_7_4_and_7_5_from_delay_and_loss_to_the_opinion_score(
    delay: float,
    loss: float,
    ie: float,
    bpl: float,
    idd: float,
    simplified: float,
    ie_eff: float,
    by_g107: float,
    by_simplified: float,
) -> None:
    assert compute_delay_impairment(delay, "g107") == pytest.approx(idd, abs=0.001)
    assert compute_delay_impairment(delay, "simplified") == pytest.approx(simplified, abs=0.001)
    equipment = compute_equipment_impairment(ie, bpl, loss)
    assert equipment == pytest.approx(ie_eff, abs=0.001)
    for formula, score in (("g107", by_g107), ("simplified", by_simplified)):
        rating = DEFAULT_RATING - compute_delay_impairment(delay, formula) - equipment
        assert compute_mos(rating) == pytest.approx(score, abs=0.001)


@pytest.mark.parametrize(
    ("rating", "score"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)]
)
def test_g107_annex_b_table_b1_scores_of_ratings(rating: float, score: float) -> None:
    """The table's own figures; it has 4.03 where its formula gives 4.024."""
    assert compute_mos(rating) == pytest.approx(score, abs=0.007)


def test_g107_7_7_all_default_values_are_a_rating_of_93_2() -> None:
    assert DEFAULT_RATING == 93.2


@pytest.mark.parametrize(
    ("codec", "ie", "bpl"), [("g711", 0, 4.3), ("g711-plc", 0, 25.1), ("g729a", 11, 19.0)]
)
def test_g113_appendix_i_table_i3_factors_of_codecs(codec: str, ie: float, bpl: float) -> None:
    """11/2007: equipment impairment, and robustness to random loss."""
    assert (CODECS[codec].ie, CODECS[codec].bpl) == (ie, bpl)


def test_g107_annex_b_ends_at_1_and_4_5() -> None:
    assert (compute_mos(-5), compute_mos(0), compute_mos(100), compute_mos(120)) == (1, 1, 4.5, 4.5)


def test_g107_7_5_bursts_of_losses_weigh_more_than_single_ones() -> None:
    # Ppl 2 %, BurstR 2, Bpl 19: 11 + 84 * 2 / (2 / 2 + 19) = 19.4; at random 11 + 84 * 2 / 21 = 19.
    assert compute_equipment_impairment(11, 19, 0.02, 2.0) == pytest.approx(19.4)
    assert compute_equipment_impairment(11, 19, 0.02) == pytest.approx(19.0)
