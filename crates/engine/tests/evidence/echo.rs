//! Echo flows: round trips by hand, losses by direction, what a stream of probes samples.

use crate::support::*;
use std::sync::Arc;
use trunkline_agent::udp::{Arrivals, Gaps, Size, UdpConfig};
use trunkline_engine::network::{Agent, Echo, EchoProtocol, Measure, Scripted};

const BYTES: u32 = 100;

/// Requests of 100 B by these gaps.
fn requests(gaps: Gaps) -> Agent {
    Agent::Udp(UdpConfig {
        arrivals: Arrivals::Gaps(gaps),
        rate_bit_s: 1,
        size: Size::Fixed { bytes: BYTES },
        header_bytes: 28,
        tick_ns: 0,
        phase_ns: 0,
    })
}

/// An echo flow from the first node of a row of three to the last, a request every 100 ms for 1 s
/// of 2: links of 8 Mbit/s, where a byte takes 1 us, and 5 ms.
fn row(reply_bytes: u32, timeout_ns: u64) -> Lab {
    let mut lab = Lab::chain(&["a", "b", "c"], 8 * MBIT, 5 * MS);
    let flow = lab.flow("ping", "a", "c", requests(Gaps::Fixed { gap_ns: 100 * MS }));
    lab.network.flows[flow].stop_ns = Some(SECOND);
    let echo = Echo { over: EchoProtocol::Udp, reply_bytes, timeout_ns };
    lab.network.flows[flow].echo = Some(echo.into());
    lab.lasting(0, 2 * SECOND);
    lab
}

fn echoed(run: &Outcome, column: &str) -> i64 {
    run.table("echoes").int(column)[0]
}

/// Two links each way: 2 (0.1 + 5) ms there, 2 (0.05 + 5) ms back with replies of 50 B.
#[test]
fn rfc2681_the_round_trip_is_both_ways_and_no_more() {
    let run = row(50, SECOND).run(1);
    assert_eq!((echoed(&run, "replies_sent"), echoed(&run, "replies")), (10, 10));
    assert_eq!(run.flow(0, "packets_sent"), 10.0);
    for which in ["min", "max"] {
        assert_eq!(run.flow(0, &format!("delay_{which}_ns")), 10_200_000.0);
        assert_eq!(echoed(&run, &format!("back_{which}_ns")), 10_100_000);
        assert_eq!(echoed(&run, &format!("rtt_{which}_ns")), 20_300_000);
    }
    assert_eq!(echoed(&run, "rtt_p99_ns"), 20_300_000);
    assert_eq!((echoed(&run, "reordered"), echoed(&run, "reordered_back")), (0, 0));
}

/// RFC 6673 section 9: a reply counts if it comes within the waiting time, here 20.4 ms to the
/// nanosecond, and not if that is 1 ns less.
#[test]
fn rfc6673_a_reply_after_the_waiting_time_is_lost() {
    let run = row(BYTES, 20_400_000).run(1);
    assert_eq!((echoed(&run, "replies"), echoed(&run, "replies_late")), (10, 0));
    let run = row(BYTES, 20_399_999).run(1);
    assert_eq!((echoed(&run, "replies"), echoed(&run, "replies_late")), (0, 10));
    assert_eq!(echoed(&run, "rtt_min_ns"), -1, "nothing is measured of what is lost");
}

/// Requests 3 and 7 are lost on the way there; every reply on the way back, once replies are
/// larger than the link's MTU.
#[test]
fn rfc5357_losses_there_and_back_are_told_apart() {
    let mut lab = row(BYTES, SECOND);
    let lost = |seq| Scripted { flow: 0, seq, times: 1 };
    lab.network.links[2].scripted = vec![lost(3), lost(7)];
    let run = lab.run(1);
    assert_eq!((run.flow(0, "packets_dropped"), echoed(&run, "replies_dropped")), (2.0, 0));
    assert_eq!((echoed(&run, "replies_sent"), echoed(&run, "replies")), (8, 8));
    let mut lab = row(1500, SECOND);
    lab.network.links[1].mtu_bytes = 1000;
    let run = lab.run(1);
    assert_eq!((run.flow(0, "packets_dropped"), echoed(&run, "replies_dropped")), (0.0, 10));
    assert_eq!((echoed(&run, "replies_sent"), echoed(&run, "replies")), (10, 0));
}

/// RFC 2330 section 11.1.1: Poisson samples see time averages. M/D/1 at rho = 0.6 with 1000 B in
/// 1 ms: the mean wait is rho / (2 (1 - rho)) = 0.75 ms (Pollaczek-Khinchine), and so is what
/// requests of 1 B meet, besides their own 1 us and the reply's; they add one in 1000 to the load.
#[test]
fn rfc2330_poisson_probes_see_the_mean_wait_of_md1() {
    let mut lab = Lab::server(8 * MBIT, fifo(UNLIMITED));
    lab.flow("load", "a", "b", poisson(4_800_000, Size::Fixed { bytes: 1000 }));
    let flow = lab.flow("probe", "a", "b", requests(Gaps::Exponential { mean_ns: 10 * MS }));
    let agent = Arc::make_mut(&mut lab.network.flows[flow].agent);
    let Agent::Udp(config) = agent else { unreachable!() };
    config.size = Size::Fixed { bytes: 1 };
    let echo = Echo { over: EchoProtocol::Icmp, reply_bytes: 1, timeout_ns: SECOND };
    lab.network.flows[flow].echo = Some(echo.into());
    lab.lasting(SECOND, 100 * SECOND);
    let [mean] = replicate(&lab, 20, |run| [run.table("echoes").float("rtt_mean_ns")[0] / 1e6]);
    mean.assert_theory(0.751, 0.03);
}

/// 1040 B take 10.4 us of a link of 800 Mbit/s, 40 B 0.4 us, and 5 ms each way: the first R of RFC
/// 6298 is 10.0108 ms. The second segment waits for the first, 10.4 us: a smoothed value is none
/// of these.
#[test]
fn rfc6298_s2_the_probe_of_rtt_is_the_sample_itself() {
    let mut lab = Lab::chain(&["a", "b"], 800 * MBIT, 5 * MS);
    let config = tcp(trunkline_agent::tcp::Variant::NewReno);
    let flow = lab.flow("tcp", "a", "b", Agent::Tcp(config));
    let probe = lab.probe(Measure::Rtt, flow, 10_015_000);
    let smoothed = lab.probe(Measure::Srtt, flow, 10_030_000);
    let later = lab.probe(Measure::Rtt, flow, 10_030_000);
    lab.lasting(0, 20 * MS);
    let run = lab.run(1);
    assert_eq!(run.series(probe)[0].1, 0.010_010_8);
    assert_eq!(run.series(later)[0].1, 0.010_021_2);
    let between = run.series(smoothed)[0].1;
    assert!(between > 0.010_010_8 && between < 0.010_021_2, "{between}");
}
