//! Workloads: transfers that come and go as users request them.
//!
//! `open.rs` has transfers that arrive whatever the network does (open loop); `pages.rs` has users who
//! wait for their requests, `video.rs` players of films (closed loop). `sizes.rs` draws sizes. All are
//! state machines: time and random streams in, requests and the time of the next event out.

mod config;
mod open;
mod pages;
mod sizes;
#[cfg(test)]
mod tests;
mod video;

pub use config::{OpenConfig, PagesConfig, Rule, Times, TransferGaps, TransferSizes, VideoConfig};
pub use open::OpenSource;
pub use pages::{CompletedPage, Pages, Request};
pub use sizes::{SizeLaw, LARGEST_TRANSFER};
pub use video::{chunk_bytes, Video, Viewing};
