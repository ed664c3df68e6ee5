//! OSPF: the reaction of routers to a change, message by message.
//!
//! Source: RFC 2328 sections 9.5 (hello), 12.4 (origination of LSAs); RFC 8405.
//! Synchronisation with LDP: RFC 5443 section 2.
//! `lsa.rs` has the contents of LSAs, `te_lsa.rs` those of traffic engineering, `flooding.rs` their
//! distribution, `packet.rs` the octets, `throttle.rs` the delay of the computation, `spf.rs` the
//! routes, `local_delay.rs` the delay of routes at a router next to a failure.
//! Differs: the run begins with equal databases; neighbours that find each other again send their LSAs
//! at once, without describing their databases before; a link whose LDP session has not
//! been up yet in the run counts as synchronised.
//! Absent: areas, broadcast networks, ageing and refresh of LSAs (30 min).

pub mod config;
mod flooding;
mod local_delay;
mod lsa;
mod packet;
mod spf;
mod te_lsa;
mod throttle;

pub use config::{LinkTe, OspfConfig, SpfDelay};
pub use lsa::Lsa;
pub use packet::KINDS;

use crate::timers::Timers;
use crate::{NetworkPlane, RoutingEvent, SignalledLink};
use lsa::{LsaContent, RouterLink};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use throttle::SpfThrottle;
use trunkline_units::{RandomStream, Span, Time};

/// The largest metric (`LSInfinity` of a link, 16 bits; RFC 5443 section 2).
const LARGEST_METRIC: u64 = 65_535;

/// A message.
#[derive(Clone, Debug)]
pub enum OspfMessage {
    /// The neighbour is up.
    Hello,
    /// LSAs.
    Update(Vec<Lsa>),
    /// Place and instance of LSAs.
    Acknowledgment(Vec<(u32, u32)>),
}

#[derive(Clone, Debug)]
enum OspfTimer {
    /// A node has handled LSAs that arrived over a line.
    Handle(u32, Vec<Lsa>),
    /// Updates sent on a line may still be unacknowledged.
    Resend(u32),
    /// The LSA of a place may be originated again.
    Originate(u32),
    /// Routes of a node are computed.
    Compute(u32),
    /// The computed routes are used.
    Install(u32, spf::Routes),
    /// A delay of routes after the loss of a link may be over.
    Release(u32),
    Hello(u32),
    /// A neighbour may have been silent for too long.
    Dead(u32),
}

/// State of a node.
#[derive(Clone, Debug)]
struct Router {
    /// Its LSAs by their place.
    database: Vec<Lsa>,
    /// When each arrived by flooding.
    arrived: Vec<Option<Time>>,
    throttle: SpfThrottle,
    /// Routes in use; computed at the start.
    routes: spf::Routes,
    /// They stay because a link of the router is lost.
    delay: Option<local_delay::RouteDelay>,
}

/// When the LSA of a place was originated last, and whether it will be again at its time.
#[derive(Clone, Copy, Debug, Default)]
struct Origination {
    at: Option<Time>,
    is_due: bool,
}

/// A neighbour, by the line towards it.
#[derive(Clone, Debug, Default)]
struct Adjacency {
    up: bool,
    /// Detection reports that the line from it is down.
    cut: bool,
    /// When the last hello arrived.
    heard: Time,
    /// Instances sent and not acknowledged, by place.
    unacknowledged: BTreeMap<u32, u32>,
    resending: bool,
}

/// OSPF of the network.
#[derive(Debug)]
pub struct Ospf {
    /// As compiled.
    pub config: OspfConfig,
    lines: Vec<SignalledLink>,
    routers: Vec<Router>,
    adjacencies: Vec<Adjacency>,
    /// Of each place.
    originations: Vec<Origination>,
    /// Unreserved bandwidth of links that has changed, by place.
    unreserved: BTreeMap<u32, Arc<[u64; 8]>>,
    /// Whether the LDP session of a node with a neighbour is up, once it was.
    sessions: BTreeMap<(u32, u32), bool>,
    /// Lines that are advertised with the largest metric before a planned outage.
    drained: BTreeSet<u32>,
    timers: Timers<OspfTimer>,
    seed: u64,
}

impl Ospf {
    /// All neighbours are adjacent and know the same.
    #[must_use]
    pub fn new(config: OspfConfig, nodes: u32, lines: Vec<SignalledLink>, seed: u64) -> Self {
        let up =
            |line: &SignalledLink| Adjacency { up: line.reverse.is_some(), ..Adjacency::default() };
        let adjacencies: Vec<Adjacency> = lines.iter().map(up).collect();
        let mut ospf = Self {
            config,
            lines,
            routers: Vec::new(),
            adjacencies,
            originations: Vec::new(),
            unreserved: BTreeMap::new(),
            sessions: BTreeMap::new(),
            drained: BTreeSet::new(),
            timers: Timers::default(),
            seed,
        };
        let router = |node| {
            let content = LsaContent::Router(ospf.neighbours(node));
            Lsa { place: node, origin: node, sequence: 0, content }
        };
        let mut database: Vec<Lsa> = (0..nodes).map(router).collect();
        database.extend(ospf.initial_te_lsas(nodes));
        ospf.originations = vec![Origination::default(); database.len()];
        for node in 0..nodes {
            ospf.routers.push(Router {
                routes: spf::routes(&database[..nodes as usize], node, ospf.config.multipath),
                database: database.clone(),
                arrived: vec![None; database.len()],
                throttle: SpfThrottle::default(),
                delay: None,
            });
        }
        ospf
    }

    /// Begins at time 0: hellos at times of their own.
    pub fn start(&mut self, _: &mut dyn NetworkPlane) {
        let Some(interval) = self.config.hello_ns else { return };
        for line in 0..self.lines.len() as u32 {
            if self.lines[line as usize].reverse.is_some() {
                let mut random = RandomStream::new(self.seed, &format!("ospf[{line}]"), "hello");
                self.timers.set(random.below(interval), OspfTimer::Hello(line));
                self.timers.set(self.config.dead_ns, OspfTimer::Dead(line));
            }
        }
    }

    /// When it wants to be woken next.
    #[must_use]
    pub fn due(&self) -> Time {
        self.timers.due()
    }

    /// Serves the timers that are due.
    pub fn wake(&mut self, plane: &mut dyn NetworkPlane) {
        while let Some(timer) = self.timers.pop(plane.now()) {
            match timer {
                OspfTimer::Handle(line, lsas) => self.process_lsas(line, lsas, plane),
                OspfTimer::Resend(line) => self.resend(line, plane),
                OspfTimer::Originate(place) => self.originate(place, plane),
                OspfTimer::Compute(node) => self.compute(node, plane),
                OspfTimer::Install(node, routes) => self.use_routes(node, routes, plane),
                OspfTimer::Release(node) => self.release(node, plane),
                OspfTimer::Hello(line) => self.hello(line, plane),
                OspfTimer::Dead(line) => self.look_for_silence(line, plane),
            }
        }
    }

    /// A message has arrived over `line`.
    pub fn receive(&mut self, line: u32, message: OspfMessage, plane: &mut dyn NetworkPlane) {
        let Some(back) = self.lines[line as usize].reverse else { return };
        match message {
            OspfMessage::Hello => {
                let adjacency = &mut self.adjacencies[back as usize];
                adjacency.heard = plane.now();
                if !adjacency.up && !adjacency.cut {
                    self.change(back, true, plane);
                }
            }
            OspfMessage::Update(lsas) => {
                let at = plane.now() + self.config.processing_ns;
                self.timers.set(at, OspfTimer::Handle(line, lsas));
            }
            OspfMessage::Acknowledgment(instances) => {
                let waiting = &mut self.adjacencies[back as usize].unacknowledged;
                for (place, sequence) in instances {
                    if waiting.get(&place) == Some(&sequence) {
                        waiting.remove(&place);
                    }
                }
            }
        }
    }

    /// `node` notices that `line`, which leads to it, has gone down or come up.
    pub fn link_changed(&mut self, _: u32, line: u32, down: bool, plane: &mut dyn NetworkPlane) {
        let Some(back) = self.lines[line as usize].reverse else { return };
        self.adjacencies[back as usize].cut = down;
        self.adjacencies[back as usize].heard = plane.now();
        self.change(back, !down, plane);
    }

    /// A node drains a line of its own, or uses it again (RFC 6987 section 2, for one link).
    pub fn drain_link(&mut self, line: u32, is_drained: bool, plane: &mut dyn NetworkPlane) {
        let changed = match is_drained {
            true => self.drained.insert(line),
            false => self.drained.remove(&line),
        };
        if changed && self.adjacencies[line as usize].up {
            self.schedule_origination(self.lines[line as usize].from, plane);
        }
    }

    /// The LDP session of a node with a neighbour has come up or ended.
    pub fn session_changed(
        &mut self,
        node: u32,
        peer: u32,
        up: bool,
        plane: &mut dyn NetworkPlane,
    ) {
        if !self.config.ldp_sync {
            return;
        }
        let before = self.sessions.insert((node, peer), up);
        let adjacent = |(line, adjacency): (&SignalledLink, &Adjacency)| {
            adjacency.up && (line.from, line.to) == (node, peer)
        };
        let listed = self.lines.iter().zip(&self.adjacencies).any(adjacent);
        if listed && before.unwrap_or(true) != up {
            self.schedule_origination(node, plane);
        }
    }

    /// Metric of a link as its node advertises it.
    fn metric(&self, line: u32) -> u64 {
        let link = &self.lines[line as usize];
        let has_session = self.sessions.get(&(link.from, link.to)) != Some(&false);
        match has_session && !self.drained.contains(&line) {
            true => link.metric,
            false => LARGEST_METRIC,
        }
    }

    /// Links of a node to its neighbours at present.
    fn neighbours(&self, origin: u32) -> Arc<Vec<RouterLink>> {
        let own = (0..)
            .zip(&self.lines)
            .filter(|(line, link)| link.from == origin && self.adjacencies[*line as usize].up);
        let adjacent = |(line, link): (u32, &SignalledLink)| {
            let metric = self.metric(line);
            RouterLink { line, to: link.to, metric }
        };
        Arc::new(own.map(adjacent).collect())
    }

    /// A neighbour is found or lost.
    fn change(&mut self, line: u32, up: bool, plane: &mut dyn NetworkPlane) {
        let adjacency = &mut self.adjacencies[line as usize];
        if adjacency.up == up {
            return;
        }
        adjacency.up = up;
        adjacency.unacknowledged.clear();
        let node = self.lines[line as usize].from;
        self.delay_routes(line, up, plane);
        self.schedule_origination(node, plane);
        if up {
            let all = self.routers[node as usize].database.clone();
            self.send(line, &all, plane);
        }
    }

    /// Originates the LSA of a place, now or when it may be again.
    fn schedule_origination(&mut self, place: u32, plane: &mut dyn NetworkPlane) {
        let origination = &mut self.originations[place as usize];
        let free = origination.at.map_or(0, |at| at + self.config.lsa_interval_ns);
        if free <= plane.now() {
            self.originate(place, plane);
        } else if !origination.is_due {
            origination.is_due = true;
            self.timers.set(free, OspfTimer::Originate(place));
        }
    }

    fn originate(&mut self, place: u32, plane: &mut dyn NetworkPlane) {
        let nodes = self.routers.len() as u32;
        let origin = self.routers[0].database[place as usize].origin;
        let before = &self.routers[origin as usize].database[place as usize];
        let content = match place < nodes {
            true => LsaContent::Router(self.neighbours(origin)),
            false => self.current_te_lsa(place, &before.content),
        };
        let origination = &mut self.originations[place as usize];
        origination.is_due = false;
        if content.has_same_offer(&before.content) {
            // The bandwidth reserved meanwhile has been released.
            return;
        }
        origination.at = Some(plane.now());
        let lsa = Lsa { place, origin, sequence: before.sequence + 1, content };
        self.mark_origination(&lsa, plane);
        self.store_lsa(origin, lsa.clone(), plane);
        self.flood(origin, None, &[lsa], plane);
    }

    /// Puts a newer LSA into a node's database.
    fn store_lsa(&mut self, node: u32, lsa: Lsa, plane: &mut dyn NetworkPlane) {
        self.end_delay_on_other_change(node, &lsa, plane);
        let own_copy = &mut self.routers[node as usize].database[lsa.place as usize];
        let before = std::mem::replace(own_copy, lsa.clone());
        match (&before.content, &lsa.content) {
            (LsaContent::Router(old), LsaContent::Router(new)) if old != new => {
                self.learn_links(node, old, new, plane);
                let throttle = &mut self.routers[node as usize].throttle;
                if let Some(at) = throttle.change(plane.now(), self.config.spf) {
                    self.timers.set(at, OspfTimer::Compute(node));
                }
            }
            (LsaContent::Link(old), LsaContent::Link(new)) => {
                Self::learn_te_link(node, old, new, plane)
            }
            _ => {}
        }
    }

    fn compute(&mut self, node: u32, plane: &mut dyn NetworkPlane) {
        plane.record_routing_event(RoutingEvent::Computed, node, None);
        let database = &self.routers[node as usize].database[..self.routers.len()];
        let routes = spf::routes(database, node, self.config.multipath);
        let update = self.config.fib_update_ns[node as usize];
        let at = plane.now() + self.config.compute_ns + update;
        self.timers.set(at, OspfTimer::Install(node, routes));
    }

    fn install(&mut self, node: u32, routes: spf::Routes, plane: &mut dyn NetworkPlane) {
        let router = &mut self.routers[node as usize];
        let mut changed = false;
        for (destination, (old, new)) in (0..).zip(router.routes.iter().zip(&routes)) {
            if old != new {
                changed = true;
                plane.set_routes(node, destination, new);
            }
        }
        router.routes = routes;
        if changed {
            plane.record_routing_event(RoutingEvent::Rerouted, node, None);
        }
    }

    fn hello(&mut self, line: u32, plane: &mut dyn NetworkPlane) {
        let Some(interval) = self.config.hello_ns else { return };
        let SignalledLink { from, to, .. } = self.lines[line as usize];
        let heard = Some(to).filter(|_| self.adjacencies[line as usize].up);
        let octets = packet::hello(from, heard, interval, self.config.dead_ns);
        self.transmit(line, OspfMessage::Hello, octets, plane);
        self.timers.set(plane.now() + interval, OspfTimer::Hello(line));
    }

    fn look_for_silence(&mut self, line: u32, plane: &mut dyn NetworkPlane) {
        let silent: Span = plane.now() - self.adjacencies[line as usize].heard;
        if silent >= self.config.dead_ns {
            self.change(line, false, plane);
        }
        let left = self.config.dead_ns.saturating_sub(silent);
        let again = if left == 0 { self.config.dead_ns } else { left };
        self.timers.set(plane.now() + again, OspfTimer::Dead(line));
    }
}
