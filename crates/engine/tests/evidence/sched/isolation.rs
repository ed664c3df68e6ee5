//! A queue of one's own against a flood.

use super::*;
use trunkline_agent::tcp::Variant;
use trunkline_engine::network::{Agent, PortConfig, Queue};

fn flooded(port: PortConfig, per_flow: bool) -> Outcome {
    let mut lab = Lab::server(RATE, port);
    lab.flow("victim", "a", "b", cbr(RATE / 5, 200));
    lab.flow("flood", "a", "b", cbr(RATE * 2, 1500));
    if per_flow {
        lab.class_per_flow(0);
    }
    lab.lasting(SECOND, 11 * SECOND);
    lab.run(1)
}

/// A flow within its share loses nothing with a flood of twice the line when each has its queue;
/// in a common queue it loses.
#[test]
fn queues_per_flow_isolate_a_conforming_flow_from_a_flood() {
    let limit: Queue = queue(50, false);
    for port in [wfq(&[1, 1], &limit), drr(&[1500, 1500], &limit), priority(2, &limit)] {
        let name = port.name.clone();
        let run = flooded(port, true);
        assert_eq!(run.flow(0, "packets_dropped"), 0.0, "{name}");
        // Two packets of 1500 B ahead at most: 2.4 ms, and its own 0.16 ms.
        assert!(run.flow(0, "delay_max_ns") <= 2.56e6, "{name}");
        // The flood gets all the rest, 8 Mbit/s for 10 s.
        assert!((run.class(0, 1, "bytes_sent") - 10e6).abs() <= 3000.0, "{name}");
    }
    let shared = flooded(fifo(limit), false);
    let loss = shared.flow(0, "packets_dropped") / shared.flow(0, "packets_sent");
    assert!(loss > 0.3, "{loss}");
}

/// TCP with UDP of 95 % of the line: a common queue leaves it a trickle, its own queue half.
#[test]
fn a_queue_of_its_own_gives_tcp_its_half_beside_udp() {
    let share = |port: PortConfig, per_flow: bool| {
        let mut lab = Lab::server(RATE, port);
        lab.network.links[0].delay_ns = 10 * MS;
        lab.flow("tcp", "a", "b", Agent::Tcp(tcp(Variant::NewReno)));
        lab.flow("udp", "a", "b", cbr(RATE * 19 / 20, 1000));
        if per_flow {
            lab.class_per_flow(0);
        }
        lab.lasting(5 * SECOND, 35 * SECOND);
        lab.run(1).flow(0, "bytes_delivered") * 8.0 / 30.0 / RATE as f64
    };
    let shared = share(fifo(queue(40, false)), false);
    assert!(shared < 0.06, "{shared}");
    for port in [wfq(&[1, 1], &queue(40, false)), drr(&[1500, 1500], &queue(40, false))] {
        let own = share(port, true);
        assert!((0.49..=0.5001).contains(&own), "{own}");
    }
}
