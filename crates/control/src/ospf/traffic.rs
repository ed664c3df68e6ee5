//! Traffic engineering LSAs: what links offer, flooded like all other LSAs, and what nodes learn.
//!
//! Source: RFC 3630 sections 2.4 and 2.5, RFC 5250 section 3 (opaque LSAs of area scope, type 10),
//! RFC 2328 section 12.4 (`MinLSInterval`).
//! Differs: the LSA of a link that is down stays; a node passes over a link that one of the
//! router-LSAs at its ends does not list (RFC 2328 section 16.1), by its own database.

use super::lsa::{Adjacent, Content, Lsa, Offer};
use super::Ospf;
use crate::{Moment, News, Notice, Plane};
use std::sync::Arc;

impl Ospf {
    /// LSAs of the links and of the addresses of routers, as they are at the start.
    pub(super) fn offers(&self, nodes: u32) -> Vec<Lsa> {
        let Some(attributes) = &self.config.te else { return Vec::new() };
        let mut lsas: Vec<Lsa> = Vec::new();
        for ((line, its), te) in (0..).zip(&self.lines).zip(attributes) {
            let Some(back) = its.reverse else { continue };
            let offer = Offer {
                line: [line, back],
                to: its.to,
                metric: te.metric,
                rate_bit_s: its.rate_bit_s,
                reservable_bit_s: te.reservable_bit_s,
                unreserved: Arc::new([te.reservable_bit_s; 8]),
                colours: te.colours,
            };
            let (place, content) = (nodes + lsas.len() as u32, Content::Link(Arc::new(offer)));
            lsas.push(Lsa { place, origin: its.from, sequence: 0, content });
        }
        let first = nodes + lsas.len() as u32;
        let address = |node| {
            let (place, content) = (first + node, Content::Address);
            Lsa { place, origin: node, sequence: 0, content }
        };
        lsas.extend((0..nodes).map(address));
        lsas
    }

    /// The unreserved bandwidth of a link has changed: its node tells the others.
    pub fn offer(&mut self, line: u32, unreserved: Arc<[u64; 8]>, plane: &mut dyn Plane) {
        let Some(place) = self.place_of(line) else { return };
        self.unreserved.insert(place, unreserved);
        self.want(place, plane);
    }

    fn place_of(&self, line: u32) -> Option<u32> {
        let nodes = self.routers.len() as u32;
        let listed = |line: &u32| self.lines[*line as usize].reverse.is_some();
        let te = self.config.te.is_some() && listed(&line);
        te.then(|| nodes + (0..line).filter(listed).count() as u32)
    }

    /// The LSA of a link as it is now.
    pub(super) fn offered(&self, place: u32, before: &Content) -> Content {
        match (before, self.unreserved.get(&place)) {
            (Content::Link(offer), Some(unreserved)) => {
                let offer = Offer { unreserved: unreserved.clone(), ..offer.as_ref().clone() };
                Content::Link(Arc::new(offer))
            }
            _ => before.clone(),
        }
    }

    /// A node has a newer LSA of a link.
    pub(super) fn learn_offer(node: u32, old: &Offer, new: &Offer, plane: &mut dyn Plane) {
        if old.unreserved != new.unreserved {
            let news = News::Unreserved(new.unreserved.clone());
            plane.tell(Notice::Learnt { node, link: new.line[0], news });
        }
    }

    /// A node has a router-LSA with other neighbours: links are there that both ends list.
    pub(super) fn learn_links(
        &self,
        node: u32,
        old: &[Adjacent],
        new: &[Adjacent],
        plane: &mut dyn Plane,
    ) {
        if self.config.te.is_none() {
            return;
        }
        let database = &self.routers[node as usize].database;
        let lists = |links: &[Adjacent], line: u32| links.iter().any(|its| its.line == line);
        let changed = old.iter().filter(|its| !lists(new, its.line));
        for its in changed.chain(new.iter().filter(|its| !lists(old, its.line))) {
            let Some(back) = self.lines[its.line as usize].reverse else { continue };
            let up = lists(new, its.line) && lists(database[its.to as usize].links(), back);
            for link in [its.line, back] {
                plane.tell(Notice::Learnt { node, link, news: News::Up(up) });
            }
        }
    }

    pub(super) fn mark_origination(&self, lsa: &Lsa, plane: &mut dyn Plane) {
        match &lsa.content {
            Content::Link(offer) => {
                plane.mark(Moment::Offered, lsa.origin, Some(offer.line[0]));
            }
            _ => plane.mark(Moment::Originated, lsa.origin, None),
        }
    }
}
