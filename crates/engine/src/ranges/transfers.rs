//! Ranges of the numbers of transfers.

use super::{check_span, require, MAX_SPAN};
use crate::network::{Agent, Flow, Opened, Transfers};
use trunkline_agent::workload::{
    chunk_bytes, PagesConfig, Times, TransferGaps, TransferSizes, VideoConfig, LARGEST_TRANSFER,
};

/// The first number of a flow's transfers that is out of range; `flows` are all of the network's.
pub(super) fn check(
    flow: &Flow,
    transfer_config: &Transfers,
    flows: &[Flow],
) -> Result<(), String> {
    require(matches!(*flow.agent, Agent::Tcp(_)), "transfers are of TCP flows")?;
    require(
        transfer_config.bins_bytes.windows(2).all(|pair| pair[0] < pair[1]),
        "bins_bytes must rise",
    )?;
    match &transfer_config.opened {
        Opened::Arrivals(open) => {
            check_sizes(&open.sizes)?;
            check_gaps(&open.gaps)
        }
        Opened::Pages { users, requests, request_bytes } => {
            check_requests(flow, *requests, *request_bytes, flows)?;
            check_users(users)
        }
        Opened::Video { players, requests, request_bytes } => {
            check_requests(flow, *requests, *request_bytes, flows)?;
            check_players(players)
        }
        Opened::Requests => Ok(()),
    }
}

fn check_requests(flow: &Flow, requests: u32, bytes: u64, flows: &[Flow]) -> Result<(), String> {
    require(bytes > 0, "request_bytes must be above 0")?;
    let carries = |other: &&Flow| {
        let opened = other.transfers.as_ref().map(|transfers| &transfers.opened);
        matches!(opened, Some(Opened::Requests)) && (other.src, other.dst) == (flow.dst, flow.src)
    };
    let request_flow = flows.get(requests as usize).filter(carries);
    require(request_flow.is_some(), "requests names a flow of requests the other way")
}

fn check_players(config: &VideoConfig) -> Result<(), String> {
    require(config.players > 0 && config.chunk_ns > 0, "players and chunk_ns must be above 0")?;
    for span in [config.chunk_ns, config.buffer_ns, config.start_ns, config.spread_ns] {
        check_span("times of players", span)?;
    }
    let ladder = &config.ladder_bit_s;
    let rises = ladder.windows(2).all(|pair| pair[0] < pair[1]);
    require(rises && ladder.first().is_some_and(|rate| *rate > 0), "ladder_bit_s must rise")?;
    let largest = ladder.last().map_or(0, |rate| chunk_bytes(*rate, config.chunk_ns));
    require(largest <= LARGEST_TRANSFER, "a chunk must be at most 2^50 B")?;
    require(config.buffer_ns >= 2 * config.chunk_ns, "buffer_ns is two chunks or more")?;
    require(config.start_ns <= config.buffer_ns, "start_ns must be at most buffer_ns")
}

fn check_users(users: &PagesConfig) -> Result<(), String> {
    require(users.users > 0 && users.parallel > 0, "users and parallel must be above 0")?;
    for time in [users.reading, users.parsing] {
        match time {
            Times::Fixed(span) => check_span("times of users", span)?,
            Times::Exponential(mean) => {
                require((0.0..=MAX_SPAN as f64).contains(&mean), "times of users up to 100 years")?;
            }
        }
    }
    [&users.main, &users.embedded, &users.objects].into_iter().try_for_each(check_sizes)
}

fn check_gaps(gaps: &TransferGaps) -> Result<(), String> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    match gaps {
        TransferGaps::Periodic { gap_ns } => require(positive(*gap_ns), "gap_ns must be above 0"),
        TransferGaps::Poisson { mean_ns } => require(positive(*mean_ns), "mean_ns must be above 0"),
        TransferGaps::OnOff { mean_ns, mean_on_ns, mean_off_ns } => {
            let off = *mean_off_ns == 0.0 || positive(*mean_off_ns);
            let on = positive(*mean_ns) && positive(*mean_on_ns);
            require(on && off, "mean_ns and mean_on_ns must be above 0, mean_off_ns 0 or more")
        }
        TransferGaps::Schedule { times_ns, sizes_bytes } => {
            require(times_ns.len() == sizes_bytes.len(), "times_ns and sizes_bytes are as many")?;
            require(times_ns.is_sorted(), "times_ns must not decrease")?;
            require(sizes_bytes.iter().all(|bytes| *bytes > 0), "sizes_bytes must be above 0")?;
            check_span("times_ns", times_ns.last().copied().unwrap_or(0))
        }
    }
}

fn check_sizes(sizes: &TransferSizes) -> Result<(), String> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    match sizes {
        TransferSizes::Fixed { .. } => Ok(()),
        TransferSizes::Exponential { mean_bytes } => {
            require(positive(*mean_bytes), "mean_bytes must be above 0")
        }
        TransferSizes::Pareto { shape, least_bytes, most_bytes, less, .. } => {
            let bounds = positive(*least_bytes) && least_bytes <= most_bytes && less.is_finite();
            require(positive(*shape) && bounds, "shape and least_bytes must be above 0")
        }
        TransferSizes::Lognormal { mu, sigma, least_bytes, most_bytes } => {
            let law = mu.is_finite() && sigma.is_finite() && *sigma >= 0.0;
            require(law && least_bytes <= most_bytes, "sigma must be 0 or more, bounds in order")
        }
        TransferSizes::Weibull { shape, scale_bytes } => {
            require(positive(*shape) && positive(*scale_bytes), "shape and scale must be above 0")
        }
        TransferSizes::Table { bytes, shares } => {
            let ends = shares.last() == Some(&1.0) && bytes.len() == shares.len();
            let rise = bytes.is_sorted() && shares.is_sorted();
            let ranges = bytes.iter().chain(shares).all(|value| (0.0..=1e18).contains(value));
            require(ends && rise && ranges, "bytes and shares must rise, the last share is 1")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of sizes: as many shares, both rising, the last share 1, no number above 10^18.
    #[test]
    fn the_sizes_and_shares_of_a_table_rise_to_one_and_have_bounds() {
        let accepts = |bytes: &[f64], shares: &[f64]| {
            let (bytes, shares) = (bytes.to_vec(), shares.to_vec());
            check_sizes(&TransferSizes::Table { bytes, shares }).is_ok()
        };
        assert!(accepts(&[0.0, 1e18], &[0.5, 1.0]));
        assert!(accepts(&[10.0, 10.0], &[0.5, 1.0]));
        assert!(!accepts(&[0.0, 1.000_000_1e18], &[0.5, 1.0]));
        assert!(!accepts(&[-1.0, 10.0], &[0.5, 1.0]));
        assert!(!accepts(&[10.0, 9.0], &[0.5, 1.0]));
        assert!(!accepts(&[9.0, 10.0], &[0.6, 0.5]));
        assert!(!accepts(&[9.0, 10.0], &[0.5, 0.9]));
        assert!(!accepts(&[9.0], &[0.5, 1.0]));
    }
}
