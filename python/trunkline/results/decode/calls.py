"""The table of calls: late packets, and the E-model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results import emodel
from trunkline.results.decode.columns import Rows, floats, mask, ratio, seconds
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network


def calls(rows: Rows, flows: Rows, network: Network) -> dict[str, Column]:
    """One row a flow that is a call."""
    late = rows["packets_late"]
    delivered = [flows["packets_delivered"][flow] for flow in rows["flow"]]
    dropped = [flows["packets_dropped"][flow] for flow in rows["flow"]]
    whole = [there + lost for there, lost in zip(delivered, dropped, strict=True)]
    missed = [lost + after for lost, after in zip(dropped, late, strict=True)]
    its = [network["flows"][flow]["call"] for flow in rows["flow"]]
    ears = [call["codec_ns"] + call["playout_ns"] for call in its]
    delays = [
        emodel.delay_impairment(ear / 1e6, call["delay_formula"])
        for ear, call in zip(ears, its, strict=True)
    ]
    equipment = []
    known = []
    for call, miss, all_of in zip(its, missed, whole, strict=True):
        ie, bpl = call["ie"], call["bpl"]
        known.append(ie is not None and bpl is not None and all_of > 0)
        share = miss / all_of if all_of else 0.0
        equipment.append(
            emodel.equipment_impairment(ie or 0.0, bpl or 0.1, share, call["burst_ratio"])
        )
    ratings = [emodel.R_DEFAULT - delay - of for delay, of in zip(delays, equipment, strict=True)]
    valid = mask(known)
    return {
        "codec": Column([call["codec"] for call in its]),
        "late_ratio": ratio(late, whole),
        "loss_ratio": ratio(missed, whole),
        "mouth_to_ear_s": seconds(ears),
        "delay_impairment": floats(delays),
        "equipment_impairment": floats(equipment, valid),
        "r_factor": floats(ratings, valid),
        "mos": floats([emodel.mos(r) for r in ratings], valid),
    }
