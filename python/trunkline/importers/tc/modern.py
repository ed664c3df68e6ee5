"""Options of tc's flow queueing and of its disciplines that judge by time.

Source: tc-fq_codel(8), tc-codel(8), tc-pie(8), tc-fq_pie(8), tc-sfq(8), tc-fq(8), tc-cake(8).
"""

from trunkline.importers.tc.reads import Read, Table, count, table

_NO_ECN = "flows say whether they are ECN-capable; the AQM then marks their packets"
_OVERHEAD = "the header of the link says what a packet has on the wire"
IGNORED = {
    **dict.fromkeys(("ecn", "noecn"), _NO_ECN),
    "memory_limit": "the limit in packets counts here",
    "perturb": "the hash does not change here",
    **dict.fromkeys(("buckets", "orphan_mask"), "each flow has a queue of its own"),
    "nopacing": "nothing is paced here",
    "pacing": "senders are not paced here",
    "initial_quantum": "a new flow gets one quantum here",
    **dict.fromkeys(("nonat", "nat"), "addresses are not translated here"),
    "nowash": "no DSCP is washed here",
    "no-ack-filter": "no acknowledgement is filtered here",
    **dict.fromkeys(("split-gso", "no-split-gso"), "packets are not merged here"),
    "wash": "DSCPs stay; a conditioner behind can write them",
    "ingress": "what is dropped costs the shaper nothing here",
    "egress": "what leaves is shaped",
    **dict.fromkeys(("raw", "noatm", "conservative", "ethernet", "docsis"), _OVERHEAD),
    "overhead": _OVERHEAD,
    "mpu": "a packet counts its own length; keep packets at least as long",
    "unlimited": "the link's rate is the only one",
    **dict.fromkeys(("bytemode", "nobytemode"), "every packet counts alike here"),
}


def _always(value: int) -> Read:
    return lambda _reader: value


_MOST = 2**31 - 1
_CODEL = "limit=packets target interval ce_threshold ecn= noecn="
_PIE = "limit=packets target tupdate alpha beta ecn= noecn= bytemode= nobytemode="
_FLOWS = "flows quantum memory_limit="
_READS = {
    "limit": count(1, _MOST),
    "alpha": count(1, 32),
    "beta": count(1, 32),
    "flows": count(1, 65_535),
    "drop_batch": count(1, 1_000_000),
}
_CAKE = "besteffort diffserv3 diffserv4 flows dual-srchost dual-dsthost triple-isolate"
_CAKE_LEFT_OUT = "nonat= nat= nowash= no-ack-filter= split-gso= no-split-gso= wash= ingress= "
_CAKE_LEFT_OUT += "egress= raw= noatm= conservative= ethernet= docsis= overhead= mpu="
_CAKE_RTTS = {
    "datacentre": 100_000,
    "lan": 1_000_000,
    "metro": 10_000_000,
    "regional": 30_000_000,
    "internet": 100_000_000,
    "oceanic": 300_000_000,
    "satellite": 1_000_000_000,
    "interplanetary": 3_600_000_000_000,
}

QDISCS: dict[str, Table] = {
    "codel": table(_CODEL, **_READS),
    "fq_codel": table(f"{_CODEL} {_FLOWS} drop_batch", **_READS),
    "pie": table(_PIE, **_READS),
    "fq_pie": table(f"{_PIE} {_FLOWS}", **_READS),
    "sfq": table(
        "limit=packets depth divisor=flows quantum perturb=",
        limit=count(1, _MOST),
        depth=count(1, 127),
        divisor=count(1, 65_535),
        perturb=count(0, _MOST),
    ),
    "fq": table(
        "limit=packets flow_limit=depth quantum initial_quantum= buckets= orphan_mask= "
        "pacing= nopacing=",
        limit=count(1, _MOST),
        flow_limit=count(1, _MOST),
        buckets=count(1, _MOST),
        orphan_mask=count(0, _MOST),
    ),
    "cake": {
        **table(f"bandwidth unlimited= rtt memlimit {_CAKE}"),
        **{word: ("rtt", _always(its)) for word, its in _CAKE_RTTS.items()},
        **table(_CAKE_LEFT_OUT, overhead=count(-64, 256), mpu=count(0, 256)),
    },
}
"""Options by queueing discipline."""
