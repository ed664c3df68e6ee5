//! Connections that open by SYN and close by FIN.

use super::*;
use crate::support::{cbr, queue};

/// 1 Gbit/s and 50 ms each way, a transfer of one segment.
fn short(config: TcpConfig) -> Lab {
    let config = TcpConfig { connect: true, size_bytes: Some(1000), ..config };
    one_flow(config, GBIT, 50 * MS, 1000)
}

/// RFC 9293 section 3.5: data go one round trip after the SYN. SYN and answer have 48 B, the ACK that
/// goes before the data 40, the data 1040: 0.384 us + 50 ms, again, 0.32 us, 8.32 us + 50 ms; and the
/// acknowledgement of 40 B, 0.32 us and 50 ms later.
#[test]
fn rfc9293_s3_5_a_transfer_takes_a_round_trip_more() {
    let run = short(tcp(Variant::NewReno)).run(1);
    let by_hand = 2 * 50_000_384 + 320 + 8_320 + 50 * MS + 320 + 50 * MS;
    assert_eq!(run.flow(0, "finished_ns"), by_hand as f64);
    // SYN, ACK, data, ACK of the FIN; the answer, the acknowledgement, the FIN.
    assert_eq!((run.flow(0, "packets_sent"), run.flow(0, "acks_sent")), (4.0, 3.0));
    assert_eq!(run.flow(0, "packets_delivered"), 4.0);
}

/// A queue that a datagram fills until 100 ms: the first SYN is lost. RFC 6298 (2.1): the next goes at
/// 1 s. RFC 5681 section 3.1: the first window is one segment then. RFC 6298 (5.7): and the timeout
/// 3 s. Linux 6.1 opens with ten segments, as only one was lost (`tcp_init_transfer`).
#[test]
fn rfc5681_s3_1_after_a_lost_syn_the_first_window_is_one_segment() {
    for (linux, first) in [(false, 1), (true, 10)] {
        let config = TcpConfig {
            initial_window: 10.0,
            connect: true,
            linux,
            timestamps: false,
            ..tcp(Variant::Sack)
        };
        let mut lab = Lab::chain(&["a", "b"], 10 * MBIT, 50 * MS);
        lab.feed(0, fifo(queue(10, false)));
        let noise = lab.flow("noise", "a", "b", cbr(100 * MBIT, 1000));
        lab.network.flows[noise].stop_ns = Some(100 * MS);
        let flow = lab.flow("tcp", "a", "b", Agent::Tcp(config));
        lab.network.flows[flow].start_ns = 50 * MS;
        lab.lasting(0, 2 * SECOND);
        let run = lab.trace(1);
        let sent = run.sent(flow);
        let syns: Vec<u64> = sent
            .iter()
            .filter(|(_, p)| p.flags & flag::BARE != 0 && p.seq == u32::MAX)
            .map(|(at, _)| *at)
            .collect();
        let again = if linux { 1_056 * MS } else { 1_050 * MS };
        assert_eq!(syns, [50 * MS, again]);
        let data = |(_, packet): &&(u64, trunkline_packet::Packet)| packet.flags & flag::BARE == 0;
        let opened = sent.iter().find(data).expect("data").0;
        let burst = sent.iter().filter(data).filter(|(at, _)| *at < opened + 10 * MS).count();
        assert_eq!(burst, first, "linux: {linux}");
        assert_eq!(run.flow(flow, "timeouts"), 1.0);
    }
}

/// RFC 9293 section 3.8.1: on a line that loses one packet in five, both ways, a hundred connections
/// open, deliver their bytes and close; those that give up are few.
#[test]
fn rfc9293_s3_8_1_connections_open_and_close_over_a_line_that_loses() {
    let mut lab = Lab::chain(&["a", "b"], 100 * MBIT, 5 * MS);
    lab.network.links.iter_mut().for_each(|link| link.loss = 0.2);
    for number in 0..100 {
        let config = TcpConfig { connect: true, size_bytes: Some(5000), ..tcp(Variant::NewReno) };
        lab.flow(&format!("tcp{number}"), "a", "b", Agent::Tcp(config));
    }
    lab.lasting(0, 300 * SECOND);
    let run = lab.run(1);
    let done = (0..100).filter(|flow| run.flow(*flow, "finished_ns") > 0.0).count();
    assert_eq!(done, 100);
}
