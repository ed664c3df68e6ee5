"""Options of tc's flow queueing and of its disciplines that judge by time.

Source: tc-fq_codel(8), tc-codel(8), tc-pie(8), tc-fq_pie(8), tc-sfq(8), tc-fq(8), tc-cake(8).
"""

from trunkline.importers.tc.option_values import (
    OptionReader,
    OptionTable,
    make_count_reader,
    make_option_table,
)
from trunkline.importers.tc.word_reader import WordReader

_ECN_NOTE = "flows say whether they are ECN-capable; the AQM then marks their packets"
OVERHEAD_NOTE = "the header of the link says what a packet has on the wire"
MPU_NOTE = "a packet counts its own length; keep packets at least as long"
CELLS_NOTE = (
    "no link here has cells: ATM takes 53 B for each 48 B begun, with 40 B of overhead 17 % more "
    "than is counted here for 1500 B and 165 % more for 40 B; lower the rates for it"
)
_PTM_NOTE = "PTM takes 65 B for each 64 B, 1.6 % more than is counted here; lower the rates for it"
_CELLS_WORDS = (
    *("atm", "pppoa-vcmux", "pppoa-llc", "pppoe-vcmux", "pppoe-llc", "pppoe-llcsnap"),
    *("ipoa-vcmux", "ipoa-llc", "llcsnap", "bridged-vcmux", "bridged-llc", "bridged-llcsnap"),
    "conservative",
)
"""Words of CAKE that say ATM, some with an overhead."""
_PTM_WORDS = ("ptm", "pppoe-ptm", "bridged-ptm")
IGNORED_OPTIONS = {
    **dict.fromkeys(("ecn", "noecn"), _ECN_NOTE),
    "memory_limit": "the limit in packets counts here",
    "perturb": "the hash does not change here",
    **dict.fromkeys(("buckets", "orphan_mask"), "each flow has its own queue"),
    "nopacing": "nothing is paced here",
    "pacing": "senders are not paced here",
    "initial_quantum": "a new flow gets one quantum here",
    **dict.fromkeys(
        ("low_rate_threshold", "timer_slack", "horizon", "horizon_cap", "horizon_drop"),
        "senders are not paced here",
    ),
    "refill_delay": "a flow that was idle gets one quantum here",
    **dict.fromkeys(("nonat", "nat"), "addresses are not translated here"),
    "nowash": "no DSCP is washed here",
    "no-ack-filter": "no acknowledgement is filtered here",
    **dict.fromkeys(("split-gso", "no-split-gso"), "packets are not merged here"),
    "wash": "DSCPs stay; a conditioner behind can write them",
    "ingress": "what is dropped costs the shaper nothing here",
    "egress": "egress traffic is shaped",
    **dict.fromkeys(("raw", "noatm", "ethernet", "docsis", "ether-vlan"), OVERHEAD_NOTE),
    **dict.fromkeys(_CELLS_WORDS, CELLS_NOTE),
    **dict.fromkeys(_PTM_WORDS, _PTM_NOTE),
    "overhead": OVERHEAD_NOTE,
    "mpu": MPU_NOTE,
    "unlimited": "the link's rate is the only one",
    **dict.fromkeys(("bytemode", "nobytemode"), "every packet counts alike here"),
}


def _return_constant(value: int) -> OptionReader:
    return lambda _reader: value


_MAX_INT32 = 2**31 - 1
_CODEL_WORDS = "limit=packets target interval ce_threshold ecn= noecn="
_PIE_WORDS = "limit=packets target tupdate alpha beta ecn= noecn= bytemode= nobytemode="
_FLOW_WORDS = "flows quantum memory_limit="
_OPTION_READERS = {
    "limit": make_count_reader(1, _MAX_INT32),
    "alpha": make_count_reader(1, 32),
    "beta": make_count_reader(1, 32),
    "flows": make_count_reader(1, 65_535),
    "drop_batch": make_count_reader(1, 1_000_000),
}
_CAKE_WORDS = "besteffort precedence diffserv3 diffserv4 diffserv8 flows dual-srchost "
_CAKE_WORDS += "dual-dsthost triple-isolate"
_CAKE_IGNORED_WORDS = "nonat= nat= nowash= no-ack-filter= split-gso= no-split-gso= wash= ingress= "
_CAKE_IGNORED_WORDS += "egress= raw= noatm= ethernet= docsis= ether-vlan= overhead= mpu= "
_CAKE_IGNORED_WORDS += "".join(f"{word}= " for word in (*_CELLS_WORDS, *_PTM_WORDS))
_CAKE_RTT_NS = {
    "datacentre": 100_000,
    "lan": 1_000_000,
    "metro": 10_000_000,
    "regional": 30_000_000,
    "internet": 100_000_000,
    "oceanic": 300_000_000,
    "satellite": 1_000_000_000,
    "interplanetary": 3_600_000_000_000,
}

QDISC_OPTIONS: dict[str, OptionTable] = {
    "codel": make_option_table(_CODEL_WORDS, **_OPTION_READERS),
    "fq_codel": make_option_table(f"{_CODEL_WORDS} {_FLOW_WORDS} drop_batch", **_OPTION_READERS),
    "pie": make_option_table(_PIE_WORDS, **_OPTION_READERS),
    "fq_pie": make_option_table(f"{_PIE_WORDS} {_FLOW_WORDS}", **_OPTION_READERS),
    "sfq": make_option_table(
        "limit=packets depth divisor=flows quantum perturb=",
        limit=make_count_reader(1, _MAX_INT32),
        depth=make_count_reader(1, 127),
        divisor=make_count_reader(1, 65_535),
        perturb=make_count_reader(0, _MAX_INT32),
    ),
    "fq": make_option_table(
        "limit=packets flow_limit=depth quantum initial_quantum= buckets= orphan_mask= "
        "pacing= nopacing= low_rate_threshold= refill_delay= timer_slack= horizon= horizon_cap= "
        "horizon_drop=",
        low_rate_threshold=WordReader.read_rate_or_zero,
        **dict.fromkeys(("refill_delay", "timer_slack", "horizon"), WordReader.read_time),
        limit=make_count_reader(1, _MAX_INT32),
        flow_limit=make_count_reader(1, _MAX_INT32),
        buckets=make_count_reader(1, _MAX_INT32),
        orphan_mask=make_count_reader(0, _MAX_INT32),
    ),
    "cake": {
        **make_option_table(f"bandwidth unlimited= rtt memlimit {_CAKE_WORDS}"),
        **{word: ("rtt", _return_constant(rtt_ns)) for word, rtt_ns in _CAKE_RTT_NS.items()},
        **make_option_table(
            _CAKE_IGNORED_WORDS, overhead=make_count_reader(-64, 256), mpu=make_count_reader(0, 256)
        ),
    },
}
"""Options by queueing discipline."""
