//! Probes, as the compiled network has them.

use serde::{Deserialize, Serialize};

/// Something to record in steps of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The measure.
    pub measure: Measure,
    /// Index of the flow or the link (by `measure`).
    pub target: u32,
    /// Class of the port, for queues; none = all of the port.
    pub class: Option<u16>,
    /// Drop precedence, for queues; none = all of them.
    #[serde(default)]
    pub precedence: Option<u8>,
    /// Step [ns, > 0].
    pub step_ns: u64,
}

/// Measures of a probe. Rates are means over the step that ends at the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Flow: bits of IP packets delivered per second.
    Throughput,
    /// Flow: bits of new application data delivered per second.
    Goodput,
    /// Flow: mean one-way delay of the packets delivered in the step [s]; none: not a number.
    Delay,
    /// Flow: greatest one-way delay of the packets delivered in the step [s].
    DelayMax,
    /// Flow (TCP): congestion window [segments].
    Cwnd,
    /// Flow (TCP): slow-start threshold [segments].
    Ssthresh,
    /// Flow (TCP): smoothed round-trip time [s].
    Srtt,
    /// Flow (TCP): latest sample of the round-trip time, without smoothing [s].
    Rtt,
    /// Flow (TCP): retransmission timeout, back-off included [s].
    Rto,
    /// Flow (TCP): pace of its segments [bit/s of payload]; none where it does not pace.
    PacingRate,
    /// Flow (TCP): segments in the network as the sender counts them.
    Inflight,
    /// Flow of transfers: those open at the sample.
    Transfers,
    /// Flow (TCP): 0 slow start, 1 congestion avoidance, 2 fast recovery, 3 timeout.
    State,
    /// Link: packets in the port, the one in service included.
    QueuePackets,
    /// Link: bytes in the port, the one in service included.
    QueueBytes,
    /// Link: average kept by the class's AQM.
    QueueAverage,
    /// Link: share of its capacity used.
    Utilisation,
    /// Link: packets dropped at its port per second.
    Drops,
    /// Link: packets that its port marked per second.
    Marks,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 19] = [
        Self::Throughput,
        Self::Goodput,
        Self::Delay,
        Self::DelayMax,
        Self::Cwnd,
        Self::Ssthresh,
        Self::Srtt,
        Self::Rtt,
        Self::Rto,
        Self::PacingRate,
        Self::Inflight,
        Self::State,
        Self::Transfers,
        Self::QueuePackets,
        Self::QueueBytes,
        Self::QueueAverage,
        Self::Utilisation,
        Self::Drops,
        Self::Marks,
    ];

    /// Whether the probe's target is a flow; otherwise it is a link.
    #[must_use]
    pub fn is_of_flow(self) -> bool {
        matches!(
            self,
            Self::Throughput
                | Self::Goodput
                | Self::Delay
                | Self::DelayMax
                | Self::Cwnd
                | Self::Ssthresh
                | Self::Srtt
                | Self::Rtt
                | Self::Rto
                | Self::PacingRate
                | Self::Inflight
                | Self::Transfers
                | Self::State
        )
    }
}
