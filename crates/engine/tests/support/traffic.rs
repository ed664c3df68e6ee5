//! Agents.

use super::{MBIT, MS, SECOND};
use trunkline_agent::tcp::{CongestionConfig, TcpConfig, Variant};
use trunkline_agent::udp::{Arrivals, MediaConfig, Size, UdpConfig};
use trunkline_engine::network::Agent;

pub fn udp(arrivals: Arrivals, rate_bit_s: u64, size: Size) -> Agent {
    Agent::Udp(UdpConfig { arrivals, rate_bit_s, size, header_bytes: 28, tick_ns: 0, phase_ns: 0 })
}

/// Datagrams of `bytes` at a constant rate.
pub fn cbr(rate_bit_s: u64, bytes: u32) -> Agent {
    udp(Arrivals::Cbr { jitter: 0.0 }, rate_bit_s, Size::Fixed { bytes })
}

/// Poisson arrivals at a mean rate.
pub fn poisson(rate_bit_s: u64, size: Size) -> Agent {
    udp(Arrivals::Poisson, rate_bit_s, size)
}

/// Exponential periods of constant rate and of silence.
pub fn on_off(rate_bit_s: u64, bytes: u32, mean_on_ns: u64, mean_off_ns: u64) -> Agent {
    udp(Arrivals::OnOff { mean_on_ns, mean_off_ns }, rate_bit_s, Size::Fixed { bytes })
}

/// Datagrams of given sizes at given times after the start.
pub fn schedule(datagrams: &[(u64, u32)]) -> Agent {
    let (times_ns, sizes) = datagrams.iter().copied().unzip();
    udp(Arrivals::Schedule { times_ns, sizes }, 1, Size::Fixed { bytes: 1 })
}

/// Frames of 40 ms of interactive media, from a tenth of 1 Mbit/s to a rate; they play after 100 ms.
pub fn media(max_bit_s: u64, bytes: u32) -> Agent {
    let media = MediaConfig {
        min_bit_s: MBIT / 10,
        ladder_bit_s: vec![],
        priority: 1.0,
        frame_ns: 40 * MS,
        playout_ns: 100 * MS,
        ecn: false,
    };
    udp(Arrivals::Media(media.into()), max_bit_s, Size::Fixed { bytes })
}

/// Equally likely sizes [B].
pub fn sizes(bytes: &[u32]) -> Size {
    Size::Choice { bytes: bytes.to_vec(), weights: vec![1.0; bytes.len()] }
}

/// An endless transfer of 1000 B segments with 40 B of headers, a window that never limits, no
/// delayed acknowledgement, exact clock, RFC 6298 timer.
pub fn tcp(variant: Variant) -> TcpConfig {
    TcpConfig {
        variant,
        new_reno_impatient: false,
        partial_ack_resets: false,
        mss_bytes: 1000,
        header_bytes: 40,
        ack_bytes: 40,
        size_bytes: None,
        window_packets: 100_000,
        initial_window: 2.0,
        initial_ssthresh: None,
        rto_initial_ns: SECOND,
        rto_min_ns: 200 * MS,
        rto_max_ns: 60 * SECOND,
        tick_ns: 1,
        timestamps: true,
        delayed_ack: None,
        limited_transmit: false,
        dup_acks: 3,
        send_overhead_ns: 0,
        ecn: false,
        count_segments: false,
        linux: false,
        connect: false,
        receive_buffer: None,
        send_buffer_bytes: None,
        after_idle: Default::default(),
        congestion: CongestionConfig::default(),
        pacing: false,
    }
}
