//! RSVP-TE: label-switched paths set up, refreshed, rerouted and torn down by messages.
//!
//! Source: RFC 2205 (messages, soft state), RFC 3209 (labels, explicit routes, priorities, shared
//! explicit style, hello), RFC 2961 (identifiers, resends, summary refresh), RFC 4090 (local repair),
//! RFC 4920 (crankback), RFC 5712 (soft preemption), RFC 4124 (class types).
//! `state.rs` has the actions of every node, `errors.rs` and `soft_state.rs` the end of a path,
//! `preemption.rs` preemption, `local_repair.rs`, `detour.rs` and `merging.rs` the protection against
//! failures; `head_end.rs`, `orders.rs`, `head_end_timers.rs` and `te_database.rs` the actions of head
//! ends, `neighbour.rs` the exchange between neighbours, `message.rs` and `encoding.rs` the messages.
//! Absent: multicast, styles but shared explicit, ResvConf, bundles.

pub mod admission;
pub mod config;
mod detour;
mod encoding;
mod errors;
pub(crate) mod event;
mod head_end;
mod head_end_timers;
mod local_repair;
mod merging;
pub mod message;
mod neighbour;
mod orders;
mod preemption;
mod soft_state;
mod state;
mod te_database;

pub use config::RsvpConfig;
pub use event::EVENTS;
pub use message::{Kind, RsvpMessage, KINDS};

use crate::timers::Timers;
use crate::{
    LinkNews, NetworkPlane, OutgoingMessage, ProtocolNotice, SignalledLink, SignallingRow,
};
use admission::LinkReservations;
use config::TeClass;
use head_end::HeadEndSession;
use message::{PathKey, ALIAS_BIT};
use neighbour::Neighbours;
use state::PathState;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use te_database::TeDatabase;
use trunkline_units::{RandomStream, Span, Time};

/// Bytes of an IP header, and of the router alert option (RFC 2113).
const IP_BYTES: u16 = 20;
const ALERT_BYTES: u16 = 4;
/// Protocol number in the IP header (RFC 2205 section 3).
const IP_PROTOCOL: u8 = 46;
/// First label that nodes allocate during the run; compiled labels are below.
const FIRST_LABEL: u32 = 500_000;

/// Action of a timer.
#[derive(Clone, Debug)]
enum RsvpTimer {
    /// A node has handled a message.
    Handle(u32, Box<RsvpMessage>),
    /// A node refreshes a path downstream or a reservation upstream.
    Refresh(u32, PathKey, Kind),
    /// A state may have died.
    Expire(u32, PathKey, Kind),
    /// A message has not been acknowledged.
    Resend(u32, u32),
    /// A node sends a summary refresh on a link.
    Summary(u32),
    /// A node sends a hello on a link.
    Hello(u32),
    /// The news of a link reach the database that all share.
    News(u32, LinkNews),
    /// A head begins.
    Attempt(u32),
    /// A head tries again.
    Retry(u32),
    /// An operator's order.
    Order(u32),
    /// The next request of a process arrives.
    Arrival(u32),
    /// A path is no longer wanted.
    Departure(u32),
    /// An old path is torn down.
    Cleanup(PathKey),
    /// A preempted path has not been moved in time.
    Overdue(u32, PathKey),
    /// A head computes a better route.
    Reoptimise(u32),
    /// A head takes a sample of its load.
    Sample(u32),
    /// A node tries again to have a detour.
    Detour(u32, PathKey),
}

/// Labels that a node gives out: the lowest free one.
#[derive(Clone, Debug, Default)]
struct Labels {
    used: u32,
    free: BTreeSet<u32>,
}

impl Labels {
    fn take(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.used += 1;
            FIRST_LABEL + self.used - 1
        })
    }
}

/// Costs of links, of which routes have the least.
#[derive(Clone, Debug)]
struct LinkCosts {
    igp: Vec<u64>,
    te: Vec<u64>,
    delay: Vec<u64>,
}

impl LinkCosts {
    fn new(config: &RsvpConfig, lines: &[SignalledLink]) -> Self {
        Self {
            igp: lines.iter().map(|line| line.metric).collect(),
            te: config.attributes.iter().map(|link| link.metric).collect(),
            delay: config.attributes.iter().map(|link| link.delay_ns).collect(),
        }
    }
}

/// RSVP-TE on all nodes of a network.
#[derive(Debug)]
pub struct Rsvp {
    /// Its parameters.
    pub config: RsvpConfig,
    lines: Vec<SignalledLink>,
    timers: Timers<RsvpTimer>,
    /// When each node has handled the messages sent to it before.
    busy_until: Vec<Time>,
    random: Vec<RandomStream>,
    labels: Vec<Labels>,
    states: BTreeMap<(u32, PathKey), PathState>,
    pools: Vec<LinkReservations>,
    costs: LinkCosts,
    /// Links known to be down by a node at their end.
    down: BTreeSet<(u32, u32)>,
    heads: Vec<HeadEndSession>,
    /// Sessions that are bypass tunnels, by their first node.
    bypasses: BTreeMap<u32, Vec<u32>>,
    /// One that all share, or one of each node.
    databases: Vec<TeDatabase>,
    /// Unreserved bandwidth of links in the databases.
    advertised_bandwidths: Vec<[u64; 8]>,
    neighbours: Neighbours,
    /// Arrivals and holding times of each process of requests.
    arrivals: Vec<[RandomStream; 2]>,
}

impl Rsvp {
    /// Signalling of a network of `nodes` nodes and these links.
    #[must_use]
    pub fn new(config: RsvpConfig, nodes: u32, lines: Vec<SignalledLink>, seed: u64) -> Self {
        let pools = Self::make_pools(&config);
        let stream = |element: String, purpose: &str| RandomStream::new(seed, &element, purpose);
        let arrivals = config.requests.iter().map(|capacity| {
            let element = format!("requests[{}]", capacity.name);
            [stream(element.clone(), "arrivals"), stream(element, "holding")]
        });
        let databases = if config.flooding_ns.is_none() { nodes as usize } else { 1 };
        let heads: Vec<HeadEndSession> = config
            .sessions
            .iter()
            .map(|capacity| HeadEndSession::from_session(capacity, &lines))
            .collect();
        let mut bypasses: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (session, head) in (0..).zip(&heads).filter(|(_, head)| !head.around.is_empty()) {
            bypasses.entry(head.ends.0).or_default().push(session);
        }
        Self {
            arrivals: arrivals.collect(),
            costs: LinkCosts::new(&config, &lines),
            heads,
            bypasses,
            random: (0..nodes).map(|it| stream(format!("signalling[{it}]"), "refresh")).collect(),
            timers: Timers::default(),
            busy_until: vec![0; nodes as usize],
            labels: vec![Labels::default(); nodes as usize],
            states: BTreeMap::new(),
            databases: vec![TeDatabase::new(&pools); databases],
            advertised_bandwidths: pools.iter().map(LinkReservations::by_te_class).collect(),
            pools,
            down: BTreeSet::new(),
            neighbours: Neighbours::default(),
            lines,
            config,
        }
    }

    /// The links without a reservation.
    fn make_pools(config: &RsvpConfig) -> Vec<LinkReservations> {
        let types = &config.class_types;
        let links = config.reservable.iter().enumerate();
        let bounds = |link: usize| types.bounds.get(link).map_or(&[][..], Vec::as_slice);
        links
            .map(|(link, capacity)| {
                LinkReservations::with_class_types(*capacity, types, bounds(link))
            })
            .collect()
    }

    /// The place of a TE-class among those that links advertise.
    fn te_class(&self, class_type: u8, priority: u8) -> Option<usize> {
        let wanted = TeClass { class_type, priority };
        self.config.class_types.te_classes.iter().position(|each| *each == wanted)
    }

    /// Begins at time 0.
    pub fn start(&mut self, plane: &mut dyn NetworkPlane) {
        for (index, session) in (0..).zip(&self.config.sessions) {
            if let Some(at) = session.start_ns {
                self.timers.set(at, RsvpTimer::Attempt(index));
            }
        }
        for (index, order) in (0..).zip(&self.config.orders) {
            self.timers.set(order.at_ns, RsvpTimer::Order(index));
        }
        for index in 0..self.config.requests.len() {
            self.await_request(index, plane.now());
        }
        self.start_neighbours();
        for session in 0..self.config.sessions.len() as u32 {
            self.await_reoptimisation(session, plane.now());
            self.await_sample(session, plane.now());
        }
    }

    /// When the first timer is due.
    #[must_use]
    pub fn due(&self) -> Time {
        self.timers.due()
    }

    /// Serves the timers that are due.
    pub fn wake(&mut self, plane: &mut dyn NetworkPlane) {
        while let Some(timer) = self.timers.pop(plane.now()) {
            match timer {
                RsvpTimer::Handle(link, message) => self.handle(link, *message, plane),
                RsvpTimer::Refresh(node, key, kind) => self.refresh(node, key, kind, plane),
                RsvpTimer::Expire(node, key, kind) => self.expire(node, key, kind, plane),
                RsvpTimer::Resend(link, id) => self.resend(link, id, plane),
                RsvpTimer::Summary(link) => self.summarise(link, plane),
                RsvpTimer::Hello(link) => self.hello(link, plane),
                RsvpTimer::News(link, news) => self.learn(0, link, news),
                RsvpTimer::Attempt(session) => self.begin(session, plane),
                RsvpTimer::Retry(session) => self.retry(session, plane),
                RsvpTimer::Order(index) => self.execute_order(index, plane),
                RsvpTimer::Arrival(index) => self.request(index, plane),
                RsvpTimer::Departure(session) => self.give_up(session, plane),
                RsvpTimer::Cleanup(key) => self.tear(key, plane),
                RsvpTimer::Overdue(node, key) => self.end_soft_preemption(node, key, plane),
                RsvpTimer::Reoptimise(session) => self.reoptimise(session, plane),
                RsvpTimer::Sample(session) => self.sample(session, plane),
                RsvpTimer::Detour(node, key) => self.begin_detour(node, key, plane),
            }
        }
    }

    /// A message has arrived over a link; the node handles one after the other.
    pub fn receive(&mut self, link: u32, mut message: RsvpMessage, plane: &mut dyn NetworkPlane) {
        if !message.via.is_empty() {
            // It is for another node and is forwarded like any packet.
            let next = message.via.remove(0);
            return self.transmit(next, message, plane);
        }
        if self.config.processing_ns == 0 {
            return self.handle(link, message, plane);
        }
        let busy = &mut self.busy_until[self.lines[link as usize].to as usize];
        *busy = (*busy).max(plane.now()).saturating_add(self.config.processing_ns);
        let handle = RsvpTimer::Handle(link, Box::new(message));
        self.timers.set_for_arrival(*busy, plane.now(), handle);
    }

    fn handle(&mut self, link: u32, message: RsvpMessage, plane: &mut dyn NetworkPlane) {
        let node = self.lines[link as usize].to;
        if !self.process_header(link, &message, plane) {
            return;
        }
        match message.kind {
            Kind::Path => self.on_path(node, message, plane),
            Kind::Resv => self.on_resv(node, message, plane),
            Kind::PathErr => self.on_path_err(node, &message, plane),
            Kind::ResvErr => self.on_resv_err(node, &message, plane),
            Kind::PathTear => self.on_path_tear_at_merge_point(node, &message, plane),
            Kind::ResvTear => self.unreserve(node, message.key, plane),
            Kind::Ack | Kind::Srefresh | Kind::Hello => {}
        }
    }

    /// Sends a message on a link; one that changes state is sent again until it is acknowledged.
    fn send(&mut self, link: u32, mut message: RsvpMessage, plane: &mut dyn NetworkPlane) {
        self.identify(link, &mut message, plane.now());
        self.transmit(link, message, plane);
    }

    fn transmit(&self, link: u32, message: RsvpMessage, plane: &mut dyn NetworkPlane) {
        let SignalledLink { from, to, .. } = self.lines[link as usize];
        let ends = match &message.tunnel {
            Some(tunnel) => [tunnel.mp, tunnel.plr],
            None => [from, to],
        };
        plane.send(link, self.make_packet(message, ends));
    }

    /// A message as a packet from one node to another.
    fn make_packet(&self, message: RsvpMessage, ends: [u32; 2]) -> OutgoingMessage {
        let octets = message.octets(&self.lines, ends[0], self.config.refresh_ns);
        let alert = message.has_alert();
        let ends = match &message.request {
            Some(request) if alert => [message.key.sender & !ALIAS_BIT, request.tail],
            _ => ends,
        };
        let header_bytes = IP_BYTES + if alert { ALERT_BYTES } else { 0 };
        let kind = message.kind as u8;
        let message = crate::Message::Rsvp(message);
        OutgoingMessage { message, octets, header_bytes, protocol: IP_PROTOCOL, ends, kind }
    }

    /// Sends a message about a path to the node before on its route, or around a failure to the
    /// one that repaired it.
    fn send_up(&mut self, mut message: RsvpMessage, plane: &mut dyn NetworkPlane) {
        if let Some(tunnel) = &message.tunnel {
            message.hop = tunnel.hop;
            message.via = tunnel.back[1..].to_vec();
            let first = tunnel.back[0];
            return self.transmit(first, message, plane);
        }
        let Some(request) = &message.request else { return };
        let link = self.lines[request.route[message.hop] as usize].reverse;
        if let Some(link) = link {
            self.send(link, message, plane);
        }
    }

    /// Time to the next refresh: uniform in 0.5 R to 1.5 R (RFC 2205 section 3.7).
    fn refresh_span(&mut self, node: u32) -> Span {
        let mean = self.config.refresh_ns;
        mean / 2 + self.random[node as usize].below(mean + 1)
    }

    /// Lifetime of a state: (K + 0.5) x 1.5 R (RFC 2205 section 3.7).
    #[must_use]
    pub fn lifetime(&self) -> Span {
        let thirds = (2 * u64::from(self.config.multiplier) + 1) * 3;
        thirds.saturating_mul(self.config.refresh_ns) / 4
    }

    fn record_event(
        &self,
        event: u8,
        key: PathKey,
        at: (u32, Option<u32>),
        value: Option<u64>,
    ) -> SignallingRow {
        let head = &self.heads[key.session as usize];
        let (node, link) = at;
        let (session, lsp) = (key.session, key.lsp);
        let (process, bandwidth) = (head.process, head.bandwidth);
        SignallingRow { event, session, process, lsp, node, link, bandwidth, value }
    }

    /// A link's reservations have changed: the databases hear of it later.
    fn advertise(&mut self, link: u32, plane: &mut dyn NetworkPlane) {
        let unreserved = self.pools[link as usize].by_te_class();
        let advertised = &mut self.advertised_bandwidths[link as usize];
        let changes = advertised.iter().zip(&unreserved).map(|(old, new)| old.abs_diff(*new));
        let change = changes.max().unwrap_or(0);
        let min_change =
            self.config.flooding_threshold * self.config.reservable[link as usize] as f64;
        if change == 0 || (change as f64) < min_change {
            return;
        }
        *advertised = unreserved;
        let bandwidth = Arc::new(unreserved);
        match self.config.flooding_ns {
            None => plane.notify_protocols(ProtocolNotice::Unreserved { link, bandwidth }),
            Some(0) => self.learn(0, link, LinkNews::Unreserved(bandwidth)),
            Some(span) => {
                let news = RsvpTimer::News(link, LinkNews::Unreserved(bandwidth));
                self.timers.set(plane.now() + span, news);
            }
        }
    }

    /// The database of a node gets news.
    pub fn learn(&mut self, node: u32, link: u32, news: LinkNews) {
        if let Some(database) = self.databases.get_mut(node as usize) {
            database.learn(link, news);
        }
    }

    /// The database of a node.
    fn database(&self, node: u32) -> &TeDatabase {
        self.databases.get(node as usize).unwrap_or(&self.databases[0])
    }

    /// Bandwidth reserved on a link [bit/s].
    #[must_use]
    pub fn reserved(&self, link: u32) -> u64 {
        self.pools[link as usize].total()
    }

    /// States of paths at all nodes.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// Checks that every reservation belongs to a state that holds it, and that each state's reservation
    /// exists.
    ///
    /// # Errors
    /// The first link where that fails.
    pub fn check(&self) -> Result<(), String> {
        let mut pools = Self::make_pools(&self.config);
        let holds = |state: &PathState| state.reserved && !state.soft;
        for ((_, key), state) in self.states.iter().filter(|(_, state)| holds(state)) {
            if let Some(link) = state.out_link() {
                pools[link as usize].reserve(*key, state.request.held_reservation());
            }
        }
        for (link, (pool, due)) in self.pools.iter().zip(&pools).enumerate() {
            if pool.by_te_class() != due.by_te_class() || pool.total() != due.total() {
                let (has, holds) = (pool.total(), due.total());
                return Err(format!(
                    "link {link}: {has} bit/s reserved, states hold {holds} bit/s"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
