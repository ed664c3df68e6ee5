//! Timers of a head end: reoptimisation, automatic bandwidth, random requests.
//!
//! Source: RFC 3209 section 2.5 (a better route, make before break), RFC 8733 (terms of automatic
//! bandwidth).

use super::head_end::HeadEndSession;
use super::{Rsvp, RsvpTimer};
use crate::NetworkPlane;
use trunkline_units::Time;

impl Rsvp {
    pub(super) fn await_reoptimisation(&mut self, session: u32, now: Time) {
        if let Some(interval) = self.config.reoptimise_ns {
            self.timers.set(now + interval, RsvpTimer::Reoptimise(session));
        }
    }

    /// Moves a path if there is a shorter route for it.
    pub(super) fn reoptimise(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        self.await_reoptimisation(session, plane.now());
        let node = self.ends(session).0;
        let head = &mut self.heads[session as usize];
        if !head.dynamic || head.active.is_none() || head.pending.is_some() {
            return;
        }
        let requested_route = head.requested_route.take();
        let better_route = self.choose_route(session);
        let cost = |route: &[u32]| self.database(node).cost(self.link_costs(session), route);
        let now = self.route_of(session).and_then(|route| cost(&route));
        let better = better_route.as_deref().and_then(cost);
        if better.is_some_and(|better| now.is_none_or(|now| better < now)) {
            self.heads[session as usize].requested_route = better_route;
            return self.replace(session, plane);
        }
        self.heads[session as usize].requested_route = requested_route;
    }

    pub(super) fn await_sample(&mut self, session: u32, now: Time) {
        if let Some(auto) = self.heads[session as usize].auto {
            self.timers.set(now + auto.sample_ns, RsvpTimer::Sample(session));
        }
    }

    /// Samples the load and, at the end of an interval, requests the largest sample.
    pub(super) fn sample(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        self.await_sample(session, plane.now());
        let current = self.route_of(session);
        let head = &mut self.heads[session as usize];
        let (Some(auto), Some(path)) = (head.auto, head.path) else { return };
        let bytes = plane.path_bytes(path);
        // The counter begins again at the end of the warm-up.
        let new = bytes.checked_sub(head.counted.0).unwrap_or(bytes);
        let rate = (u128::from(new) * 8_000_000_000 / u128::from(auto.sample_ns)) as u64;
        head.counted = (bytes, head.counted.1.max(rate));
        if plane.now() % auto.adjust_ns >= auto.sample_ns || head.active.is_none() {
            return;
        }
        let load = std::mem::take(&mut head.counted.1);
        let target_bandwidth = load.clamp(auto.minimum_bit_s, auto.maximum_bit_s);
        let change = target_bandwidth.abs_diff(head.bandwidth) as f64;
        if change > 0.0 && change >= auto.threshold * head.bandwidth as f64 {
            head.bandwidth = target_bandwidth;
            head.requested_route = current;
            self.replace(session, plane);
        }
    }

    pub(super) fn await_request(&mut self, index: usize, now: Time) {
        let mean = self.config.requests[index].every_ns as f64;
        let span = self.arrivals[index][0].exponential(mean) as u64;
        self.timers.set(now.saturating_add(span.max(1)), RsvpTimer::Arrival(index as u32));
    }

    /// A request arrives: a new session that ends after its holding time.
    pub(super) fn request(&mut self, index: u32, plane: &mut dyn NetworkPlane) {
        self.await_request(index as usize, plane.now());
        let requests = &self.config.requests[index as usize];
        let holding =
            self.arrivals[index as usize][1].exponential(requests.holding_ns as f64) as u64;
        self.heads.push(HeadEndSession::requested(requests, index, holding.max(1)));
        self.begin(self.heads.len() as u32 - 1, plane);
    }
}
