//! Work conservation and order.

use super::*;
use trunkline_engine::network::{PortConfig, Queue};

fn loaded(port: PortConfig) -> Lab {
    let mut lab = Lab::server(RATE, port);
    lab.flow("x", "a", "b", poisson(RATE / 3, FIXED));
    lab.flow("y", "a", "b", poisson(RATE / 3, sizes(&[100, 1500])));
    lab.flow("z", "a", "b", on_off(RATE, 600, 100 * MS, 200 * MS));
    // All that came has gone by the end.
    lab.network.flows.iter_mut().for_each(|flow| flow.stop_ns = Some(20 * SECOND));
    lab.lasting(0, 40 * SECOND);
    lab
}

/// A work-conserving line sends the same bytes by any instant whatever the order: the same
/// arrivals through FIFO, priority, DRR and WFQ end each busy period at the same time.
#[test]
fn every_scheduler_is_work_conserving() {
    let ends = |port: PortConfig| {
        let mut lab = loaded(port);
        if lab.network.ports[1].classes.len() > 1 {
            lab.class_per_flow(0);
        }
        let run = lab.trace(4);
        let mut came: Vec<(u64, u32)> = (0..3)
            .flat_map(|flow| run.arrived(flow, 0))
            .map(|(at, packet)| (at, packet.labelled_bytes()))
            .collect();
        came.sort_unstable();
        let mut busy_until = Vec::new();
        for pair in came.windows(2) {
            // The next packet's last bit comes later than its own time on the line: a pause.
            if pair[1].0 - pair[0].0 > u64::from(pair[1].1) * 1000 {
                busy_until.push(pair[0].0);
            }
        }
        busy_until
    };
    let fifo_ends = ends(fifo(UNLIMITED));
    assert!(fifo_ends.len() > 100, "{}", fifo_ends.len());
    for port in [
        priority(3, &UNLIMITED),
        drr(&[500, 1500, 700], &UNLIMITED),
        wfq(&[5, 1, 2], &UNLIMITED),
        wrr(&[5, 1, 2], &UNLIMITED),
    ] {
        let name = port.name.clone();
        assert!(ends(port) == fifo_ends, "{name}");
    }
}

/// One class of a classful port is a FIFO port, packet by packet: two implementations agree.
#[test]
fn one_class_of_any_scheduler_is_the_fifo_port() {
    // 900 B hold no datagram of 1000 B, and no waiting room holds none: one is sent if it need not
    // wait.
    let small = Queue { limit_bytes: Some(900), ..UNLIMITED };
    for limit in [queue(6, true), queue(6, false), queue(0, false), small, UNLIMITED] {
        // A FIFO hop takes one event, a classful one two: only their number may differ.
        let except = ["events"];
        let fifo_run = loaded(fifo(limit.clone())).run(9);
        for port in [priority(1, &limit), drr(&[300], &limit), wfq(&[1], &limit), wrr(&[1], &limit)]
        {
            let name = port.name.clone();
            let run = loaded(port).run(9);
            let (bits, fifo_bits) = (run.bits(&except), fifo_run.bits(&except));
            let differ = bits.iter().zip(&fifo_bits).filter(|(a, b)| a != b);
            let differ: Vec<_> = differ.map(|((table, column, _), _)| (table, column)).collect();
            assert!(differ.is_empty(), "{name}: {differ:?}");
        }
    }
}
