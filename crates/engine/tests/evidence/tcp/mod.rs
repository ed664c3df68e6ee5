//! TCP through the engine: what the RFCs and the models of throughput say of whole connections.

mod fairness;
mod handshake;
mod models;
mod recovery;
mod timing;

use crate::support::*;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::{Agent, Measure, Scripted};
use trunkline_packet::flag;

/// A flow over one link of `rate_bit_s` and `delay_ns` each way, behind a queue of `packets`.
fn one_flow(config: TcpConfig, rate_bit_s: u64, delay_ns: u64, packets: u32) -> Lab {
    let mut lab = Lab::chain(&["a", "b"], rate_bit_s, delay_ns);
    lab.feed(0, fifo(queue(packets, false)));
    lab.flow("tcp", "a", "b", Agent::Tcp(config));
    lab
}

/// Times and numbers of the segments sent again.
fn resent(run: &Outcome) -> Vec<(u64, u32)> {
    let again = |packet: &trunkline_packet::Packet| packet.flags & flag::RETRANSMISSION != 0;
    run.sent(0).iter().filter(|(_, packet)| again(packet)).map(|(at, p)| (*at, p.seq)).collect()
}
