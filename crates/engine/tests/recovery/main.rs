//! Failures and recovery against arithmetic by hand.

#[path = "../support/mod.rs"]
#[allow(unused_imports)]
mod support;

mod bench;
mod cut;
mod kinds;
mod ns2;
mod random;
mod rerouting;
mod reversion;
