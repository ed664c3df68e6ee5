//! Delay bounds of packet-by-packet generalized processor sharing (WFQ).

use super::*;
use trunkline_engine::network::PortConfig;

const SIGMA_PACKETS: u64 = 10;
const BYTES: u32 = 500;
/// The constrained flow's token rate: a tenth of the line.
const RHO: u64 = RATE / 10;

/// A greedy flow under a token bucket: a burst of sigma at once, then packets at rho, for 5 s,
/// started anew every 5 s so that bursts meet every phase of the cross traffic.
fn constrained() -> trunkline_engine::network::Agent {
    let gap = u64::from(BYTES) * 8 * SECOND / RHO;
    let burst = |start: u64| {
        let first = (0..SIGMA_PACKETS).map(move |_| (start, BYTES));
        first.chain((1..1000).map(move |k| (start + k * gap, BYTES)))
    };
    schedule(&(0..5).flat_map(|k| burst(k * 5 * SECOND + k * 123_457)).collect::<Vec<_>>())
}

/// Hops in a row. The constrained flow crosses all; at each hop three others of 1500, 40 and
/// 1000 B, each able to fill the line, enter and leave.
fn crossed(hops: usize, port: impl Fn() -> PortConfig) -> Lab {
    let names: Vec<String> = (0..=hops).map(|node| format!("r{node}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut lab = Lab::chain(&names, RATE, MS);
    for hop in 0..hops {
        lab.feed(2 * hop as u32, port());
    }
    lab.flow("constrained", names[0], names[hops], constrained());
    for hop in 0..hops {
        for (cross, bytes) in [1500, 40, 1000].into_iter().enumerate() {
            let agent = cbr(RATE * 11 / 10, bytes);
            lab.flow(&format!("cross{hop}.{cross}"), names[hop], names[hop + 1], agent);
        }
    }
    // Flow 0 is class 0 everywhere; the k-th cross flow of its hop is class k.
    let rows = (0..4).map(|class| vec![[class, 0]; 72]).collect::<Vec<_>>();
    let row = |flow: usize| if flow == 0 { 0 } else { 1 + (flow as u16 - 1) % 3 };
    let flow_rows: Vec<u16> =
        (0..lab.network.flows.len()).flat_map(|flow| [row(flow), row(flow)]).collect();
    for port in &mut lab.network.ports[1..] {
        if port.classes.len() > 1 {
            port.classifier.rows.clone_from(&rows);
            port.classifier.flow_rows.clone_from(&flow_rows);
        }
    }
    lab.lasting(0, 27 * SECOND);
    lab
}

/// One hop: D <= sigma / g + Lmax / r, g = r * w / sum w = 1 Mbit/s. sigma = 10 * 500 B:
/// 40 ms + 1.2 ms. It is nearly reached: the last packet of a burst waits for the nine before it.
/// Source: Parekh & Gallager 1993, theorem 1 and eq. (26) (GPS delay <= sigma / g).
#[test]
fn parekh_gallager_1993_a_constrained_flow_waits_no_longer_than_sigma_over_g_and_a_packet() {
    let lab = crossed(1, || wfq(&[1, 3, 3, 3], &queue(200, false)));
    let run = lab.run(1);
    let bound = 40e6 + 1.2e6 + 1e6; // and 1 ms of propagation
    let worst = run.flow(0, "delay_max_ns");
    assert!(worst <= bound, "{worst}");
    assert!(worst >= 0.9 * bound, "the bound is nearly reached: {worst}");
    assert_eq!(run.flow(0, "packets_dropped"), 0.0);
    assert!(run.class(0, 1, "packets_dropped") > 1000.0, "the others overload the line");
}

/// K hops with the same guarantee: D <= (sigma + (K - 1) L) / g + sum Lmax / r: the burst is paid
/// for once. K = 4, L = 500 B: (5000 + 1500) * 8 / 1e6 + 4 * 1.2 ms = 56.8 ms.
/// Source: Parekh & Gallager, IEEE/ACM Trans. Networking 2(2), 1994, eq. (23) (RPPS networks).
#[test]
fn parekh_gallager_1994_over_several_hops_the_burst_is_paid_for_once() {
    let run = crossed(4, || wfq(&[1, 3, 3, 3], &queue(200, false))).run(1);
    let bound = 52e6 + 4.8e6 + 4e6; // and 4 ms of propagation
    let worst = run.flow(0, "delay_max_ns");
    assert!(worst <= bound && worst > 0.7 * bound, "{worst}");
    assert_eq!(run.flow(0, "packets_dropped"), 0.0);
}

/// The same traffic through a FIFO of 1000 packets breaks the bound and loses packets: the bound
/// is WFQ's doing.
#[test]
fn a_fifo_gives_no_such_bound() {
    let run = crossed(1, || fifo(queue(1000, false))).run(1);
    assert!(run.flow(0, "delay_max_ns") > 1.5 * 42.2e6);
    assert!(run.flow(0, "packets_dropped") > 0.0);
}

/// DRR serves a newly backlogged class within a round: all quanta but its own, each overrun by
/// less than a packet, and a packet under way. Quanta of 1500 B: at most 3 * (1500 + 1499) B before
/// the first of a lone 500 B packet: 7.2 ms. Source: Shreedhar & Varghese 1995, section 4.
#[test]
fn drr_serves_a_lone_packet_within_a_round() {
    let mut lab = Lab::server(RATE, drr(&[1500; 4], &queue(200, false)));
    lab.flow("sparse", "a", "b", cbr(RATE / 1000, 500));
    for (index, bytes) in [1500, 40, 1000].into_iter().enumerate() {
        lab.flow(&format!("cross{index}"), "a", "b", cbr(RATE, bytes));
    }
    lab.class_per_flow(0);
    lab.lasting(0, 100 * SECOND);
    let run = lab.run(1);
    let wait = run.class(0, 0, "wait_max_ns");
    assert!(wait <= (3.0 * 2999.0) * 800.0, "{wait}");
    assert!(wait > 1e6, "the packet did meet the others: {wait}");
}
