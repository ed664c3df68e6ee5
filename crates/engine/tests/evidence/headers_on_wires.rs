//! IP headers on the wires of a network that outgrows the caches: a run gives what one gives whose routers read
//! each packet, as they do where each event of a packet is recorded.

use crate::random::any_lab;
use crate::support::*;
use proptest::prelude::*;
use trunkline_engine::network::Flow;

/// From so many flows on a network outgrows the caches.
const IDLE_FLOWS: usize = 2_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any networks, with plain queues at half of the links or more: queues that overflow, packets too big for a
    /// link, TTLs that run out on the way, links that fail with packets on the wire.
    #[test]
    fn routers_that_read_headers_on_the_wire_send_packets_on_like_those_that_read_packets(
        mut lab in any_lab(),
        limits in proptest::collection::vec(proptest::option::of(1..30u32), 1..7),
        fails: bool,
    ) {
        let end_ns = lab.network.run.duration_ns;
        for (index, limit) in (0..lab.network.links.len()).zip(limits.iter().cycle()) {
            if let Some(packets) = *limit {
                lab.feed(index as u32, fifo(queue(packets, false)));
            }
        }
        if fails {
            lab.fail("cut", vec![0], &[(end_ns / 2, end_ns / 4 * 3)]);
        }
        let idle = Flow { start_ns: 2 * end_ns, ..lab.network.flows[0].clone() };
        lab.network.flows.extend((0..IDLE_FLOWS).map(|n| Flow { name: format!("idle{n}"), ..idle.clone() }));
        // Ports that sort by flow have a row for each direction of each.
        for port in lab.network.ports.iter_mut().filter(|port| !port.classifier.rows.is_empty()) {
            port.classifier.flow_rows.resize(2 * lab.network.flows.len(), 0);
        }
        let traced = Outcome { lines: vec![], ..lab.trace(3) };
        prop_assert!(lab.run(3).bits(&[]) == traced.bits(&[]));
    }
}
