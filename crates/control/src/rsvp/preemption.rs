//! Preemption of paths by stronger ones.
//!
//! Source: RFC 3209 section 4.7.1 (priorities), RFC 5712 section 5 (soft preemption).

use super::message::{PathKey, PREEMPTED, SOFT_PREEMPTED};
use super::state::PathState;
use super::{event, Rsvp, RsvpTimer};
use crate::NetworkPlane;

impl Rsvp {
    /// Preempts the paths of a session on a link.
    pub(super) fn preempt(
        &mut self,
        node: u32,
        link: u32,
        session: u32,
        plane: &mut dyn NetworkPlane,
    ) {
        let range = (node, PathKey::first(session))..=(node, PathKey::last(session));
        let on_link = |state: &PathState| state.reserved && state.out_link() == Some(link);
        let keys: Vec<PathKey> =
            self.states.range(range).filter(|(_, it)| on_link(it)).map(|(at, _)| at.1).collect();
        for key in keys {
            let Some(patience) = self.config.soft_ns else {
                plane.record_row(self.record_event(
                    event::PREEMPTED,
                    key,
                    (node, Some(link)),
                    None,
                ));
                self.drop_path(node, key, (PREEMPTED, link), plane);
                continue;
            };
            plane.record_row(self.record_event(
                event::SOFT_PREEMPTED,
                key,
                (node, Some(link)),
                None,
            ));
            self.pools[link as usize].release(key);
            if let Some(state) = self.states.get_mut(&(node, key)) {
                state.soft = true;
            }
            self.timers.set(plane.now() + patience, RsvpTimer::Overdue(node, key));
            self.report(node, key, (SOFT_PREEMPTED, link), plane);
        }
    }

    pub(super) fn end_soft_preemption(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, key)).filter(|state| state.soft) else { return };
        let Some(link) = state.out_link() else { return };
        plane.record_row(self.record_event(event::PREEMPTED, key, (node, Some(link)), None));
        self.drop_path(node, key, (PREEMPTED, link), plane);
    }
}
