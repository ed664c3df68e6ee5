//! Local repair: the node before a failure (PLR) sends a path over a backup, and PLR and merge point
//! keep the path's state alive by messages over it.
//!
//! Source: RFC 4090 sections 3 (one-to-one and facility backup), 4.4 (flags of the recorded route),
//! 6.4 (bypass tunnels: the label that the merge point recorded below that of the tunnel, Path
//! messages through the tunnel), 6.5 (the head is sent 25/3; local and global reversion), 7.1
//! (merge point).
//! Differs: messages over the backup are not acknowledged but refreshed; those back to the PLR take its
//! links backwards, since IP routing may still have the failed link. A node replies only for the link
//! before its neighbour. A node that the failure has isolated keeps its state for its lifetime.

use super::message::{
    BypassTunnel, Kind, PathKey, PathRequest, RsvpMessage, AVAILABLE, BANDWIDTH, IMPLICIT_NULL,
    IN_USE, NODE, REPAIRED,
};
use super::state::PathState;
use super::{event, Rsvp, RsvpTimer};
use crate::{ForwardingEntry, NetworkPlane};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A backup path in use.
#[derive(Clone, Debug)]
pub(super) struct LocalRepair {
    /// Bypass tunnel or detour that carries the path.
    carrier: PathKey,
    /// It is a bypass tunnel: there is one label more.
    tunnelled: bool,
    /// Place on the path's route where the two meet again.
    place: usize,
    /// Links of the backup.
    links: Arc<[u32]>,
    /// Its flags in the recorded route.
    flags: u8,
    /// Forwarding entry, once it is in use.
    pub entry: u32,
}

impl PathState {
    /// Whether its Path messages pass a bypass tunnel.
    pub(super) fn is_on_bypass(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.tunnelled)
    }
}

impl Rsvp {
    /// Whether `links` avoid a node between their ends.
    pub(super) fn avoids_node(&self, links: &[u32], node: u32) -> bool {
        let at = |link: &u32| {
            let line = &self.lines[*link as usize];
            line.from == node || line.to == node
        };
        !links.iter().any(at)
    }

    /// The backup that a path would take now around the link behind a node.
    fn backup(&self, node: u32, key: PathKey) -> Option<LocalRepair> {
        let state = self.states.get(&(node, key)).filter(|state| state.reserved)?;
        let desired = state.request.protection()?;
        let out = state.out_link()?;
        if desired.one_to_one {
            return self.detour_of(node, key, state).map(|(carrier, links, place)| {
                let flags = self.protection_flags(state, &links, self.bandwidth(node, carrier));
                LocalRepair { carrier, tunnelled: false, place, links, flags, entry: 0 }
            });
        }
        let back = self.lines[out as usize].reverse;
        let fits = |session: &u32| {
            let around = &self.heads[*session as usize].around;
            let (carrier, links) = (self.active(*session)?, self.route_of(*session)?);
            let passes = links.contains(&out) || back.is_some_and(|back| links.contains(&back));
            let end = self.ends(*session).1;
            let route = &state.request.route;
            let behind = |place: &usize| self.lines[route[place - 1] as usize].to == end;
            let place = (state.hop + 1..=route.len()).find(behind)?;
            let usable = around.contains(&out) && !passes && self.label_at(state, end).is_some();
            let flags = self.protection_flags(state, &links, self.bandwidth(node, carrier));
            usable.then_some(LocalRepair {
                carrier,
                tunnelled: true,
                place,
                links,
                flags,
                entry: 0,
            })
        };
        let candidates = self.bypasses.get(&node)?.iter().filter_map(fits);
        // Around the node if that is wanted, then with bandwidth, then to the nearest merge point.
        let wanted_flags =
            if desired.node { NODE } else { 0 } | if desired.bandwidth { BANDWIDTH } else { 0 };
        candidates.min_by_key(|candidate| {
            (std::cmp::Reverse(candidate.flags & wanted_flags), candidate.place)
        })
    }

    fn bandwidth(&self, node: u32, key: PathKey) -> u64 {
        self.states.get(&(node, key)).map_or(0, |state| state.request.bandwidth)
    }

    /// The flags of a backup in the recorded route.
    fn protection_flags(&self, state: &PathState, links: &[u32], bandwidth: u64) -> u8 {
        let next = state.out_link().map(|link| self.lines[link as usize].to);
        let around = next.is_some_and(|next| self.avoids_node(links, next));
        let enough = state.request.desired.is_some_and(|desired| desired.bandwidth)
            && bandwidth >= state.request.bandwidth;
        AVAILABLE | if around { NODE } else { 0 } | if enough { BANDWIDTH } else { 0 }
    }

    /// Label that a node behind has advertised to the one before it.
    fn label_at(&self, state: &PathState, node: u32) -> Option<u32> {
        state.record.iter().find(|recorded| recorded.node == node).map(|recorded| recorded.label)
    }

    /// Flags of a path at a node.
    pub(super) fn flags(&self, node: u32, key: PathKey) -> u8 {
        let used = self.states.get(&(node, key)).and_then(|state| state.repair.as_ref());
        match used {
            Some(repair) => repair.flags | IN_USE,
            None => self.backup(node, key).map_or(0, |backup| backup.flags),
        }
    }

    /// A node checks whether the protection of a path has changed, and reports a change to the nodes
    /// before it.
    pub(super) fn update_protection_flags(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        let flags = self.flags(node, key);
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        if !state.reserved || state.request.protection().is_none() {
            return;
        }
        let changed = std::mem::replace(&mut state.flags, flags) != flags;
        if state.hop > 0 {
            if changed {
                self.resend_resv(node, key, plane);
            }
            return;
        }
        // The tail protects no link.
        let behind = state.record.split_last().map_or(&[][..], |split| split.1);
        let covered =
            flags & AVAILABLE > 0 && behind.iter().all(|split| split.flags & AVAILABLE > 0);
        if covered && !std::mem::replace(&mut state.covered, covered) {
            plane.record_row(self.record_event(event::PROTECTED, key, (node, None), None));
        } else {
            state.covered = covered;
        }
    }

    /// Checks the protection of every path at a node.
    fn update_all_protection_flags(&mut self, node: u32, plane: &mut dyn NetworkPlane) {
        let range = (node, PathKey::first(0))..=(node, PathKey::last(u32::MAX));
        let guarded = |state: &PathState| state.request.protection().is_some();
        let keys: Vec<PathKey> =
            self.states.range(range).filter(|(_, it)| guarded(it)).map(|(at, _)| at.1).collect();
        for key in keys {
            self.update_protection_flags(node, key, plane);
        }
    }

    /// A bypass tunnel is up: its first node can protect more.
    pub(super) fn offer_bypass(&mut self, key: PathKey, plane: &mut dyn NetworkPlane) {
        if !self.heads[key.session as usize].around.is_empty() {
            self.update_all_protection_flags(key.sender, plane);
        }
    }

    /// Sends a path over a backup around the failed link behind a node; false if there is none.
    pub(super) fn repair(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) -> bool {
        let Some(mut repair) = self.backup(node, key) else { return false };
        let Some(entry) = self.entry_around(node, key, &repair) else { return false };
        let Some(state) = self.states.get_mut(&(node, key)) else { return false };
        let (label, out) = (state.label, state.out_link());
        repair.entry = plane.install(entry);
        let before = state.repair.replace(repair.clone());
        self.redirect_packets(node, key, label, repair.entry, plane);
        if let Some(before) = before {
            plane.withdraw(before.entry);
        }
        plane.record_row(self.record_event(event::REPAIRED, key, (node, out), None));
        if self.states[&(node, key)].is_on_bypass() {
            self.send_around(node, key, Kind::Path, plane);
            if self.config.summary {
                let at = plane.now() + self.refresh_span(node);
                self.timers.set(at, RsvpTimer::Refresh(node, key, Kind::Path));
            }
        }
        self.update_protection_flags(node, key, plane);
        if let Some(out) = out {
            self.report(node, key, (REPAIRED, out), plane);
        }
        true
    }

    /// The entry that sends a path's packets over their backup: into a bypass tunnel with the label of
    /// the merge point below, or into a detour.
    fn entry_around(
        &self,
        node: u32,
        key: PathKey,
        repair: &LocalRepair,
    ) -> Option<ForwardingEntry> {
        let state = self.states.get(&(node, key))?;
        let carrier = self.states.get(&(node, repair.carrier))?;
        let (own, other) = (key.session, repair.carrier.session);
        let last = self.lines[*repair.links.last()? as usize].to;
        let labels =
            [Some(carrier.label_out), self.label_at(state, last).filter(|_| repair.tunnelled)];
        let [push, inner] = labels.map(|label| label.filter(|label| *label != IMPLICIT_NULL));
        let (head, bypass) = (&self.heads[own as usize], &self.heads[other as usize]);
        let [on, off] = head.diffserv;
        let bare = push.is_none() && inner.is_none();
        Some(ForwardingEntry {
            link: carrier.out_link(),
            pop: state.hop > 0,
            inner,
            push,
            pipe: if state.hop > 0 { bypass.pipe } else { head.pipe },
            diffserv: [on.filter(|_| state.hop == 0), off.filter(|_| bare && state.hop > 0)],
            path: bypass.path.unwrap_or(0),
            closed: false,
        })
    }

    /// Makes packets of a path at a node take a forwarding entry.
    fn redirect_packets(
        &self,
        node: u32,
        key: PathKey,
        label: Option<u32>,
        entry: u32,
        plane: &mut dyn NetworkPlane,
    ) {
        match label.filter(|label| *label > IMPLICIT_NULL) {
            Some(label) => plane.bind_label(node, label, Some(entry)),
            None if self.active(key.session) == Some(key) && node == key.sender => {
                for (fec, dscps) in &self.heads[key.session as usize].classes {
                    plane.bind_class(node, *fec, dscps, Some(entry));
                }
            }
            None => {}
        }
    }

    /// Sends a message about a repaired path through its bypass tunnel to the merge point.
    pub(super) fn send_around(
        &mut self,
        node: u32,
        key: PathKey,
        kind: Kind,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get(&(node, key)) else { return };
        let Some(repair) = &state.repair else { return };
        let carrier =
            self.states.get(&(node, repair.carrier)).and_then(|carrier_state| carrier_state.entry);
        let Some((entry, _)) = carrier else { return };
        let reverse = |link: &u32| self.lines[*link as usize].reverse.unwrap_or(*link);
        let (request, hop): (Arc<PathRequest>, _) = (state.request.clone(), state.hop);
        let heard = request.route[repair.place - 1];
        let mp = self.lines[heard as usize].to;
        let back = repair.links.iter().rev().map(reverse).collect();
        let tunnel = Arc::new(BypassTunnel { plr: node, mp, hop, back });
        let mut message = RsvpMessage::for_path(kind, key, request, repair.place);
        message.tunnel = Some(tunnel);
        plane.tunnel(entry, heard, self.make_packet(message, [node, mp]));
    }

    /// Informs the merge point that a repaired path is torn down; returns whether it was repaired.
    pub(super) fn tear_around(
        &mut self,
        node: u32,
        key: PathKey,
        plane: &mut dyn NetworkPlane,
    ) -> bool {
        let around = self.states.get(&(node, key)).is_some_and(PathState::is_on_bypass);
        if around {
            self.send_around(node, key, Kind::PathTear, plane);
        }
        around
    }

    /// Links that a bypass tunnel around these must not take: they, and all of the nodes between.
    pub(super) fn forbidden_links(&self, around: &[u32]) -> BTreeSet<u32> {
        let line = |link: &u32| &self.lines[*link as usize];
        let into: BTreeSet<u32> = around.iter().map(|link| line(link).to).collect();
        let between: BTreeSet<u32> =
            around.iter().map(|link| line(link).from).filter(|node| into.contains(node)).collect();
        let shunned = |link: &u32| {
            let link_ends = line(link);
            let same = |one: &u32| one == link || line(one).reverse == Some(*link);
            around.iter().any(same)
                || between.contains(&link_ends.from)
                || between.contains(&link_ends.to)
        };
        if around.is_empty() {
            return BTreeSet::new();
        }
        (0..self.lines.len() as u32).filter(shunned).collect()
    }

    /// The backup that messages from a node about a path take.
    pub(super) fn tunnel_of(&self, node: u32, key: PathKey) -> Option<Arc<BypassTunnel>> {
        self.states.get(&(node, key))?.tunnel.clone()
    }

    /// A Path has arrived over a backup: the merge point replies over it.
    pub(super) fn join_at_merge_point(
        &mut self,
        node: u32,
        key: PathKey,
        tunnel: Arc<BypassTunnel>,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let known =
            state.tunnel.as_ref().is_some_and(|known_tunnel| known_tunnel.plr == tunnel.plr);
        state.tunnel = Some(tunnel);
        if known {
            return;
        }
        if self.config.summary {
            let at = plane.now() + self.refresh_span(node);
            self.timers.set(at, RsvpTimer::Refresh(node, key, Kind::Resv));
        }
        self.resend_resv(node, key, plane);
    }

    /// A Path has arrived from the node before, as before the failure.
    pub(super) fn restore_sender(&mut self, node: u32, key: PathKey, plane: &mut dyn NetworkPlane) {
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        if !std::mem::take(&mut state.orphan) && state.tunnel.is_none() {
            return;
        }
        // Both the node before and the one that repaired the path have to know (section 7.1).
        if let Some(message) = self.describe(node, key, Kind::Resv) {
            self.send_up(RsvpMessage { tunnel: None, ..message }, plane);
        }
    }

    /// A PathTear has arrived: a merge point keeps the path while it has another sender.
    pub(super) fn on_path_tear_at_merge_point(
        &mut self,
        node: u32,
        message: &RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) {
        let key = message.key;
        let merges = self.merges_detour(node, key);
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let around = message.tunnel.is_some();
        let stays = if around { !state.orphan } else { state.tunnel.is_some() || merges };
        if around {
            state.tunnel = None;
        } else {
            state.orphan = true;
        }
        if !stays {
            self.on_path_tear(node, key, plane);
        }
    }

    /// A Resv has arrived for an existing reservation.
    pub(super) fn on_resv_again(
        &mut self,
        node: u32,
        message: &RsvpMessage,
        plane: &mut dyn NetworkPlane,
    ) {
        let key = message.key;
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let changed = state.record != message.record;
        if changed {
            state.record.clone_from(&message.record);
            for each in self.merged(node, key) {
                self.answer_merged(node, each, plane);
            }
        }
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let back = state.out_link().and_then(|out| self.lines[out as usize].reverse);
        let link_is_up = back.is_none_or(|back| !self.down.contains(&(node, back)));
        if state.repair.is_some() && message.tunnel.is_none() && link_is_up {
            self.revert(node, key, message.label, plane);
        } else if changed && state.hop > 0 {
            let flags = self.flags(node, key);
            self.states.entry((node, key)).and_modify(|state| state.flags = flags);
            self.resend_resv(node, key, plane);
        } else if changed {
            self.update_protection_flags(node, key, plane);
        }
    }

    /// The link behind the node is up again and the path behind it too: packets return to it (section
    /// 6.5.2, local reversion).
    fn revert(&mut self, node: u32, key: PathKey, label: u32, plane: &mut dyn NetworkPlane) {
        self.tear_around(node, key, plane);
        let Some(state) = self.states.get_mut(&(node, key)) else { return };
        let Some(repair) = state.repair.take() else { return };
        if state.label_out != label {
            state.label_out = label;
            let before = state.entry.take();
            self.install_forwarding(node, key, plane);
            if let Some((entry, true)) = before {
                plane.withdraw(entry);
            }
        }
        let state = &self.states[&(node, key)];
        let (label, out) = (state.label, state.out_link());
        if let Some((entry, _)) = state.entry {
            self.redirect_packets(node, key, label, entry, plane);
        }
        plane.withdraw(repair.entry);
        plane.record_row(self.record_event(event::REVERTED, key, (node, out), None));
        self.update_protection_flags(node, key, plane);
    }

    /// A link is up again: repaired paths are signalled over it, so that they can revert.
    pub(super) fn regain_link(
        &mut self,
        node: u32,
        link: u32,
        back: Option<u32>,
        plane: &mut dyn NetworkPlane,
    ) {
        for key in self.paths_over_link(node, link, back) {
            let Some(state) = self.states.get(&(node, key)) else { continue };
            if state.out_link() == back && state.repair.is_some() {
                let message = self.describe(node, key, Kind::Path);
                if let (Some(message), Some(out)) = (message, back) {
                    self.send(out, message, plane);
                }
            }
        }
    }

    /// The backup of repaired paths at a node has ended: they take another one, or end.
    pub(super) fn on_lost_carrier(
        &mut self,
        node: u32,
        carrier: PathKey,
        plane: &mut dyn NetworkPlane,
    ) {
        if self.heads[carrier.session as usize].around.is_empty() {
            return;
        }
        let range = (node, PathKey::first(0))..=(node, PathKey::last(u32::MAX));
        let rides = |state: &PathState| {
            state.repair.as_ref().is_some_and(|repair| repair.carrier == carrier)
        };
        let keys: Vec<PathKey> =
            self.states.range(range).filter(|(_, it)| rides(it)).map(|(at, _)| at.1).collect();
        for key in keys {
            if !self.repair(node, key, plane) {
                self.drop_repaired_path(node, key, plane);
            }
        }
        self.update_all_protection_flags(node, plane);
    }
}
