"""Options of tc's flow queueing and of its disciplines that judge by time.

Source: tc-fq_codel(8), tc-codel(8), tc-pie(8), tc-fq_pie(8), tc-sfq(8), tc-fq(8), tc-cake(8).
"""

from trunkline.importers.tc.reads import Read, Table, count, flag, rate, size, time

_NO_ECN = "flows say whether they are ECN-capable; the AQM then marks their packets"
_OVERHEAD = "the header of the link says what a packet has on the wire"
IGNORED = {
    "ecn": _NO_ECN,
    "noecn": _NO_ECN,
    "memory_limit": "the limit in packets counts here",
    "perturb": "the hash does not change here",
    "buckets": "each flow has a queue of its own",
    "orphan_mask": "each flow has a queue of its own",
    "nopacing": "nothing is paced here",
    "pacing": "senders are not paced here",
    "initial_quantum": "a new flow gets one quantum here",
    "nonat": "addresses are not translated here",
    "nat": "addresses are not translated here",
    "nowash": "no DSCP is washed here",
    "no-ack-filter": "no acknowledgement is filtered here",
    "split-gso": "packets are not merged here",
    "no-split-gso": "packets are not merged here",
    "wash": "DSCPs stay; a conditioner behind can write them",
    "ingress": "what is dropped costs the shaper nothing here",
    "egress": "what leaves is shaped",
    "raw": _OVERHEAD,
    "noatm": _OVERHEAD,
    "conservative": _OVERHEAD,
    "ethernet": _OVERHEAD,
    "docsis": _OVERHEAD,
    "overhead": _OVERHEAD,
    "mpu": "a packet counts its own length; keep packets at least as long",
    "unlimited": "the link's rate is the only one",
    "bytemode": "every packet counts alike here",
    "nobytemode": "every packet counts alike here",
}


def _always(value: int) -> Read:
    return lambda _reader: value


_CODEL: Table = {
    "limit": ("packets", count(1, 2**31 - 1)),
    "target": ("target", time),
    "interval": ("interval", time),
    "ce_threshold": ("ce_threshold", time),
    "ecn": ("", flag),
    "noecn": ("", flag),
}
_PIE: Table = {
    "limit": ("packets", count(1, 2**31 - 1)),
    "target": ("target", time),
    "tupdate": ("tupdate", time),
    "alpha": ("alpha", count(1, 32)),
    "beta": ("beta", count(1, 32)),
    "ecn": ("", flag),
    "noecn": ("", flag),
    "bytemode": ("", flag),
    "nobytemode": ("", flag),
}
_FLOWS: Table = {
    "flows": ("flows", count(1, 65_535)),
    "quantum": ("quantum", size),
    "memory_limit": ("", size),
}
_CAKE_WORDS = [
    "besteffort",
    "diffserv3",
    "diffserv4",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
]
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
    "codel": _CODEL,
    "fq_codel": {**_CODEL, **_FLOWS, "drop_batch": ("drop_batch", count(1, 1_000_000))},
    "pie": _PIE,
    "fq_pie": {**_PIE, **_FLOWS},
    "sfq": {
        "limit": ("packets", count(1, 2**31 - 1)),
        "depth": ("depth", count(1, 127)),
        "divisor": ("flows", count(1, 65_535)),
        "quantum": ("quantum", size),
        "perturb": ("", count(0, 2**31 - 1)),
    },
    "fq": {
        "limit": ("packets", count(1, 2**31 - 1)),
        "flow_limit": ("depth", count(1, 2**31 - 1)),
        "quantum": ("quantum", size),
        "initial_quantum": ("", size),
        "buckets": ("", count(1, 2**31 - 1)),
        "orphan_mask": ("", count(0, 2**31 - 1)),
        "pacing": ("", flag),
        "nopacing": ("", flag),
    },
    "cake": {
        "bandwidth": ("bandwidth", rate),
        "unlimited": ("", flag),
        "rtt": ("rtt", time),
        "memlimit": ("memlimit", size),
        **{word: (word, flag) for word in _CAKE_WORDS},
        **{word: ("rtt", _always(its)) for word, its in _CAKE_RTTS.items()},
        **{
            word: ("", flag)
            for word in IGNORED
            if word not in ("ecn", "noecn", "memory_limit", "perturb", "buckets", "orphan_mask")
            and word not in ("overhead", "mpu", "pacing", "nopacing", "initial_quantum")
            and word not in ("bytemode", "nobytemode", "unlimited")
        },
        "overhead": ("", count(-64, 256)),
        "mpu": ("", count(0, 256)),
    },
}
"""Options by queueing discipline."""
