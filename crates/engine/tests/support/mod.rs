//! A small laboratory for the engine's tests: networks by name, results by column, intervals.
//!
//! Every test binary uses a part of it only.
#![allow(dead_code)]

mod ports;
mod runs;
mod stats;
mod traffic;
mod tunnel;

pub use ports::{by_flow, cake, drr, fifo, hfsc, priority, queue, tbf, wfq, wrr, UNLIMITED};
pub use runs::{replicate, Outcome};
pub use stats::{binomial_interval, jain, Interval};
pub use traffic::{cbr, media, on_off, poisson, schedule, sizes, tcp, udp};
pub use tunnel::{Removal, Tunnel};

use trunkline_engine::network::recovery::{Failure, Outage, Outages};
use trunkline_engine::network::{
    Agent, Flow, Link, Measure, Network, Node, PortConfig, Probe, Run,
};

/// Cases of a property test whose cases are whole runs: a quarter of `all`, which `./dev test --slow` tries.
pub fn count_cases(all: u32) -> u32 {
    if std::env::var_os("TRUNKLINE_ALL_CASES").is_some() {
        all
    } else {
        all / 4
    }
}

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
pub const MBIT: u64 = 1_000_000;
pub const GBIT: u64 = 1_000_000_000;

/// A network under construction. Everything has a default; tests set what they are about.
pub struct Lab {
    pub network: Network,
}

impl Lab {
    /// Nothing yet; runs last 10 s without a warm-up.
    pub fn new() -> Self {
        let run = Run {
            duration_ns: 10 * SECOND,
            warmup_ns: 0,
            seed: 1,
            trace: false,
            waits: false,
            delivered_marks: false,
            events_per_instant: 100_000,
        };
        let everything_fits = ports::fifo(UNLIMITED);
        Self {
            network: Network {
                format: trunkline_engine::network::FORMAT,
                name: "test".into(),
                nodes: vec![],
                links: vec![],
                ports: vec![everything_fits],
                conditioners: vec![],
                flows: vec![],
                paths: vec![],
                ftn: vec![],
                ilm: vec![],
                nhlfe: vec![],
                diffserv: vec![],
                ecn_in_mpls: vec![],
                probes: vec![],
                recovery: Default::default(),
                signalling: None,
                routing: Default::default(),
                run,
            },
        }
    }

    /// Two nodes `a`, `b` and a link each way: `a->b` (index 0) at `rate` through `port`, and a
    /// way back that never delays. The queueing theorist's single server.
    pub fn server(rate_bit_s: u64, port: PortConfig) -> Self {
        let mut lab = Self::new();
        let forward = lab.link("a", "b", rate_bit_s, 0);
        lab.feed(forward, port);
        lab.link("b", "a", 10 * GBIT, 0);
        lab
    }

    /// Nodes in a row, each joined to the next both ways: link `2 i` leads from node `i` to
    /// `i + 1`, link `2 i + 1` back.
    pub fn chain(nodes: &[&str], rate_bit_s: u64, delay_ns: u64) -> Self {
        let mut lab = Self::new();
        for pair in nodes.windows(2) {
            lab.duplex(pair[0], pair[1], rate_bit_s, delay_ns);
        }
        lab
    }

    /// Index of a node, which is made when first named.
    pub fn node(&mut self, name: &str) -> u32 {
        let nodes = &mut self.network.nodes;
        let found = nodes.iter().position(|node| node.name == name);
        found.unwrap_or_else(|| {
            nodes.push(Node { name: name.into(), processing: None });
            nodes.len() - 1
        }) as u32
    }

    /// A one-way link without link-layer bytes, behind an unlimited FIFO.
    pub fn link(&mut self, from: &str, to: &str, rate_bit_s: u64, delay_ns: u64) -> u32 {
        let link = Link {
            name: format!("{from}->{to}"),
            from: self.node(from),
            to: self.node(to),
            rate_bit_s,
            delay_ns,
            header_bytes: 0,
            mtu_bytes: 65_535,
            metric: 1,
            loss: 0.0,
            reorder: None,
            scripted: vec![],
            port: 0,
            conditioner: None,
            ingress: None,
            account: false,
        };
        self.network.links.push(link);
        self.network.links.len() as u32 - 1
    }

    /// A link each way; returns both indices.
    pub fn duplex(&mut self, a: &str, b: &str, rate_bit_s: u64, delay_ns: u64) -> (u32, u32) {
        (self.link(a, b, rate_bit_s, delay_ns), self.link(b, a, rate_bit_s, delay_ns))
    }

    /// Puts a port before a link.
    pub fn feed(&mut self, link: u32, port: PortConfig) {
        self.network.ports.push(port);
        self.network.links[link as usize].port = self.network.ports.len() as u32 - 1;
    }

    /// The link from one named node to another.
    pub fn between(&mut self, from: &str, to: &str) -> u32 {
        let (from, to) = (self.node(from), self.node(to));
        let links = &self.network.links;
        let found = links.iter().position(|link| link.from == from && link.to == to);
        found.expect("the test laid this link") as u32
    }

    /// A flow from the start of the run to its end; its index.
    pub fn flow(&mut self, name: &str, src: &str, dst: &str, agent: Agent) -> usize {
        let flow = Flow {
            name: name.into(),
            src: self.node(src),
            dst: self.node(dst),
            start_ns: 0,
            stop_ns: None,
            start_jitter_ns: 0,
            dscp: 0,
            ttl: 64,
            fec: 0,
            fec_reverse: 0,
            agent: agent.into(),
            transfers: None,
            call: None,
            echo: None,
        };
        self.network.flows.push(flow);
        self.network.flows.len() - 1
    }

    /// Records a measure of a flow or link; its index.
    pub fn probe(&mut self, measure: Measure, target: usize, step_ns: u64) -> usize {
        let probe =
            Probe { measure, target: target as u32, class: None, precedence: None, step_ns };
        self.network.probes.push(probe);
        self.network.probes.len() - 1
    }

    /// Takes links down together, each time from the first instant until the second, or for good where that is 0.
    pub fn fail(&mut self, name: &str, links: Vec<u32>, outages: &[(u64, u64)]) -> &mut Failure {
        let at = outages
            .iter()
            .map(|&(failed_ns, repaired_ns)| Outage {
                failed_ns,
                repaired_ns: (repaired_ns > 0).then_some(repaired_ns),
            })
            .collect();
        let outages = Outages::Fixed { at };
        let failures = &mut self.network.recovery.failures;
        failures.push(Failure { name: name.into(), links, node: false, outages, drain: None });
        failures.last_mut().expect("just pushed")
    }

    /// Sets length and warm-up.
    pub fn lasting(&mut self, warmup_ns: u64, duration_ns: u64) {
        self.network.run.warmup_ns = warmup_ns;
        self.network.run.duration_ns = duration_ns;
    }

    /// Classes of the port of every link named by flow: flow `i` joins class `i`, both ways.
    pub fn class_per_flow(&mut self, link: u32) {
        let flows = self.network.flows.len();
        let port = self.network.links[link as usize].port as usize;
        self.network.ports[port].classifier = by_flow(flows);
    }
}
