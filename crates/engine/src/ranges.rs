//! Ranges of the numbers in a network. The language only compiles valid ones; a network written
//! by hand, or by a program, is refused here before anything divides by them.

mod transfers;

use crate::network::{Agent, Flow, Link, Network};
use trunkline_agent::tcp::TcpConfig;
use trunkline_agent::udp::{Arrivals, Gaps, MediaConfig, Size, UdpConfig};
use trunkline_units::{Span, SECOND};

/// Longest time anywhere: 100 years. Sums of a few stay below 2^64 ns.
const MAX_SPAN: Span = 100 * 365 * 24 * 3600 * SECOND;
/// Largest frame of an encoder [B].
const MAX_FRAME_BYTES: u128 = 1 << 30;
/// Largest IP packet [B].
const MAX_IP_BYTES: u32 = 65_535;

/// The first number that is out of range, with its place.
pub(crate) fn check(network: &Network) -> Result<(), String> {
    check_span("run: duration_ns", network.run.duration_ns)?;
    for processing_times in network.nodes.iter().filter_map(|node| node.processing.as_ref()) {
        for span in [
            processing_times.fixed_ns,
            processing_times.ip_lookup_ns,
            processing_times.label_lookup_ns,
        ] {
            check_span("processing", span)?;
        }
    }
    for link in &network.links {
        check_link(link).map_err(|why| format!("link {}: {why}", link.name))?;
    }
    for flow in &network.flows {
        let transfers = || {
            let transfer_config = flow.transfers.as_ref();
            transfer_config.map_or(Ok(()), |transfer_config| {
                transfers::check(flow, transfer_config, &network.flows)
            })
        };
        check_flow(flow)
            .and_then(|()| transfers())
            .map_err(|why| format!("flow {}: {why}", flow.name))?;
    }
    Ok(())
}

fn require(holds: bool, why: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(why.into())
    }
}

fn check_span(key: &str, span: Span) -> Result<(), String> {
    require(span <= MAX_SPAN, &format!("{key} must be at most 100 years"))
}

fn check_link(link: &Link) -> Result<(), String> {
    check_span("delay_ns", link.delay_ns)?;
    require(link.header_bytes <= MAX_IP_BYTES, "header_bytes must be at most 65535")?;
    if let Some(reorder) = link.reorder {
        check_span("reorder.by_ns", reorder.by_ns)?;
        require((0.0..=1.0).contains(&reorder.share), "reorder.share must be in 0..=1")?;
    }
    // Written so that a number that is none is refused too.
    require((0.0..=1.0).contains(&link.loss), "loss must be in 0..=1")
}

fn check_flow(flow: &Flow) -> Result<(), String> {
    require(flow.src != flow.dst, "source and destination are the same node")?;
    require(flow.dscp < 64, "dscp must be below 64")?;
    check_span("start_ns", flow.start_ns)?;
    check_span("start_jitter_ns", flow.start_jitter_ns)?;
    if let Some(call) = &flow.call {
        require(matches!(*flow.agent, Agent::Udp(_)), "a call is a UDP flow")?;
        check_span("playout_ns", call.playout_ns)?;
    }
    if let Some(echo) = &flow.echo {
        let plain = matches!(*flow.agent, Agent::Udp(_)) && flow.call.is_none();
        require(plain, "an echo flow is a UDP flow and no call")?;
        check_bytes(echo.reply_bytes)?;
        require(echo.timeout_ns > 0, "timeout_ns must be above 0")?;
        check_span("timeout_ns", echo.timeout_ns)?;
    }
    match &*flow.agent {
        Agent::Tcp(config) => check_tcp(config),
        Agent::Udp(config) => check_udp(config),
        Agent::Control(control) => {
            require(control.header_bytes >= 20, "header_bytes must be 20 or more")
        }
    }
}

fn check_tcp(config: &TcpConfig) -> Result<(), String> {
    let sum = u64::from(config.mss_bytes) + u64::from(config.header_bytes);
    require(config.mss_bytes > 0, "mss_bytes must be above 0")?;
    require(
        sum <= MAX_IP_BYTES.into(),
        "mss_bytes and header_bytes must be at most 65535 together",
    )?;
    require((1..=MAX_IP_BYTES).contains(&config.ack_bytes), "ack_bytes must be in 1..=65535")?;
    require(config.window_packets > 0, "window_packets must be above 0")?;
    let window = config.initial_window;
    require(window.is_finite() && window >= 1.0, "initial_window must be 1 or more")?;
    let threshold = config.initial_ssthresh.unwrap_or(1.0);
    require(threshold.is_finite() && threshold > 0.0, "initial_ssthresh must be above 0")?;
    require(config.dup_acks > 0, "dup_acks must be above 0")?;
    require(config.tick_ns > 0, "tick_ns must be above 0")?;
    check_span("tick_ns", config.tick_ns)?;
    require(config.rto_initial_ns > 0, "rto_initial_ns must be above 0")?;
    require(config.rto_min_ns <= config.rto_max_ns, "rto_min_ns must be at most rto_max_ns")?;
    check_span("rto_initial_ns", config.rto_initial_ns)?;
    check_span("rto_max_ns", config.rto_max_ns)?;
    check_span("send_overhead_ns", config.send_overhead_ns)?;
    check_congestion(config)?;
    config.delayed_ack.map_or(Ok(()), |delayed| {
        check_span("delayed_ack: timeout_ns", delayed.timeout_ns)?;
        require(delayed.every > 0, "delayed_ack: every must be above 0")
    })
}

/// Options of a connection that its congestion control needs.
fn check_congestion(config: &TcpConfig) -> Result<(), String> {
    let kind = &config.congestion;
    require(config.ecn || !kind.needs_ecn(), "congestion dctcp and prague need ecn")?;
    require(
        !kind.counts_marks() || !config.linux,
        "congestion prague needs the stack of the RFCs",
    )?;
    require(!kind.counts_marks() || config.pacing, "congestion prague needs pacing")?;
    require(!kind.steers() || config.pacing, "congestion bbr needs pacing")?;
    require(!kind.steers() || config.uses_sack(), "congestion bbr needs variant sack")
}

fn check_udp(config: &UdpConfig) -> Result<(), String> {
    require(config.header_bytes <= MAX_IP_BYTES, "header_bytes must be at most 65535")?;
    check_span("tick_ns", config.tick_ns)?;
    let has_phase = config.phase_ns > 0;
    require(!has_phase || config.phase_ns < config.tick_ns, "phase_ns must be below tick_ns")?;
    match &config.arrivals {
        Arrivals::Schedule { times_ns, sizes } => {
            require(times_ns.len() == sizes.len(), "times_ns and sizes must be as many")?;
            require(times_ns.is_sorted(), "times_ns must not decrease")?;
            check_span("times_ns", times_ns.last().copied().unwrap_or(0))?;
            return sizes.iter().try_for_each(|bytes| check_bytes(*bytes));
        }
        Arrivals::Cbr { jitter } => {
            require((0.0..=1.0).contains(jitter), "jitter must be in 0..=1")?;
        }
        Arrivals::OnOff { mean_on_ns, mean_off_ns } => {
            require(*mean_on_ns > 0, "mean_on_ns must be above 0")?;
            check_span("mean_on_ns", *mean_on_ns)?;
            check_span("mean_off_ns", *mean_off_ns)?;
        }
        Arrivals::Poisson => {}
        Arrivals::Tfrc { max_bit_s } => {
            require(max_bit_s.is_none_or(|rate| rate > 0), "max_bit_s must be above 0")?;
            let fixed = matches!(config.size, Size::Fixed { .. });
            require(fixed, "tfrc sends datagrams of one size")?;
        }
        Arrivals::Media(media) => check_media(media, config)?,
        Arrivals::Gaps(gaps) => check_gaps(gaps)?,
    }
    require(config.rate_bit_s > 0, "rate_bit_s must be above 0")?;
    check_size(&config.size)
}

fn check_media(media: &MediaConfig, config: &UdpConfig) -> Result<(), String> {
    require(matches!(config.size, Size::Fixed { .. }), "media has one largest size of packets")?;
    require(media.min_bit_s > 0, "min_bit_s must be above 0")?;
    require(media.min_bit_s <= config.rate_bit_s, "min_bit_s must be at most rate_bit_s")?;
    require(media.priority > 0.0 && media.priority.is_finite(), "priority must be above 0")?;
    require(media.frame_ns > 0, "frame_ns must be above 0")?;
    let ladder = &media.ladder_bit_s;
    require(ladder.iter().all(|rate| *rate > 0), "ladder_bit_s must be above 0")?;
    require(ladder.is_sorted(), "ladder_bit_s must not decrease")?;
    check_span("frame_ns", media.frame_ns)?;
    let largest_rate = ladder.last().map_or(config.rate_bit_s, |rate| config.rate_bit_s.max(*rate));
    let frame_bytes = u128::from(largest_rate) * u128::from(media.frame_ns) / (8 * SECOND as u128);
    require(frame_bytes <= MAX_FRAME_BYTES, "a frame must be at most 2^30 B")?;
    check_span("playout_ns", media.playout_ns)
}

fn check_gaps(gaps: &Gaps) -> Result<(), String> {
    match gaps {
        Gaps::Fixed { gap_ns: gap } | Gaps::Exponential { mean_ns: gap } => {
            require(*gap > 0, "gaps must be above 0")?;
            check_span("gaps", *gap)
        }
        Gaps::Gumbel { location_ns, scale_ns } => {
            require(is_gumbel(*location_ns, *scale_ns), "scale_ns must be above 0")?;
            require(location_ns.max(*scale_ns) <= MAX_SPAN as f64, "gaps must be at most 100 years")
        }
    }
}

fn is_gumbel(location: f64, scale: f64) -> bool {
    location.is_finite() && scale.is_finite() && scale > 0.0
}

fn check_size(size: &Size) -> Result<(), String> {
    match size {
        Size::Fixed { bytes } => check_bytes(*bytes),
        Size::Exponential { mean_bytes } => {
            require(mean_bytes.is_finite() && *mean_bytes > 0.0, "mean_bytes must be above 0")
        }
        Size::Gumbel { location_bytes, scale_bytes, header_bytes } => {
            require(is_gumbel(*location_bytes, *scale_bytes), "scale_bytes must be above 0")?;
            require(*header_bytes <= MAX_IP_BYTES, "header_bytes must be at most 65535")
        }
        Size::Choice { bytes, weights } => {
            require(bytes.len() == weights.len(), "bytes and weights must be as many")?;
            let total: f64 = weights.iter().sum();
            let each = weights.iter().all(|weight| *weight >= 0.0);
            require(
                each && total.is_finite() && total > 0.0,
                "weights must be 0 or more, one above",
            )?;
            bytes.iter().try_for_each(|bytes| check_bytes(*bytes))
        }
    }
}

fn check_bytes(bytes: u32) -> Result<(), String> {
    require((1..=MAX_IP_BYTES).contains(&bytes), "bytes must be in 1..=65535")
}
