//! Preemption: paths that give way to stronger ones.
//!
//! Source: RFC 3209 section 4.7.1 (priorities), RFC 5712 section 5 (soft preemption).

use super::message::{Key, PREEMPTED, SOFT_PREEMPTED};
use super::state::State;
use super::{event, Rsvp, Timer};
use crate::Plane;

impl Rsvp {
    /// Makes the paths of a session on a link give way.
    pub(super) fn preempt(&mut self, node: u32, link: u32, session: u32, plane: &mut dyn Plane) {
        let range = (node, Key::first(session))..=(node, Key::last(session));
        let on_link = |state: &State| state.reserved && state.out_link() == Some(link);
        let keys: Vec<Key> =
            self.states.range(range).filter(|(_, it)| on_link(it)).map(|(at, _)| at.1).collect();
        for key in keys {
            let Some(patience) = self.config.soft_ns else {
                plane.note(self.note(event::PREEMPTED, key, (node, Some(link)), None));
                self.drop_path(node, key, (PREEMPTED, link), plane);
                continue;
            };
            plane.note(self.note(event::SOFT_PREEMPTED, key, (node, Some(link)), None));
            self.pools[link as usize].release(key);
            if let Some(state) = self.states.get_mut(&(node, key)) {
                state.soft = true;
            }
            self.timers.set(plane.now() + patience, Timer::Overdue(node, key));
            self.report(node, key, (SOFT_PREEMPTED, link), plane);
        }
    }

    pub(super) fn overdue(&mut self, node: u32, key: Key, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)).filter(|state| state.soft) else { return };
        let Some(link) = state.out_link() else { return };
        plane.note(self.note(event::PREEMPTED, key, (node, Some(link)), None));
        self.drop_path(node, key, (PREEMPTED, link), plane);
    }
}
