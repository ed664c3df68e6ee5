//! Traffic engineering LSAs: attributes of links, flooded as all other LSAs, and the databases built
//! from them.
//!
//! Source: RFC 3630 sections 2.4 and 2.5, RFC 5250 section 3 (opaque LSAs of area scope, type 10),
//! RFC 2328 section 12.4 (`MinLSInterval`).
//! Differs: the LSA of a link that is down stays; a node ignores a link that one of the router-LSAs at
//! its ends does not list (RFC 2328 section 16.1), by its own database.

use super::lsa::{Lsa, LsaContent, RouterLink, TeLink};
use super::Ospf;
use crate::{LinkNews, NetworkPlane, ProtocolNotice, RoutingEvent};
use std::sync::Arc;

impl Ospf {
    /// LSAs of the links and of the addresses of routers, at the start.
    pub(super) fn initial_te_lsas(&self, nodes: u32) -> Vec<Lsa> {
        let Some(attributes) = &self.config.te else { return Vec::new() };
        let mut lsas: Vec<Lsa> = Vec::new();
        for ((line, link), te) in (0..).zip(&self.lines).zip(attributes) {
            let Some(back) = link.reverse else { continue };
            let offer = TeLink {
                line: [line, back],
                to: link.to,
                metric: te.metric,
                rate_bit_s: link.rate_bit_s,
                reservable_bit_s: te.reservable_bit_s,
                unreserved: Arc::new(te.unreserved_bit_s.unwrap_or([te.reservable_bit_s; 8])),
                colours: te.colours,
            };
            let (place, content) = (nodes + lsas.len() as u32, LsaContent::Link(Arc::new(offer)));
            lsas.push(Lsa { place, origin: link.from, sequence: 0, content });
        }
        let first = nodes + lsas.len() as u32;
        let address = |node| {
            let (place, content) = (first + node, LsaContent::Address);
            Lsa { place, origin: node, sequence: 0, content }
        };
        lsas.extend((0..nodes).map(address));
        lsas
    }

    /// The unreserved bandwidth of a link has changed: its node advertises it.
    pub fn update_te_link(
        &mut self,
        line: u32,
        unreserved: Arc<[u64; 8]>,
        plane: &mut dyn NetworkPlane,
    ) {
        let Some(place) = self.place_of(line) else { return };
        self.unreserved.insert(place, unreserved);
        self.schedule_origination(place, plane);
    }

    fn place_of(&self, line: u32) -> Option<u32> {
        let nodes = self.routers.len() as u32;
        let listed = |line: &u32| self.lines[*line as usize].reverse.is_some();
        let te = self.config.te.is_some() && listed(&line);
        te.then(|| nodes + (0..line).filter(listed).count() as u32)
    }

    /// The current LSA of a link.
    pub(super) fn current_te_lsa(&self, place: u32, before: &LsaContent) -> LsaContent {
        match (before, self.unreserved.get(&place)) {
            (LsaContent::Link(offer), Some(unreserved)) => {
                let offer = TeLink { unreserved: unreserved.clone(), ..offer.as_ref().clone() };
                LsaContent::Link(Arc::new(offer))
            }
            _ => before.clone(),
        }
    }

    /// A node has a newer LSA of a link.
    pub(super) fn learn_te_link(
        node: u32,
        old: &TeLink,
        new: &TeLink,
        plane: &mut dyn NetworkPlane,
    ) {
        if old.unreserved != new.unreserved {
            let news = LinkNews::Unreserved(new.unreserved.clone());
            plane.notify_protocols(ProtocolNotice::Learnt { node, link: new.line[0], news });
        }
    }

    /// A node has a router-LSA with other neighbours: links are there that both ends list.
    pub(super) fn learn_links(
        &self,
        node: u32,
        old: &[RouterLink],
        new: &[RouterLink],
        plane: &mut dyn NetworkPlane,
    ) {
        if self.config.te.is_none() {
            return;
        }
        let database = &self.routers[node as usize].database;
        let lists =
            |links: &[RouterLink], line: u32| links.iter().any(|adjacent| adjacent.line == line);
        let changed = old.iter().filter(|adjacent| !lists(new, adjacent.line));
        for adjacent in changed.chain(new.iter().filter(|adjacent| !lists(old, adjacent.line))) {
            let Some(back) = self.lines[adjacent.line as usize].reverse else { continue };
            let up =
                lists(new, adjacent.line) && lists(database[adjacent.to as usize].links(), back);
            for link in [adjacent.line, back] {
                plane.notify_protocols(ProtocolNotice::Learnt {
                    node,
                    link,
                    news: LinkNews::Up(up),
                });
            }
        }
    }

    pub(super) fn mark_origination(&self, lsa: &Lsa, plane: &mut dyn NetworkPlane) {
        match &lsa.content {
            LsaContent::Link(offer) => {
                plane.record_routing_event(RoutingEvent::Offered, lsa.origin, Some(offer.line[0]));
            }
            _ => plane.record_routing_event(RoutingEvent::Originated, lsa.origin, None),
        }
    }
}
