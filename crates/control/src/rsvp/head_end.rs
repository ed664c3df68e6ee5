//! The head end of a path: routes, attempts, reroutes, tears.
//!
//! Source: RFC 3209 section 2.5 and 4.6.4 (make before break: another LSP ID in the same session),
//! RFC 4920 section 3 (crankback: another route around the link that refused).
//! Differs: crankback is by the head alone; a head whose attempts have failed tries again after a set
//! time, without end, except for requests, which are then blocked.

use super::config::{
    AutoBandwidth, Constraints, Hop, Minimise, Protection, Requests, Session, Shared,
};
use super::message::{Error, Kind, PathKey, PathRequest, RsvpMessage, REPAIRED, SOFT_PREEMPTED};
use super::te_database::{RouteBounds, RouteRequirements};
use super::{event, Rsvp, RsvpTimer};
use crate::{ForwardingEntry, NetworkPlane, SignalledLink};
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_units::Time;

/// A session at its head.
#[derive(Clone, Debug)]
pub(super) struct HeadEndSession {
    name: Arc<str>,
    pub ends: (u32, u32),
    pub bandwidth: u64,
    setup: u8,
    hold: u8,
    class_type: u8,
    /// Path whose traffic it carries; requests carry none.
    pub path: Option<u32>,
    pub pipe: bool,
    pub diffserv: [Option<u32>; 2],
    pub hops: Vec<Hop>,
    /// Label that the tail expects.
    pub last_label: Option<u32>,
    pub first: Arc<[u32]>,
    constraints: Constraints,
    pub protection: Option<Protection>,
    /// Links that it protects as a bypass tunnel.
    pub around: Vec<u32>,
    pub classes: Vec<(u16, Vec<u8>)>,
    pub dynamic: bool,
    pub auto: Option<AutoBandwidth>,
    /// Route it is to take; none = the shortest one that has room.
    pub requested_route: Option<Arc<[u32]>>,
    /// Whether it should be up: from its set-up until its tear-down.
    pub is_requested: bool,
    pub active: Option<u16>,
    pub pending: Option<u16>,
    last_lsp_id: u16,
    pub requested_at: Option<Time>,
    pub tries: u32,
    avoid: BTreeSet<u32>,
    /// Entry for packets while it is down.
    closed: Option<u32>,
    pub counted: (u64, u64),
    departs_after: Option<u64>,
    /// Its request process.
    pub process: Option<u32>,
}

impl HeadEndSession {
    pub fn from_session(session: &Session, lines: &[SignalledLink]) -> Self {
        let first: Arc<[u32]> = session.route.clone().into();
        let end = |link: Option<&u32>| link.map(|link| &lines[*link as usize]);
        let head = end(first.first()).map_or(0, |line| line.from);
        let tail = end(first.last()).map_or(0, |line| line.to);
        Self {
            name: session.name.as_str().into(),
            bandwidth: session.bandwidth_bit_s,
            setup: session.setup,
            hold: session.hold,
            class_type: session.class_type,
            path: Some(session.path),
            pipe: session.pipe,
            diffserv: session.diffserv,
            hops: session.hops.clone(),
            last_label: session.hops.last().and_then(|hop| hop.label),
            protection: session.protection.clone(),
            around: session.around.clone(),
            classes: session.classes.iter().map(|it| (it.fec, it.dscps.clone())).collect(),
            dynamic: session.dynamic,
            auto: session.auto_bandwidth,
            first: first.clone(),
            constraints: session.constraints.clone().unwrap_or_default(),
            ends: (head, tail),
            ..Self::down(Some(first).filter(|_| !session.computed))
        }
    }

    /// A session of a request process, and its holding time.
    pub fn requested(requests: &Requests, process: u32, holding_ns: u64) -> Self {
        Self {
            name: requests.name.as_str().into(),
            ends: (requests.head, requests.tail),
            bandwidth: requests.bandwidth_bit_s,
            setup: requests.setup,
            hold: requests.hold,
            departs_after: Some(holding_ns),
            process: Some(process),
            ..Self::down(requests.route.clone().map(Into::into))
        }
    }

    /// A session without a request and without packets that is down, with its route.
    fn down(requested_route: Option<Arc<[u32]>>) -> Self {
        Self {
            name: "".into(),
            ends: (0, 0),
            bandwidth: 0,
            setup: 0,
            hold: 0,
            class_type: 0,
            path: None,
            pipe: false,
            diffserv: [None; 2],
            hops: Vec::new(),
            last_label: None,
            first: Arc::new([]),
            constraints: Constraints::default(),
            protection: None,
            around: Vec::new(),
            classes: Vec::new(),
            dynamic: requested_route.is_none(),
            auto: None,
            requested_route,
            is_requested: false,
            active: None,
            pending: None,
            last_lsp_id: 0,
            requested_at: None,
            tries: 0,
            avoid: BTreeSet::new(),
            closed: None,
            counted: (0, 0),
            departs_after: None,
            process: None,
        }
    }

    pub fn key(&self, session: u32, lsp: u16) -> PathKey {
        PathKey { session, lsp, sender: self.ends.0 }
    }
}

impl Rsvp {
    pub(super) fn ends(&self, session: u32) -> (u32, u32) {
        self.heads[session as usize].ends
    }

    /// A head begins to set a path up, or tries again.
    pub(super) fn begin(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        let node = self.ends(session).0;
        let next = self.next_lsp(session);
        let head = &mut self.heads[session as usize];
        head.is_requested = true;
        if head.pending.is_some() {
            return;
        }
        if head.requested_at.is_none() {
            head.requested_at = Some(plane.now());
            let key = head.key(session, next);
            plane.record_row(self.record_event(event::REQUESTED, key, (node, None), None));
            if self.heads[session as usize].active.is_none() {
                self.leave_without_lsp(session, plane);
            }
        }
        self.attempt(session, plane);
    }

    /// Sends the first Path of another LSP of a session.
    fn attempt(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        let ends = self.ends(session);
        let Some(route) = self.choose_route(session) else {
            let head = &self.heads[session as usize];
            let key = head.key(session, self.next_lsp(session));
            plane.record_row(self.record_event(event::NO_ROUTE, key, (ends.0, None), None));
            return self.fail(session, plane);
        };
        let next = self.next_lsp(session);
        let head = &mut self.heads[session as usize];
        head.last_lsp_id = next;
        head.pending = Some(head.last_lsp_id);
        let key = head.key(session, head.last_lsp_id);
        let request = Arc::new(PathRequest {
            route,
            head: ends.0,
            tail: ends.1,
            bandwidth: head.bandwidth,
            setup: head.setup,
            hold: head.hold,
            class_type: head.class_type,
            name: head.name.clone(),
            desired: head.protection.as_ref().map(Protection::desired),
            detour: None,
        });
        let link = request.route[0];
        if let Some(error) = self.admission_error(ends.0, link, key, &request) {
            return self.on_error_at_head(key, error, link, plane);
        }
        self.open(ends.0, key, request.clone(), 0, plane.now());
        self.send(link, RsvpMessage::for_path(Kind::Path, key, request, 1), plane);
    }

    /// Route of the next attempt.
    pub(super) fn choose_route(&self, session: u32) -> Option<Arc<[u32]>> {
        let head = &self.heads[session as usize];
        if let Some(route) =
            head.requested_route.as_ref().filter(|_| head.tries == 0 || !head.dynamic)
        {
            return Some(route.clone());
        }
        let own = self.route_of(session);
        let held = self.reserved_bandwidth(session);
        let links = own.as_deref().unwrap_or(&[]);
        let HeadEndSession { bandwidth, setup, class_type, avoid, constraints, .. } = head;
        let (ends, own) = (self.ends(session), (links, held));
        let mut avoid = avoid | &self.forbidden_links(&head.around);
        avoid.extend(&constraints.barred);
        avoid.extend(self.links_apart(session));
        let requirements = RouteRequirements {
            ends,
            bandwidth: *bandwidth,
            te_class: self.te_class(*class_type, *setup)?,
            avoid: &avoid,
            own,
            cost: self.link_costs(session),
            bounds: RouteBounds {
                via: &constraints.via,
                max_hops: constraints.max_hops,
                max_delay: constraints.max_delay_ns.map(|most| (most, self.costs.delay.as_slice())),
            },
        };
        self.database(ends.0).route(&self.lines, &requirements)
    }

    /// Cost of each link, of which routes of a session have the least.
    pub(super) fn link_costs(&self, session: u32) -> &[u64] {
        match self.heads[session as usize].constraints.minimise {
            Minimise::Igp => &self.costs.igp,
            Minimise::Te => &self.costs.te,
            Minimise::Delay => &self.costs.delay,
        }
    }

    /// Links that a session may not use, because they share with a path that it is disjoint from.
    fn links_apart(&self, session: u32) -> BTreeSet<u32> {
        let mut shared = BTreeSet::new();
        for apart in &self.heads[session as usize].constraints.apart {
            let head = &self.heads[apart.session as usize];
            for lsp in [head.active, head.pending].into_iter().flatten() {
                let key = head.key(apart.session, lsp);
                let Some(state) = self.states.get(&(head.ends.0, key)) else { continue };
                shared.extend(self.links_sharing(&state.request.route, apart.from));
            }
        }
        shared
    }

    /// Links that share with a route: its links in both directions, those at its nodes or of its risks.
    pub(super) fn links_sharing(&self, route: &[u32], what: Shared) -> Vec<u32> {
        let line = |link: &u32| &self.lines[*link as usize];
        let risks = |link: &u32| {
            self.config.attributes.get(*link as usize).map_or(&[][..], |link| link.risks.as_slice())
        };
        let inner: BTreeSet<u32> = route.iter().skip(1).map(|link| line(link).from).collect();
        let shares = |link: &u32| {
            let same = |one: &u32| one == link || line(one).reverse == Some(*link);
            let met = inner.contains(&line(link).from) || inner.contains(&line(link).to);
            let exposed = |one: &u32| risks(one).iter().any(|risk| risks(link).contains(risk));
            route.iter().any(same)
                || what == Shared::Node && met
                || what == Shared::Risk && route.iter().any(exposed)
        };
        (0..self.lines.len() as u32).filter(shares).collect()
    }

    /// Number of the next LSP: it has 16 bits, so after a wrap it skips those still in use.
    fn next_lsp(&self, session: u32) -> u16 {
        let head = &self.heads[session as usize];
        let mut lsp = head.last_lsp_id.wrapping_add(1);
        while self.states.contains_key(&(head.ends.0, head.key(session, lsp))) {
            lsp = lsp.wrapping_add(1);
        }
        lsp
    }

    /// The LSP in use.
    pub(super) fn active(&self, session: u32) -> Option<PathKey> {
        let head = &self.heads[session as usize];
        head.active.map(|lsp| head.key(session, lsp))
    }

    /// Route of the LSP in use.
    pub(super) fn route_of(&self, session: u32) -> Option<Arc<[u32]>> {
        let key = self.active(session)?;
        let state = self.states.get(&(self.ends(session).0, key))?;
        Some(state.request.route.clone())
    }

    fn reserved_bandwidth(&self, session: u32) -> u64 {
        let key = self.active(session).map(|key| (self.ends(session).0, key));
        key.and_then(|key| self.states.get(&key)).map_or(0, |state| state.request.bandwidth)
    }

    /// The head's attempts have failed for now.
    fn fail(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        let (node, retry) = (self.ends(session).0, self.config.retry_ns);
        let held = self.reserved_bandwidth(session);
        let head = &mut self.heads[session as usize];
        head.avoid.clear();
        head.pending = None;
        if head.path.is_none() {
            let key = head.key(session, head.last_lsp_id);
            plane.record_row(self.record_event(event::BLOCKED, key, (node, None), None));
            return;
        }
        if head.active.is_some() {
            // The LSP in use stays; a change that is not possible is dropped.
            head.requested_at = None;
            head.bandwidth = held;
            return;
        }
        // The first route has its turn again.
        head.tries = 0;
        self.timers.set(plane.now() + retry, RsvpTimer::Retry(session));
    }

    /// A head tries again, unless the path was torn down meanwhile.
    pub(super) fn retry(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        if self.heads[session as usize].is_requested {
            self.begin(session, plane);
        }
    }

    /// The head hears of an error.
    pub(super) fn on_error_at_head(
        &mut self,
        key: PathKey,
        error: Error,
        link: u32,
        plane: &mut dyn NetworkPlane,
    ) {
        let (session, node) = (key.session, self.ends(key.session).0);
        if key.sender != node {
            return self.on_lost_detour(key, plane);
        }
        let error_number = u64::from(error.0) << 16 | u64::from(error.1);
        let (attempts, make) = (self.config.attempts, self.config.make_before_break);
        let head = &mut self.heads[session as usize];
        if head.pending == Some(key.lsp) {
            head.pending = None;
            head.tries += 1;
            head.avoid.insert(link);
            let again = head.tries < attempts && (head.dynamic || head.path.is_none());
            plane.record_row(self.record_event(
                event::REQUEST_REFUSED,
                key,
                (node, Some(link)),
                Some(error_number),
            ));
            self.tear(key, plane);
            return if again { self.attempt(session, plane) } else { self.fail(session, plane) };
        }
        if head.active != Some(key.lsp) {
            return;
        }
        head.avoid.insert(link);
        head.tries = 1;
        if error == REPAIRED || error == SOFT_PREEMPTED && make {
            return if self.heads[session as usize].dynamic {
                self.begin(session, plane)
            };
        }
        self.on_lsp_down(key, error_number, plane);
        // A lost request is not repeated.
        if self.heads[session as usize].path.is_none() {
            return;
        }
        self.begin(session, plane);
    }

    /// The reservation of an LSP has ended.
    pub(super) fn on_lost_reservation(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        if key.sender != self.ends(key.session).0 {
            return self.on_lost_detour(key, plane);
        }
        let head = &self.heads[key.session as usize];
        if head.active != Some(key.lsp) {
            return self.tear(key, plane);
        }
        let carries = head.path.is_some();
        self.on_lsp_down(key, 0, plane);
        if carries {
            self.begin(key.session, plane);
        }
    }

    /// The LSP in use is no more.
    pub(super) fn on_lsp_down(&mut self, key: PathKey, value: u64, plane: &mut dyn NetworkPlane) {
        let node = self.ends(key.session).0;
        self.heads[key.session as usize].active = None;
        plane.record_row(self.record_event(event::DOWN, key, (node, None), Some(value)));
        self.tear(key, plane);
    }

    /// The Resv of an LSP has reached the head.
    pub(super) fn on_up(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        let (node, now) = (self.ends(key.session).0, plane.now());
        let head = &mut self.heads[key.session as usize];
        if head.pending != Some(key.lsp) {
            return;
        }
        let latency = head.requested_at.take().map(|at| now - at);
        let before = head.active.replace(key.lsp);
        (head.pending, head.tries) = (None, 0);
        head.avoid.clear();
        let event = if before.is_some() { event::REROUTED } else { event::UP };
        let (holding, cleanup) = (head.departs_after.take(), self.config.cleanup_ns);
        self.bind(key, plane);
        self.offer_bypass(key, plane);
        plane.record_row(self.record_event(event, key, (node, None), latency));
        if let Some(before) = before {
            let old = PathKey { lsp: before, ..key };
            self.timers.set(now + cleanup, RsvpTimer::Cleanup(old));
        }
        if let Some(holding) = holding {
            self.timers.set(now.saturating_add(holding), RsvpTimer::Departure(key.session));
        }
    }

    /// Sends the classes of a session into one of its LSPs.
    fn bind(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        let node = self.ends(key.session).0;
        let Some(state) = self.states.get(&(node, key)) else { return };
        let Some((entry, _)) = state.entry else { return };
        let head = &mut self.heads[key.session as usize];
        for (fec, dscps) in &head.classes {
            plane.bind_class(node, *fec, dscps, Some(entry));
        }
        if let Some(closed) = head.closed.take() {
            plane.withdraw(closed);
        }
    }

    /// An LSP is about to lose its entry at the head, which is given to another path: its classes leave it, if
    /// they ride it.
    pub(super) fn unbind(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        let session = key.session;
        let rides = self.heads[session as usize].active;
        if rides.is_none() || rides == Some(key.lsp) {
            self.leave_without_lsp(session, plane);
        }
    }

    /// The session has no LSP: its packets are discarded, or IP routing forwards them.
    fn leave_without_lsp(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        let node = self.ends(session).0;
        let head = &mut self.heads[session as usize];
        let Some(path) = head.path else { return };
        if self.config.discard && head.closed.is_none() && !head.classes.is_empty() {
            let entry = ForwardingEntry { closed: true, path, ..ForwardingEntry::default() };
            head.closed = Some(plane.install(entry));
        }
        for (fec, dscps) in &head.classes {
            plane.bind_class(node, *fec, dscps, head.closed);
        }
    }

    /// Takes an LSP down from its head on.
    pub(super) fn tear(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        let node = self.ends(key.session).0;
        self.on_path_tear(node, key, plane);
    }
}
