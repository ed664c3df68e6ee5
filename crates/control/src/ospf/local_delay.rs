//! A router whose own link goes down delays its new routes, while local repair carries the packets and
//! the other routers converge.
//!
//! Source: RFC 8333 sections 5.3 (for the loss of one link alone, which its other end may report
//! too) and 5.4 (`ULOOP_DELAY_DOWN_TIMER`, from the computation of the routes).
//! Flooding and the computation of routes are not delayed. Any other change of the topology ends the
//! delay.
//! Differs: routes computed by then are used at once, not with those of that change.

use super::{spf, Lsa, Ospf, OspfTimer};
use crate::NetworkPlane;
use trunkline_units::Time;

/// The delay of one router.
#[derive(Clone, Debug)]
pub(super) struct RouteDelay {
    /// The line that is lost.
    line: u32,
    /// When it ends; none = routes are not computed yet.
    until: Option<Time>,
    /// Routes that were computed meanwhile.
    routes: Option<spf::Routes>,
}

impl Ospf {
    /// A neighbour of a router is lost or found: the delay begins, or ends at the second change.
    pub(super) fn delay_routes(&mut self, line: u32, up: bool, plane: &mut dyn NetworkPlane) {
        let node = self.lines[line as usize].from;
        if self.config.local_delay_ns == 0 {
            return;
        }
        let under_way = self.routers[node as usize].delay.is_some();
        if up || under_way {
            self.end_delay(node, plane);
            return;
        }
        self.routers[node as usize].delay = Some(RouteDelay { line, until: None, routes: None });
    }

    /// Ends the delay if an LSA reports something else than the lost link.
    pub(super) fn end_delay_on_other_change(
        &mut self,
        node: u32,
        lsa: &Lsa,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(delay) = &self.routers[node as usize].delay else { return };
        let back = self.lines[delay.line as usize].reverse;
        let known = &self.routers[node as usize].database[lsa.place as usize].links();
        let left = known.iter().filter(|link| Some(link.line) != back);
        if lsa.origin != node && !left.eq(lsa.links()) {
            self.end_delay(node, plane);
        }
    }

    /// Routes are used, unless their router delays them.
    pub(super) fn use_routes(
        &mut self,
        node: u32,
        routes: spf::Routes,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(delay) = &mut self.routers[node as usize].delay else {
            return self.install(node, routes, plane);
        };
        delay.routes = Some(routes);
        if delay.until.is_none() {
            let until = plane.now() + self.config.local_delay_ns;
            delay.until = Some(until);
            self.timers.set(until, OspfTimer::Release(node));
        }
    }

    /// A delay may be over.
    pub(super) fn release(&mut self, node: u32, plane: &mut dyn NetworkPlane) {
        let over = |delay: &RouteDelay| delay.until.is_some_and(|until| until <= plane.now());
        if self.routers[node as usize].delay.as_ref().is_some_and(over) {
            self.end_delay(node, plane);
        }
    }

    fn end_delay(&mut self, node: u32, plane: &mut dyn NetworkPlane) {
        let delay = self.routers[node as usize].delay.take();
        if let Some(routes) = delay.and_then(|delay| delay.routes) {
            self.install(node, routes, plane);
        }
    }
}
