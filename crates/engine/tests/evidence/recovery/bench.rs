//! The network of these tests: a working path S-A-B-T and a backup S-C-D-E-T, all links alike.

use crate::support::{cbr, Lab, Outcome, Removal, Tunnel, MBIT, MS, SECOND};
use trunkline_engine::network::recovery::{Detection, Protection, ProtectionKind, Switch};
use trunkline_engine::network::Ttl;

/// 1000 B at 8 Mbit/s: 1 ms a packet; 5 ms a link.
pub const RATE: u64 = 8 * MBIT;
pub const BYTES: u32 = 1000;
pub const DELAY: u64 = 5 * MS;

pub struct Bench {
    pub lab: Lab,
    pub flow: usize,
    /// Path and head entry of the working path and of the backup.
    pub working: (u32, u32),
    pub backup: (u32, u32),
}

fn tunnel<'a>(route: &'a [&'a str], first_label: u32) -> Tunnel<'a> {
    Tunnel { route, first_label, removal: Removal::Ultimate, ttl: Ttl::Uniform }
}

impl Bench {
    /// A CBR flow of one 1000 B packet (labels apart) every 2 ms on the working path.
    pub fn new() -> Self {
        let mut lab = Lab::chain(&["S", "A", "B", "T"], RATE, DELAY);
        for pair in [["S", "C"], ["C", "D"], ["D", "E"], ["E", "T"]] {
            lab.duplex(pair[0], pair[1], RATE, DELAY);
        }
        let flow = lab.flow("cbr", "S", "T", cbr(RATE / 2, BYTES));
        let working = lab.tunnel(&tunnel(&["S", "A", "B", "T"], 100));
        let backup = lab.tunnel(&tunnel(&["S", "C", "D", "E", "T"], 200));
        lab.network.flows[flow].fec = 1;
        lab.bind("S", 1, working.1);
        lab.lasting(0, 10 * SECOND);
        Self { lab, flow, working, backup }
    }

    /// Links between two nodes, both directions.
    pub fn both(&mut self, a: &str, b: &str) -> Vec<u32> {
        vec![self.lab.between(a, b), self.lab.between(b, a)]
    }

    /// 1:1 by the backup, repaired by the head; all times zero.
    pub fn protect(&mut self, detection: Detection) -> &mut Protection {
        let watches = self.lab.network.paths[self.working.0 as usize].links.clone();
        let switch = Switch { entry: self.working.1, alternative: self.backup.1 };
        let node = self.lab.node("S");
        let protections = &mut self.lab.network.recovery.protections;
        protections.push(Protection {
            name: "p".into(),
            path: self.working.0,
            kind: ProtectionKind::Backup,
            node,
            watches,
            switches: vec![switch],
            bridge: None,
            detection,
            processing_ns: 0,
            hold_off_ns: 0,
            compute_ns: 0,
            switch_ns: 0,
            revertive: true,
            wait_to_restore_ns: 0,
            make_before_break: true,
        });
        protections.last_mut().expect("just pushed")
    }
}

/// Times of one kind of event for the protections, in order.
pub fn times(outcome: &Outcome, event: &str) -> Vec<u64> {
    let table = outcome.table("timeline");
    let number = trunkline_engine::TIMELINE_EVENT_NAMES.iter().position(|name| *name == event);
    let number = number.expect("an event of the timeline") as i64;
    let rows = table.int("event").iter().zip(table.int("protection")).zip(table.int("time_ns"));
    rows.filter(|((&row, &protection), _)| row == number && protection >= 0)
        .map(|(_, &time)| time as u64)
        .collect()
}
