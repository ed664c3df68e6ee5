//! Memory of connections, which no result shows.

#[allow(unused_imports)]
#[path = "../../tests/support/mod.rs"]
mod support;

use super::*;
use crate::network::{Opened, Transfers};
use crate::observer::NoObserver;
use crate::simulation::Simulation;
use support::*;
use trunkline_agent::tcp::{DelayedAck, TcpConfig, Variant};
use trunkline_agent::workload::{OpenConfig, TransferGaps, TransferSizes};

/// Some 250 transfers in 5 s over links that lose one packet in ten each way, and a queue of 8 packets. A minute
/// later each connection is freed, and those that were open at one time have shared few slots. The last packet
/// of a connection that is over may be lost: that one is freed when the next is opened.
#[test]
fn a_connection_is_freed_when_it_is_over_and_none_of_its_packets_is_left() {
    let mut lab = Lab::chain(&["a", "b", "c"], 10 * MBIT, 5 * MS);
    lab.feed(0, fifo(queue(8, false)));
    lab.network.links.iter_mut().for_each(|link| link.loss = 0.1);
    let delayed_ack = Some(DelayedAck { timeout_ns: 40 * MS, every: 2, quick: 0 });
    let config = TcpConfig { delayed_ack, ..tcp(Variant::Sack) };
    let flow = lab.flow("transfers", "a", "c", Agent::Tcp(config));
    let gaps = TransferGaps::Poisson { mean_ns: 20e6 };
    let sizes = TransferSizes::Exponential { mean_bytes: 15_000.0 };
    let opened = Opened::Arrivals(OpenConfig { gaps, sizes });
    let transfers = Transfers { opened, bins_bytes: vec![], record: false, kept: false };
    lab.network.flows[flow].transfers = Some(transfers.into());
    lab.network.flows[flow].stop_ns = Some(5 * SECOND);
    lab.lasting(0, 65 * SECOND);
    let mut simulation =
        Simulation::new(&lab.network, 1, NoObserver).expect("the network is right");
    simulation.run(&|_| false).expect("the run ends");
    let workloads = &simulation.hosts.workloads;
    let workload = &workloads.all[0];
    let (opened, slots) = (workload.slots.next_number(), workloads.connections.len());
    assert!(opened > 150 && slots < 100, "{slots} slots of {opened} connections");
    assert_eq!(workload.open, 0);
    for (slot, connection) in workloads.connections.iter().enumerate() {
        assert_eq!((connection.packets_inside, connection.is_sending), (0, false));
        assert_eq!(connection.open, workloads.vacated.contains(&slot), "{slot}");
    }
    let in_use = workloads.connections.len() - workloads.free.len();
    assert_eq!(workload.slots.all().count(), in_use);
}
