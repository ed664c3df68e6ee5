"""Columns of tables: name, type, unit and title of each."""

from dataclasses import dataclass
from typing import Literal

FieldKind = Literal["str", "i64", "f64"]
FieldOrigin = Literal["name", "counted", "averaged", "derived"]


@dataclass(frozen=True, slots=True)
class Field:
    """One column.

    Parameters
    ----------
    name : str
        Name of the column; ends in the unit where there is one.
    kind : {"str", "i64", "f64"}
        Arrow type: string, int64 or double.
    origin : {"name", "counted", "averaged", "derived"}
        A name from the scenario, an integer of the engine, an average of the engine, or computed
        here from the others.
    about : str
        What it holds.
    base : tuple of str
        Columns of the same table that count what it averages, or what it is an extreme or a share
        of. It is null where none of them is above 0; which columns are null follows from this.
    """

    name: str
    kind: FieldKind
    origin: FieldOrigin
    about: str
    base: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        """Content of the column, and the reason for nulls where there is nothing to average."""
        if not self.base:
            return self.about
        *others, last = (f"`{name}`" for name in self.base)
        counts = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        return f"{self.about}; null where {counts} 0"

    @property
    def in_json(self) -> bool:
        """Whether JSON carries it: base units only, so nanoseconds are left to the tables."""
        return not self.name.endswith("_ns")

    @property
    def in_hash(self) -> bool:
        """Whether the results hash covers it: names and integers, never floats."""
        return self.origin in ("name", "counted")

    @property
    def unit(self) -> str:
        """``bit/s``, ``s``, ``ns``, ``B``, ``%`` (of a share of 1); empty for names and numbers."""
        if self.name.endswith(("_ratio", "utilisation", "share")):
            return "%"
        if "bytes" in self.name:
            return "B"
        return next((unit for end, unit in _UNITS.items() if self.name.endswith(end)), "")

    @property
    def is_summable(self) -> bool:
        """Whether the sum over rows means something: counts and rates, not delays or extremes."""
        extreme = any(word in self.name for word in ("_max", "_min", "_mean", *_SCORE_WORDS))
        return self.kind != "str" and self.unit in ("", "B", "bit/s") and not extreme

    @property
    def title(self) -> str:
        """Head of the column in tables for people."""
        return _TITLES.get(self.name, self.name.replace("_", " "))


_SCORE_WORDS = ("_index", "mos", "r_factor", "slowdown", "impairment")
"""Numbers without a unit of which a sum means nothing."""
_UNITS = {"_bit_s": "bit/s", "_ns": "ns", "_s": "s"}
_TITLES = {
    "dscp": "DSCP",
    "offered_bit_s": "offered",
    "throughput_bit_s": "throughput",
    "goodput_bit_s": "goodput",
    "loss_ratio": "loss",
    "delay_mean_s": "delay",
    "delay_p99_s": "p99",
    "delay_max_s": "max",
    "jitter_s": "jitter",
    "retransmissions": "resent",
    "utilisation": "use",
    "packets_offered": "offered",
    "packets_dropped": "dropped",
    "packets_marked": "marked",
    "packets_ce": "CE",
    "wait_mean_s": "wait",
    "queue_mean_packets": "queue",
    "queue_max_packets": "queue max",
    "jain_index": "Jain",
    "demand_share": "of demand",
    "least_demand_share": "least of demand",
    "jain_of_demand": "Jain of demand",
    "starved_max_s": "starved",
    "starved_mean_s": "starved mean",
    "setup_mean_s": "set-up",
    "out_s": "out",
    "mouth_to_ear_s": "mouth to ear",
    "late_ratio": "late",
    "rtt_min_s": "RTT min",
    "rtt_mean_s": "mean",
    "rtt_p99_s": "p99",
    "rtt_max_s": "max",
    "rtt_jitter_s": "jitter",
    "there_mean_s": "there",
    "back_mean_s": "back",
    "r_factor": "R",
    "mos": "MOS",
    "start_up_s": "start-up",
    "stalled_s": "stalled",
    "stall_ratio": "stalled",
    "bit_rate_bit_s": "bit rate",
    "fct_mean_s": "mean",
    "fct_p50_s": "p50",
    "fct_p95_s": "p95",
    "fct_p99_s": "p99",
    "slowdown_mean": "slowdown",
    "slowdown_p99": "p99 of it",
}


def define_name(name: str, about: str) -> Field:
    """A name from the scenario."""
    return Field(name, "str", "name", about)


def define_count(name: str, about: str, *base: str) -> Field:
    """An integer of the engine."""
    return Field(name, "i64", "counted", about, base)


def define_mean(name: str, about: str, *base: str) -> Field:
    """An average of the engine."""
    return Field(name, "f64", "averaged", about, base)


def define_derived(name: str, about: str, *base: str) -> Field:
    """Define columns that are computed from others."""
    return Field(name, "f64", "derived", about, base)


def define_base_count(name: str, about: str) -> Field:
    """Define a count of averaged values; it is no result itself, so no part of the results hash."""
    return Field(name, "i64", "derived", about)


def define_delays(timed: str, jitter: str, *, subject: str = "one-way delay") -> tuple[Field, ...]:
    """Measures of delay in ns; `timed` counts the packets whose delay was measured."""
    later = [("p95", "95"), ("p99", "99"), ("p999", "99.9")]
    return (
        define_mean("delay_mean_ns", f"mean {subject}", timed),
        define_count("delay_min_ns", f"minimum {subject}", timed),
        define_count("delay_max_ns", f"maximum {subject}", timed),
        define_count("delay_p50_ns", f"median {subject}", timed),
        define_count("delay_p90_ns", f"90th percentile of the {subject}", timed),
        *(
            define_count(f"delay_{name}_ns", f"{share}th percentile of it", timed)
            for name, share in later
        ),
        define_mean("jitter_ns", jitter, "delays_compared"),
    )


def define_seconds(*fields: Field) -> tuple[Field, ...]:
    """The same in seconds; after the percentiles, the range of the delay."""
    seconds_fields = []
    for field in fields:
        if field.name == "jitter_ns":
            timed = fields[0].base
            seconds_fields.append(
                define_derived("delay_range_s", "maximum less minimum one-way delay", *timed)
            )
        seconds_fields.append(
            define_derived(field.name.removesuffix("_ns") + "_s", field.about, *field.base)
        )
    return tuple(seconds_fields)
