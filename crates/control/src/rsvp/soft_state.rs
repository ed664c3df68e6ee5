//! Soft state: what refreshes it, and what ends it without a message.
//!
//! Source: RFC 2205 section 3.7 (refresh and lifetime), RFC 4090 section 6.5.2 (a repaired path keeps
//! its state, and its head is told).
//! Differs: a node that lost the link before it tears what is behind it at once.

use super::message::{Key, Kind, NO_ROUTE, REPAIRED};
use super::state::State;
use super::{event, Rsvp, Timer};
use crate::Plane;
use trunkline_units::NEVER;

impl Rsvp {
    /// Refreshes a state at a neighbour.
    pub(super) fn refresh(&mut self, node: u32, key: Key, kind: Kind, plane: &mut dyn Plane) {
        let Some(message) = self.describe(node, key, kind) else { return };
        let route = &self.states[&(node, key)].request.route;
        let link = match kind {
            Kind::Path => Some(route[message.hop - 1]),
            _ => self.lines[route[message.hop] as usize].reverse,
        };
        if let Some(link) = link {
            self.transmit(link, message, plane);
        }
        let at = plane.now() + self.refresh_span(node);
        self.timers.set(at, Timer::Refresh(node, key, kind));
    }

    /// A state's time may be over.
    pub(super) fn expire(&mut self, node: u32, key: Key, kind: Kind, plane: &mut dyn Plane) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let until = if kind == Kind::Path { state.path_until } else { state.resv_until };
        if until > plane.now() {
            if until != NEVER {
                self.timers.set(until, Timer::Expire(node, key, kind));
            }
            return;
        }
        plane.note(self.note(event::TIMED_OUT, key, (node, state.out_link()), None));
        match (kind, state.out_link()) {
            (Kind::Resv, Some(_)) => self.unreserve(node, key, plane),
            _ => self.on_path_tear(node, key, plane),
        }
    }

    /// A node notices that a link to it has gone down, with the one back, or come up.
    pub fn link_changed(&mut self, node: u32, link: u32, down: bool, plane: &mut dyn Plane) {
        let at = (node, link);
        if down != self.down.contains(&at) {
            let _ = if down { self.down.insert(at) } else { self.down.remove(&at) };
            let news = plane.now() + self.config.flooding_ns;
            let back = self.lines[link as usize].reverse;
            for each in [Some(link), back].into_iter().flatten() {
                self.timers.set(news, Timer::News(each, Some(!down), [0; 8]));
            }
            if down {
                self.lose_link(node, link, back, plane);
            }
        }
    }

    fn lose_link(&mut self, node: u32, link: u32, back: Option<u32>, plane: &mut dyn Plane) {
        let range =
            (node, Key { session: 0, lsp: 0 })..=(node, Key { session: u32::MAX, lsp: u16::MAX });
        let hit = |state: &State| state.in_link() == Some(link) || state.out_link() == back;
        let keys: Vec<Key> =
            self.states.range(range).filter(|(_, it)| hit(it)).map(|(at, _)| at.1).collect();
        for key in keys {
            let Some(state) = self.states.get(&(node, key)) else { continue };
            let session = &self.heads[key.session as usize];
            let before = state.in_link() == Some(link);
            let lost = if before { link } else { back.unwrap_or(link) };
            let compiled = state.entry.is_some_and(|entry| !entry.1) || state.out_link().is_none();
            let repaired = key.lsp == 1 && compiled && session.protected.contains(&lost);
            match (repaired, before) {
                (true, true) => {}
                (true, false) => {
                    plane.note(self.note(event::REPAIRED, key, (node, Some(lost)), None));
                    self.report(node, key, (REPAIRED, lost), plane);
                }
                (false, true) => self.on_path_tear(node, key, plane),
                (false, false) => self.drop_path(node, key, (NO_ROUTE, lost), plane),
            }
        }
    }
}
