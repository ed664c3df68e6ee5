//! Several flows on one line.

use super::*;

/// Flows with one round trip over one drop-tail queue; bytes each delivered in `seconds`.
fn shares(variants: &[Variant], seconds: u64) -> Vec<f64> {
    let mut lab = Lab::chain(&["a", "b"], 20 * MBIT, 20 * MS);
    lab.feed(0, fifo(queue(100, false)));
    for (index, variant) in variants.iter().enumerate() {
        let config = TcpConfig { send_overhead_ns: MS, ..tcp(*variant) };
        let flow = lab.flow(&format!("tcp{index}"), "a", "b", Agent::Tcp(config));
        lab.network.flows[flow].start_jitter_ns = 2 * SECOND;
    }
    lab.lasting(20 * SECOND, (20 + seconds) * SECOND);
    let run = lab.run(1);
    let delivered: Vec<f64> =
        (0..variants.len()).map(|flow| run.flow(flow, "bytes_delivered")).collect();
    let used = delivered.iter().sum::<f64>() * 8.0 / seconds as f64 / 20e6;
    assert!(used > 0.97 && used <= 1.0005, "the line is full: {used}");
    delivered
}

/// Additive increase and multiplicative decrease lead equal flows to equal shares: Jain's index
/// of 8 flows over 120 s is above 0.98. Source: Chiu & Jain, Computer Networks 17, 1989.
#[test]
fn chiu_jain_1989_equal_flows_share_alike() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let index = jain(&shares(&[variant; 8], 120));
        println!("{variant:?}: {index}");
        assert!(index > 0.98, "{variant:?}: {index}");
    }
}

/// Two flows that meet the same random loss, 40 and 120 ms of round trip: shares of 3 to 1
/// (square-root law).
#[test]
fn mathis_1997_shares_are_inverse_to_round_trips_under_equal_loss() {
    let mut lab = Lab::new();
    let (line, _) = lab.duplex("left", "right", GBIT, 10 * MS);
    lab.network.links[line as usize].loss = 0.002;
    for (name, delay_ms) in [("near", 10), ("far", 50)] {
        lab.duplex(name, "left", GBIT, delay_ms * MS);
        lab.flow(name, name, "right", Agent::Tcp(tcp(Variant::Sack)));
    }
    lab.lasting(20 * SECOND, 1020 * SECOND);
    let [ratio] =
        replicate(&lab, 8, |run| [run.flow(0, "goodput_bytes") / run.flow(1, "goodput_bytes")]);
    assert!((ratio.mean / 3.0 - 1.0).abs() < 0.05 && ratio.half < 0.3, "{ratio:?}");
}
