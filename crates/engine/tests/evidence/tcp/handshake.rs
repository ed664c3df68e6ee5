//! Connections that open by SYN and close by FIN.

use super::*;
use crate::support::{cbr, queue, schedule};
use trunkline_agent::tcp::{CongestionConfig, DelayedAck};
use trunkline_engine::network::Queue;
use trunkline_port::aqm::{AqmConfig, StepConfig, Unit};

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

/// RFC 3168 section 6.1.3 and RFC 7323 section 4.3: the FIN of a receiver that has put off its acknowledgement
/// is one. Its echo of a mark halves the window of ten, as does the counter of RFC 9768, and its time stamp is a
/// sample of the round trip. SYN and answer have 48 B: 20.096 ms. Five datagrams of 1 ms each go at 20 ms; the
/// segment of 1040 B at 20.096 ms waits for 4.904 ms behind them and the ACK, is marked, and its FIN is back at
/// 46.1 ms: R' = 26.1 ms, and SRTT = 7/8 R + 1/8 R' = 20.8 ms (RFC 6298 section 2.3).
#[test]
fn rfc3168_s6_1_3_a_fin_echoes_marks_and_times_as_an_acknowledgement_does() {
    for congestion in [CongestionConfig::default(), CongestionConfig::Prague(Default::default())] {
        let config = TcpConfig {
            connect: true,
            ecn: true,
            size_bytes: Some(1000),
            initial_window: 10.0,
            delayed_ack: Some(DelayedAck { timeout_ns: 40 * MS, every: 2, quick: 0 }),
            pacing: congestion != CongestionConfig::default(),
            congestion: congestion.clone(),
            ..tcp(Variant::Sack)
        };
        let mut lab = one_flow(config, 8 * MBIT, 10 * MS, 100);
        let step = StepConfig { threshold: 1500, unit: Unit::Bytes };
        lab.feed(0, fifo(Queue { aqm: AqmConfig::Step(step), ..queue(100, false) }));
        lab.flow("burst", "a", "b", schedule(&[(20 * MS, 1000); 5]));
        let [cwnd, srtt] =
            [Measure::Cwnd, Measure::Srtt].map(|measure| lab.probe(measure, 0, 100 * MS));
        lab.lasting(0, 100 * MS);
        let run = lab.run(1);
        assert_eq!(run.flow(0, "acks_sent"), 2.0, "{congestion:?}: the answer and the FIN");
        let [cwnd, srtt] = [cwnd, srtt].map(|probe| run.series(probe)[0].1);
        assert!(cwnd <= 5.5, "{congestion:?}: {cwnd}");
        assert!((0.0207..0.0210).contains(&srtt), "{congestion:?}: {srtt}");
    }
}
