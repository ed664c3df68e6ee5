//! LSAs: their contents, and their places in a database.
//!
//! Source: RFC 2328 section 12.4.1 (router-LSA), RFC 3630 section 2.4 (traffic engineering LSAs:
//! one with the address of a router, one for each of its links).
//! A database has a place for each possible LSA: those of the routers, then, with traffic engineering,
//! those of the links with both directions, then those of the routers' addresses.

use std::sync::Arc;

/// A link in a router-LSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterLink {
    /// The one-way link.
    pub line: u32,
    /// The neighbour.
    pub to: u32,
    /// Cost.
    pub metric: u64,
}

/// Content of a traffic engineering LSA for a link (RFC 3630 section 2.5).
#[derive(Clone, Debug)]
pub struct TeLink {
    /// The one-way link, and the one back.
    pub line: [u32; 2],
    /// The neighbour.
    pub to: u32,
    /// Traffic engineering metric.
    pub metric: u32,
    /// Capacity [bit/s].
    pub rate_bit_s: u64,
    /// Maximum reservable bandwidth [bit/s].
    pub reservable_bit_s: u64,
    /// Unreserved bandwidth by priority [bit/s].
    pub unreserved: Arc<[u64; 8]>,
    /// Administrative groups, a bit each.
    pub colours: u32,
}

/// Content of an LSA.
#[derive(Clone, Debug)]
pub enum LsaContent {
    /// Links to neighbours.
    Router(Arc<Vec<RouterLink>>),
    /// Address of the router.
    Address,
    /// Attributes of a link for traffic engineering.
    Link(Arc<TeLink>),
}

impl LsaContent {
    /// Whether it has the same attributes of a link as before.
    pub fn has_same_offer(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Link(new), Self::Link(old)) => new.unreserved == old.unreserved,
            _ => false,
        }
    }
}

/// A link-state advertisement.
#[derive(Clone, Debug)]
pub struct Lsa {
    /// Its place in a database.
    pub place: u32,
    /// Node it is of.
    pub origin: u32,
    /// Number of the instance, from 0.
    pub sequence: u32,
    /// Its content.
    pub content: LsaContent,
}

impl Lsa {
    /// Links to neighbours; none unless it is a router-LSA.
    pub fn links(&self) -> &[RouterLink] {
        match &self.content {
            LsaContent::Router(links) => links,
            LsaContent::Address | LsaContent::Link(_) => &[],
        }
    }
}
