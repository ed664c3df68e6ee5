"""The table of calls: late packets, and the E-model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results import e_model
from trunkline.results.decode.columns import (
    RawRows,
    make_float_column,
    make_mask,
    make_ratio_column,
    make_seconds_column,
)
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData


def decode_calls(rows: RawRows, flows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row a flow that is a call."""
    late = rows["packets_late"]
    delivered = [flows["packets_delivered"][flow] for flow in rows["flow"]]
    dropped = [flows["packets_dropped"][flow] for flow in rows["flow"]]
    expected = [arrived + lost for arrived, lost in zip(delivered, dropped, strict=True)]
    missing = [lost + after for lost, after in zip(dropped, late, strict=True)]
    call_settings = [network["flows"][flow]["call"] for flow in rows["flow"]]
    mouth_to_ear_ns = [call["codec_ns"] + call["playout_ns"] for call in call_settings]
    delays = [
        e_model.compute_delay_impairment(delay_ns / 1e6, call["delay_formula"])
        for delay_ns, call in zip(mouth_to_ear_ns, call_settings, strict=True)
    ]
    equipment = []
    known = []
    for call, missing_packets, packets in zip(call_settings, missing, expected, strict=True):
        ie, bpl = call["ie"], call["bpl"]
        known.append(ie is not None and bpl is not None and packets > 0)
        share = missing_packets / packets if packets else 0.0
        equipment.append(
            e_model.compute_equipment_impairment(ie or 0.0, bpl or 0.1, share, call["burst_ratio"])
        )
    ratings = [
        e_model.DEFAULT_RATING - delay - impairment
        for delay, impairment in zip(delays, equipment, strict=True)
    ]
    valid = make_mask(known)
    return {
        "codec": Column([call["codec"] for call in call_settings]),
        "late_ratio": make_ratio_column(late, expected),
        "loss_ratio": make_ratio_column(missing, expected),
        "mouth_to_ear_s": make_seconds_column(mouth_to_ear_ns),
        "delay_impairment": make_float_column(delays),
        "equipment_impairment": make_float_column(equipment, valid),
        "r_factor": make_float_column(ratings, valid),
        "mos": make_float_column([e_model.compute_mos(r) for r in ratings], valid),
    }
