//! OSPF: what routers do after a change, message by message.
//!
//! Source: RFC 2328 sections 9.5 (hello), 12.4 (origination of LSAs), 16.1 (a link counts if both
//! its ends list it); RFC 8405.
//! Synchronisation with LDP: RFC 5443 section 2.
//! `flooding.rs` is how LSAs get about, `packet.rs` the octets, `throttle.rs` the delay of the
//! computation, `spf.rs` the routes, `local_delay.rs` when a router next to a failure uses them.
//! Differs: the run begins with all databases alike; neighbours that find each other again send
//! their LSAs at once, without describing their databases before; a link whose LDP session has not
//! come up yet in the run counts as synchronised.
//! Absent: areas, broadcast networks, ageing and refresh of LSAs (30 min), `MinLSArrival`.

pub mod config;
mod flooding;
mod local_delay;
mod packet;
mod spf;
mod throttle;

pub use config::{Config, SpfDelay};
pub use packet::KINDS;

use crate::timers::Timers;
use crate::{Line, Moment, Plane};
use std::collections::BTreeMap;
use std::sync::Arc;
use throttle::Throttle;
use trunkline_units::{Span, Stream, Time};

/// The largest metric (`LSInfinity` of a link, 16 bits; RFC 5443 section 2).
const LARGEST_METRIC: u64 = 65_535;

/// A link in an LSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjacent {
    /// The one-way link.
    pub line: u32,
    /// The neighbour.
    pub to: u32,
    /// Cost.
    pub metric: u64,
}

/// A router-LSA.
#[derive(Clone, Debug)]
pub struct Lsa {
    /// Node it is of.
    pub origin: u32,
    /// Number of the instance, from 0.
    pub sequence: u32,
    /// Links to neighbours.
    pub links: Arc<Vec<Adjacent>>,
}

/// A message.
#[derive(Clone, Debug)]
pub enum Message {
    /// The neighbour is there.
    Hello,
    /// LSAs.
    Update(Vec<Lsa>),
    /// Origin and instance of LSAs.
    Acknowledgment(Vec<(u32, u32)>),
}

#[derive(Clone, Debug)]
enum Timer {
    /// A node has handled LSAs that came over a line.
    Handle(u32, Vec<Lsa>),
    /// Updates sent on a line may lack their acknowledgment.
    Resend(u32),
    Originate(u32),
    /// Routes of a node are computed.
    Compute(u32),
    /// The routes computed come into use.
    Install(u32, spf::Routes),
    /// A delay of routes after the loss of a link may be over.
    Release(u32),
    Hello(u32),
    /// A neighbour may have been silent for too long.
    Dead(u32),
}

/// What a node knows and does.
#[derive(Clone, Debug)]
struct Router {
    database: Vec<Lsa>,
    originated: Option<Time>,
    /// Whether its LSA is to be originated at its time.
    due: bool,
    throttle: Throttle,
    /// Routes in use; computed at the start.
    routes: spf::Routes,
    /// They stay because a link of the router is lost.
    delay: Option<local_delay::Delay>,
}

/// A neighbour, by the line towards it.
#[derive(Clone, Debug, Default)]
struct Adjacency {
    up: bool,
    /// Detection says that the line from it is down.
    cut: bool,
    /// When the last hello came.
    heard: Time,
    /// Instances sent and not acknowledged, by origin.
    unacknowledged: BTreeMap<u32, u32>,
    resending: bool,
}

/// OSPF of the whole network.
#[derive(Debug)]
pub struct Ospf {
    /// As compiled.
    pub config: Config,
    lines: Vec<Line>,
    routers: Vec<Router>,
    adjacencies: Vec<Adjacency>,
    /// Whether the LDP session of a node with a neighbour is up, once it was.
    sessions: BTreeMap<(u32, u32), bool>,
    timers: Timers<Timer>,
    seed: u64,
}

impl Ospf {
    /// All neighbours are adjacent and know the same.
    #[must_use]
    pub fn new(config: Config, nodes: u32, lines: Vec<Line>, seed: u64) -> Self {
        let up = |line: &Line| Adjacency { up: line.reverse.is_some(), ..Adjacency::default() };
        let adjacencies: Vec<Adjacency> = lines.iter().map(up).collect();
        let mut its = Self {
            config,
            lines,
            routers: Vec::new(),
            adjacencies,
            sessions: BTreeMap::new(),
            timers: Timers::default(),
            seed,
        };
        let database: Vec<Lsa> = (0..nodes).map(|node| its.lsa(node, 0)).collect();
        for node in 0..nodes {
            its.routers.push(Router {
                routes: spf::routes(&database, node, its.config.multipath),
                database: database.clone(),
                originated: None,
                due: false,
                throttle: Throttle::default(),
                delay: None,
            });
        }
        its
    }

    /// Begins at time 0: hellos at times of their own.
    pub fn start(&mut self, _: &mut dyn Plane) {
        let Some(interval) = self.config.hello_ns else { return };
        for line in 0..self.lines.len() as u32 {
            if self.lines[line as usize].reverse.is_some() {
                let mut random = Stream::new(self.seed, &format!("ospf[{line}]"), "hello");
                self.timers.set(random.below(interval), Timer::Hello(line));
                self.timers.set(self.config.dead_ns, Timer::Dead(line));
            }
        }
    }

    /// When it wants to be woken next.
    #[must_use]
    pub fn due(&self) -> Time {
        self.timers.due()
    }

    /// Does what is due now.
    pub fn wake(&mut self, plane: &mut dyn Plane) {
        while let Some(timer) = self.timers.pop(plane.now()) {
            match timer {
                Timer::Handle(line, lsas) => self.handle(line, lsas, plane),
                Timer::Resend(line) => self.resend(line, plane),
                Timer::Originate(node) => self.originate(node, plane),
                Timer::Compute(node) => self.compute(node, plane),
                Timer::Install(node, routes) => self.use_routes(node, routes, plane),
                Timer::Release(node) => self.release(node, plane),
                Timer::Hello(line) => self.hello(line, plane),
                Timer::Dead(line) => self.look_for_silence(line, plane),
            }
        }
    }

    /// A message has come over `line`.
    pub fn receive(&mut self, line: u32, message: Message, plane: &mut dyn Plane) {
        let Some(back) = self.lines[line as usize].reverse else { return };
        match message {
            Message::Hello => {
                let its = &mut self.adjacencies[back as usize];
                its.heard = plane.now();
                if !its.up && !its.cut {
                    self.change(back, true, plane);
                }
            }
            Message::Update(lsas) => {
                let at = plane.now() + self.config.processing_ns;
                self.timers.set(at, Timer::Handle(line, lsas));
            }
            Message::Acknowledgment(instances) => {
                let waiting = &mut self.adjacencies[back as usize].unacknowledged;
                for (origin, sequence) in instances {
                    if waiting.get(&origin) == Some(&sequence) {
                        waiting.remove(&origin);
                    }
                }
            }
        }
    }

    /// `node` notices that `line`, which leads to it, has gone down or come up.
    pub fn link_changed(&mut self, _: u32, line: u32, down: bool, plane: &mut dyn Plane) {
        let Some(back) = self.lines[line as usize].reverse else { return };
        self.adjacencies[back as usize].cut = down;
        self.adjacencies[back as usize].heard = plane.now();
        self.change(back, !down, plane);
    }

    /// The LDP session of a node with a neighbour has come up or ended.
    pub fn session_changed(&mut self, node: u32, peer: u32, up: bool, plane: &mut dyn Plane) {
        if !self.config.ldp_sync {
            return;
        }
        let before = self.sessions.insert((node, peer), up);
        let adjacent = |(line, adjacency): (&Line, &Adjacency)| {
            adjacency.up && (line.from, line.to) == (node, peer)
        };
        let listed = self.lines.iter().zip(&self.adjacencies).any(adjacent);
        if listed && before.unwrap_or(true) != up {
            self.want(node, plane);
        }
    }

    /// Metric of a link as its node tells it.
    fn metric(&self, its: &Line) -> u64 {
        match self.sessions.get(&(its.from, its.to)) {
            Some(false) => LARGEST_METRIC,
            _ => its.metric,
        }
    }

    /// Checks what must hold at the end of a run.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        let known = |router: &Router| router.database.len() == self.routers.len();
        if self.routers.iter().all(known) {
            return Ok(());
        }
        Err("ospf: a database lacks an LSA".into())
    }

    /// The LSA of a node as its neighbours are now.
    fn lsa(&self, origin: u32, sequence: u32) -> Lsa {
        let own = (0..)
            .zip(&self.lines)
            .filter(|(line, its)| its.from == origin && self.adjacencies[*line as usize].up);
        let adjacent = own
            .map(|(line, its)| Adjacent { line, to: its.to, metric: self.metric(its) })
            .collect();
        Lsa { origin, sequence, links: Arc::new(adjacent) }
    }

    /// A neighbour is found or lost.
    fn change(&mut self, line: u32, up: bool, plane: &mut dyn Plane) {
        let its = &mut self.adjacencies[line as usize];
        if its.up == up {
            return;
        }
        its.up = up;
        its.unacknowledged.clear();
        let node = self.lines[line as usize].from;
        self.delay_routes(line, up, plane);
        self.want(node, plane);
        if up {
            let all = self.routers[node as usize].database.clone();
            self.send(line, &all, plane);
        }
    }

    /// Originates a node's LSA, now or when it may be again.
    fn want(&mut self, node: u32, plane: &mut dyn Plane) {
        let router = &mut self.routers[node as usize];
        let free = router.originated.map_or(0, |at| at + self.config.lsa_interval_ns);
        if free <= plane.now() {
            self.originate(node, plane);
        } else if !router.due {
            router.due = true;
            self.timers.set(free, Timer::Originate(node));
        }
    }

    fn originate(&mut self, node: u32, plane: &mut dyn Plane) {
        let sequence = self.routers[node as usize].database[node as usize].sequence + 1;
        let lsa = self.lsa(node, sequence);
        let router = &mut self.routers[node as usize];
        (router.originated, router.due) = (Some(plane.now()), false);
        plane.mark(Moment::Originated, node, None);
        self.take(node, lsa.clone(), plane);
        self.flood(node, None, &[lsa], plane);
    }

    /// Puts a newer LSA into a node's database.
    fn take(&mut self, node: u32, lsa: Lsa, plane: &mut dyn Plane) {
        self.look_for_others(node, &lsa, plane);
        let router = &mut self.routers[node as usize];
        let mine = &mut router.database[lsa.origin as usize];
        let changed = mine.links != lsa.links;
        *mine = lsa;
        if !changed {
            return;
        }
        if let Some(at) = router.throttle.change(plane.now(), self.config.spf) {
            self.timers.set(at, Timer::Compute(node));
        }
    }

    fn compute(&mut self, node: u32, plane: &mut dyn Plane) {
        plane.mark(Moment::Computed, node, None);
        let routes =
            spf::routes(&self.routers[node as usize].database, node, self.config.multipath);
        let update = self.config.fib_update_ns[node as usize];
        let at = plane.now() + self.config.compute_ns + update;
        self.timers.set(at, Timer::Install(node, routes));
    }

    fn install(&mut self, node: u32, routes: spf::Routes, plane: &mut dyn Plane) {
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
            plane.mark(Moment::Rerouted, node, None);
        }
    }

    fn hello(&mut self, line: u32, plane: &mut dyn Plane) {
        let Some(interval) = self.config.hello_ns else { return };
        let Line { from, to, .. } = self.lines[line as usize];
        let heard = Some(to).filter(|_| self.adjacencies[line as usize].up);
        let octets = packet::hello(from, heard, interval, self.config.dead_ns);
        self.put(line, Message::Hello, octets, plane);
        self.timers.set(plane.now() + interval, Timer::Hello(line));
    }

    fn look_for_silence(&mut self, line: u32, plane: &mut dyn Plane) {
        let silent: Span = plane.now() - self.adjacencies[line as usize].heard;
        if silent >= self.config.dead_ns {
            self.change(line, false, plane);
        }
        let left = self.config.dead_ns.saturating_sub(silent);
        let again = if left == 0 { self.config.dead_ns } else { left };
        self.timers.set(plane.now() + again, Timer::Dead(line));
    }
}
