//! Failures and recovery against arithmetic by hand.

pub mod bench;
mod cut;
mod kinds;
mod ns2;
mod random;
mod rerouting;
mod reversion;
