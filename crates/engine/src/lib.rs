//! The packet engine.
pub mod network;
