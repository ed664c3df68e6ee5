//! Label switching, by the RFCs and packet by packet.

mod bytes;
mod congestion;
mod delays;
mod diffserv;
mod faults;
mod forwarding;
mod ttl;

use crate::support::*;
use trunkline_engine::network::Ttl;

/// IP bytes of every datagram here.
const BYTES: u32 = 500;
const ROUTE: [&str; 5] = ["a", "b", "c", "d", "e"];

/// 100 datagrams from `a` to `e` over four links, unlabelled as yet.
fn row() -> Lab {
    let mut lab = Lab::chain(&ROUTE, 10 * MBIT, MS);
    lab.flow("flow", "a", "e", cbr(MBIT, BYTES));
    lab.network.flows[0].stop_ns = Some(400 * MS);
    lab.lasting(0, SECOND);
    lab
}

fn tunnel<'a>(route: &'a [&'a str], removal: Removal, ttl: Ttl) -> Tunnel<'a> {
    Tunnel { route, first_label: 100, removal, ttl }
}

/// Labels of the packet as it came off each forward link, top first.
fn labels_by_link(run: &Outcome, links: u32) -> Vec<Vec<u32>> {
    let first = |link: u32| run.arrived(0, 2 * link)[0].1;
    (0..links).map(|link| first(link).labels.iter().map(|entry| entry.label()).collect()).collect()
}

/// TTLs of the packet as it came off each forward link: labels top first, then IP.
fn ttls_by_link(run: &Outcome, links: u32) -> Vec<Vec<u8>> {
    let first = |link: u32| run.arrived(0, 2 * link)[0].1;
    let ttls = |link| {
        let packet = first(link);
        packet.labels.iter().map(|entry| entry.ttl()).chain([packet.ttl]).collect()
    };
    (0..links).map(ttls).collect()
}
