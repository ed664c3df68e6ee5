//! TCP against the RFCs, by hand, and against ns-2, over a network of one link.

mod application;
mod delivery;
mod hand;
mod linux;
mod ns2;
mod pinned;
mod pipe;
mod rfc2018;
mod rfc2883;
mod rfc3042;
mod rfc3168;
mod rfc3465;
mod rfc5681;
mod rfc6298;
mod rfc6582;
mod rfc6675;
mod rfc6937;
mod rfc7323;
mod rfc8257;
mod rfc8985;
mod rfc9406;
mod rfc9438;
