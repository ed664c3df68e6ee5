//! Label-switched paths, signalled by hand: labels are chosen by each downstream node.

use super::Lab;
use trunkline_engine::network::{Ftn, Ilm, Nhlfe, Path, Ttl};
use trunkline_packet::label::EXPLICIT_NULL;

/// How a path's last label comes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// By the node before the last: penultimate hop popping (RFC 3031 section 3.16).
    Penultimate,
    /// By the last node, which looks its own label up.
    Ultimate,
    /// By the last node; the label on the last link is explicit null (RFC 3032 section 2.1).
    ExplicitNull,
}

/// A label-switched path.
#[derive(Clone, Copy, Debug)]
pub struct Tunnel<'a> {
    /// Its nodes, ingress to egress.
    pub route: &'a [&'a str],
    /// Label on its first link; each next link has the next number.
    pub first_label: u32,
    pub removal: Removal,
    pub ttl: Ttl,
}

impl Tunnel<'_> {
    /// Labels by link of the route; none where the packet goes unlabelled.
    fn labels(&self) -> Vec<Option<u32>> {
        let hops = self.route.len() - 1;
        let mut labels: Vec<_> = (0..hops as u32).map(|hop| Some(self.first_label + hop)).collect();
        match self.removal {
            Removal::Penultimate => labels[hops - 1] = None,
            Removal::Ultimate => {}
            Removal::ExplicitNull => labels[hops - 1] = Some(EXPLICIT_NULL),
        }
        labels
    }
}

impl Lab {
    /// Lays a path; returns its index and the NHLFE of its ingress.
    pub fn tunnel(&mut self, tunnel: &Tunnel) -> (u32, u32) {
        let path = self.network.paths.len() as u32;
        let labels = tunnel.labels();
        let links: Vec<u32> =
            tunnel.route.windows(2).map(|pair| self.between(pair[0], pair[1])).collect();
        self.network.paths.push(Path {
            name: format!("path{path}"),
            links: links.clone(),
            account: false,
        });
        let entry = self.nhlfe(Nhlfe {
            link: Some(links[0]),
            pop: false,
            push: labels[0].into_iter().collect(),
            ttl: tunnel.ttl,
            path,
            ..Nhlfe::default()
        });
        for (hop, &incoming) in labels.iter().enumerate() {
            // Every node pops explicit null in the uniform model without a message.
            let has_tunnel_label =
                |label: &u32| *label != EXPLICIT_NULL || tunnel.ttl != Ttl::Uniform;
            let Some(label) = incoming.filter(has_tunnel_label) else { continue };
            let next = labels.get(hop + 1);
            let nhlfe = self.nhlfe(Nhlfe {
                link: next.map(|_| links[hop + 1]),
                pop: true,
                push: next.copied().flatten().into_iter().collect(),
                ttl: tunnel.ttl,
                path,
                ..Nhlfe::default()
            });
            let node = self.node(tunnel.route[hop + 1]);
            self.network.ilm.push(Ilm { node, label, nhlfe });
        }
        (path, entry)
    }

    /// Adds an NHLFE; its index.
    pub fn nhlfe(&mut self, nhlfe: Nhlfe) -> u32 {
        self.network.nhlfe.push(nhlfe);
        self.network.nhlfe.len() as u32 - 1
    }

    /// Binds a forwarding equivalence class to an NHLFE at a node.
    pub fn bind(&mut self, node: &str, fec: u16, nhlfe: u32) {
        let node = self.node(node);
        self.network.ftn.push(Ftn { node, fec, nhlfe, dscps: vec![] });
    }

    /// Sends a flow's data into a path at the path's first node.
    pub fn carry(&mut self, flow: usize, tunnel: &Tunnel) -> u32 {
        let (path, entry) = self.tunnel(tunnel);
        let fec = path as u16 + 1;
        self.network.flows[flow].fec = fec;
        self.bind(tunnel.route[0], fec, entry);
        path
    }
}
