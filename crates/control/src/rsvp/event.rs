//! Events of label-switched paths: the words of the table `signalling`, by number.

/// Events of the table `signalling`, by number.
pub const EVENTS: [&str; 15] = [
    "asked",
    "up",
    "down",
    "moved",
    "torn",
    "refused",
    "no-route",
    "blocked",
    "preempted",
    "soft-preempted",
    "repaired",
    "timed-out",
    "lost",
    "protected",
    "reverted",
];

pub(crate) const REQUESTED: u8 = 0;
pub(crate) const UP: u8 = 1;
pub(crate) const DOWN: u8 = 2;
pub(crate) const REROUTED: u8 = 3;
pub(crate) const TORN_DOWN: u8 = 4;
pub(crate) const REQUEST_REFUSED: u8 = 5;
pub(crate) const NO_ROUTE: u8 = 6;
pub(crate) const BLOCKED: u8 = 7;
pub(crate) const PREEMPTED: u8 = 8;
pub(crate) const SOFT_PREEMPTED: u8 = 9;
pub(crate) const REPAIRED: u8 = 10;
pub(crate) const TIMED_OUT: u8 = 11;
pub(crate) const LOST: u8 = 12;
pub(crate) const PROTECTED: u8 = 13;
pub(crate) const REVERTED: u8 = 14;
