//! Labels of LDP: the mappings that a node sends its peers, and the forwarding entries that follow.
//!
//! Source: RFC 5036 sections 2.6.1 (independent and ordered control), 2.6.2.2 (liberal retention),
//! 2.7 (use of a label: that of the next hop of the route), 3.5.7 to 3.5.11 (mapping, withdraw,
//! release), appendix A.1; RFC 3032 section 2.1 (implicit null to the node before the last).

use super::session::SessionState;
use super::{Body, FecState, Ldp, SessionEnd, FIRST_LABEL};
use crate::{ForwardingEntry, LabelBinding, NetworkPlane};

const IMPLICIT_NULL: u32 = 3;

/// Label of a FEC at a node: the FECs that are not the node itself are numbered in their order.
fn label(node: u32, fec: u32) -> u32 {
    match fec.cmp(&node) {
        std::cmp::Ordering::Equal => IMPLICIT_NULL,
        std::cmp::Ordering::Less => FIRST_LABEL + fec,
        std::cmp::Ordering::Greater => FIRST_LABEL + fec - 1,
    }
}

impl Ldp {
    /// Whether a node has a label to advertise for a FEC.
    fn has_label(&self, node: u32, fec: u32) -> bool {
        let binding = &self.bindings[node as usize][fec as usize];
        let is_mapped_by_peer = |line: &u32| {
            let peer = self.peers.get(&(node, self.lines[*line as usize].to));
            peer.is_some_and(|peer| peer.learnt.contains_key(&fec))
        };
        let mut routes = binding.routes.iter();
        node == fec
            || if self.config.ordered { routes.any(is_mapped_by_peer) } else { routes.len() > 0 }
    }

    /// Sends a peer the mapping or withdrawal of a FEC if it has changed.
    pub(super) fn advertise(&mut self, end: SessionEnd, fec: u32) {
        let (has, label) = (self.has_label(end.0, fec), label(end.0, fec));
        let Some(peer) = self.peers.get_mut(&end) else { return };
        if peer.state != SessionState::Operational || has == peer.advertised_fecs.contains(&fec) {
            return;
        }
        if has {
            peer.advertised_fecs.insert(fec);
            self.queue(end, Body::Mapping(fec, label));
        } else {
            peer.advertised_fecs.remove(&fec);
            self.queue(end, Body::Withdraw(fec, label));
        }
    }

    /// A message about a label.
    pub(super) fn on_label(&mut self, end: SessionEnd, body: Body, plane: &mut dyn NetworkPlane) {
        let Some(peer) = self.peers.get_mut(&end) else { return };
        match body {
            Body::Mapping(fec, label) => {
                peer.learnt.insert(fec, label);
                self.update(end.0, fec, plane);
            }
            Body::Withdraw(fec, label) => {
                peer.learnt.remove(&fec);
                self.queue(end, Body::Release(fec, label));
                self.update(end.0, fec, plane);
            }
            _ => {}
        }
    }

    /// Routes or labels of a FEC have changed at a node: its peers and its forwarding follow.
    pub(super) fn update(&mut self, node: u32, fec: u32, plane: &mut dyn NetworkPlane) {
        let peers: Vec<u32> =
            self.peers.range((node, 0)..=(node, u32::MAX)).map(|(end, _)| end.1).collect();
        for peer in peers {
            self.advertise((node, peer), fec);
        }
        let is_mapped_by_peer = |line: &u32| {
            let peer = self.peers.get(&(node, self.lines[*line as usize].to))?;
            peer.learnt.get(&fec).map(|label| (*line, *label))
        };
        let binding = &self.bindings[node as usize][fec as usize];
        let hops: Vec<(u32, u32)> = binding.routes.iter().filter_map(is_mapped_by_peer).collect();
        if hops == binding.hops {
            return;
        }
        self.changed.insert(node);
        let mut row = LabelBinding { node, fec, label: label(node, fec), hop: None };
        if hops.is_empty() {
            plane.record_labels(row);
        }
        for &hop in &hops {
            row.hop = Some(hop);
            plane.record_labels(row);
        }
        let old = std::mem::take(&mut self.bindings[node as usize][fec as usize]);
        let installed = [true, false].map(|pop| self.install(&hops, pop, plane));
        let number = |entries: &[u32]| entries.last().copied();
        plane.bind_label(node, label(node, fec), number(&installed[0]));
        let class = self.config.first_fec + fec as u16;
        plane.bind_class(node, class, &[], number(&installed[1]));
        for entry in old.installed.into_iter().flatten() {
            plane.withdraw(entry);
        }
        let binding = FecState { routes: old.routes, hops, installed };
        self.bindings[node as usize][fec as usize] = binding;
    }

    /// Entries of some next hops, and of the set of them if there are several; none for none.
    fn install(&self, hops: &[(u32, u32)], pop: bool, plane: &mut dyn NetworkPlane) -> Vec<u32> {
        let entry = |(line, label): &(u32, u32)| ForwardingEntry {
            link: Some(*line),
            pop,
            push: Some(*label).filter(|label| *label != IMPLICIT_NULL),
            path: self.path,
            ..ForwardingEntry::default()
        };
        let mut entries: Vec<u32> = hops.iter().map(|hop| plane.install(entry(hop))).collect();
        if entries.len() > 1 {
            entries.push(plane.install_set(&entries));
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3032 section 2.1: 0 to 15 are reserved, 3 asks the peer to pop. A node numbers the other
    /// nodes from 300,000 on without a gap, whatever its own place.
    #[test]
    fn rfc3032_s2_1_labels_of_the_other_nodes_follow_each_other() {
        for node in 0..5 {
            let labels: Vec<u32> = (0..5).map(|fec| label(node, fec)).collect();
            assert_eq!(labels[node as usize], 3);
            let others: Vec<u32> = labels.into_iter().filter(|label| *label != 3).collect();
            assert_eq!(others, [300_000, 300_001, 300_002, 300_003]);
        }
    }
}
