//! Orders to a head end: tear a path down, replace it, execute orders of operators.
//!
//! Source: RFC 3209 sections 2.5 and 4.6.4 (make before break: another LSP ID in the same session).

use super::config::Action;
use super::message::PathKey;
use super::{event, Rsvp};
use crate::NetworkPlane;

impl Rsvp {
    /// A path is no longer wanted.
    pub(super) fn give_up(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        let node = self.ends(session).0;
        let head = &mut self.heads[session as usize];
        let lsps = [head.active.take(), head.pending.take()];
        (head.requested_at, head.is_requested) = (None, false);
        for lsp in lsps.into_iter().flatten() {
            let key = PathKey { session, lsp, sender: node };
            plane.record_row(self.record_event(event::TORN_DOWN, key, (node, None), None));
            self.tear(key, plane);
        }
    }

    /// Another LSP in place of the one in use: made before that is broken, or after.
    pub(super) fn replace(&mut self, session: u32, plane: &mut dyn NetworkPlane) {
        let head = &mut self.heads[session as usize];
        head.tries = 0;
        if !head.is_requested {
            return;
        }
        if let (Some(key), false) = (self.active(session), self.config.make_before_break) {
            self.on_lsp_down(key, 0, plane);
        }
        self.begin(session, plane);
    }

    /// Executes an order of an operator.
    pub(super) fn execute_order(&mut self, index: u32, plane: &mut dyn NetworkPlane) {
        let order = self.config.orders[index as usize].clone();
        let session = order.session;
        let current = self.route_of(session);
        let head = &mut self.heads[session as usize];
        match order.action {
            Action::SetUp {} => {
                // Its route is computed now, with what is unreserved now.
                if head.dynamic && head.active.is_none() && head.pending.is_none() {
                    head.requested_route = None;
                }
                self.begin(session, plane);
            }
            Action::Tear {} => self.give_up(session, plane),
            Action::Move { route } => {
                head.requested_route = route.map(Into::into);
                head.dynamic |= head.requested_route.is_none();
                self.replace(session, plane);
            }
            Action::Resize { bandwidth_bit_s } => {
                head.bandwidth = bandwidth_bit_s;
                head.requested_route = current.or_else(|| head.requested_route.take());
                self.replace(session, plane);
            }
        }
    }
}
