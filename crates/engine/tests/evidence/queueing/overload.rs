//! Constant rates: what is known packet by packet.

use super::*;

/// D/D/1 at rho <= 1: a packet leaves before, or as, the next one comes.
#[test]
fn d_d_1_packets_never_wait_up_to_a_load_of_one() {
    for rate in [RATE / 2, 7_999_999, RATE] {
        let mut lab = Lab::server(RATE, fifo(queue(1, true)));
        lab.flow("cbr", "a", "b", cbr(rate, 1000));
        lab.lasting(0, 60 * SECOND);
        let run = lab.run(1);
        assert_eq!(run.port(0, "wait_max_ns"), 0.0, "at {rate} bit/s");
        assert_eq!(run.port(0, "packets_dropped"), 0.0);
        assert!(run.port(0, "packets_offered") > 29_000.0);
    }
}

/// CBR at 5/4 of the line: a share 1 - 4/5 is lost. The line sends 1000 packets/s without a pause,
/// so of 1250 t offered at most 1000 t + 1 + limit get in: exact but for the packets inside.
#[test]
fn cbr_overload_loses_one_minus_capacity_over_rate() {
    for (limit, counts_in_service) in [(2, true), (10, true), (1, false), (100, false)] {
        let mut lab = Lab::server(RATE, fifo(queue(limit, counts_in_service)));
        lab.flow("cbr", "a", "b", cbr(RATE * 5 / 4, 1000));
        lab.lasting(10 * SECOND, 110 * SECOND);
        let run = lab.run(1);
        // From 10 s to 110 s, instants included: 125,000 offered, 100,000 sent.
        let (offered, sent) = (run.port(0, "packets_offered"), run.port(0, "packets_sent"));
        let dropped = run.port(0, "packets_dropped");
        assert!((offered - 125_000.0).abs() <= 1.0, "{offered}");
        assert!((dropped - 25_000.0).abs() <= 1.0, "{dropped}");
        assert!((sent - 100_000.0).abs() <= 1.0, "{sent}");
    }
}

/// With no room for a waiting packet the line idles until the next arrival: services start every
/// 2 * 0.8 = 1.6 ms and every second packet is lost.
#[test]
fn cbr_overload_without_a_waiting_room_loses_every_second_packet() {
    for (limit, counts_in_service) in [(1, true), (0, false)] {
        let mut lab = Lab::server(RATE, fifo(queue(limit, counts_in_service)));
        lab.flow("cbr", "a", "b", cbr(RATE * 5 / 4, 1000));
        lab.lasting(10 * SECOND, 110 * SECOND);
        let run = lab.run(1);
        assert!((run.port(0, "packets_dropped") - 62_500.0).abs() <= 1.0);
        assert_eq!(run.port(0, "wait_max_ns"), 0.0);
    }
}

/// An overloaded FIFO that counts the packet in service holds K; a packet let in as one leaves
/// finds K - 1 before it, so its wait lies between K - 2 and K - 1 services. Without the packet in
/// service, one more.
#[test]
fn cbr_overload_keeps_the_queue_at_its_limit() {
    for (limit, counts_in_service, k) in [(20, true, 20.0), (20, false, 21.0)] {
        let mut lab = Lab::server(RATE, fifo(queue(limit, counts_in_service)));
        lab.flow("cbr", "a", "b", cbr(RATE * 5 / 4, 1000));
        lab.lasting(10 * SECOND, 20 * SECOND);
        let run = lab.run(1);
        let wait = run.port(0, "wait_mean_ns") / SERVICE;
        assert!(wait > k - 2.0 && wait <= k - 1.0, "{wait} services, K = {k}");
        assert_eq!(run.port(0, "queue_max_packets"), k - 1.0);
    }
}

/// A queue of the same speed behind a server of fixed service never holds a packet.
#[test]
fn a_second_hop_of_the_same_speed_adds_no_wait() {
    let mut lab = Lab::chain(&["a", "b", "c"], RATE, 3 * MS);
    lab.flow("load", "a", "c", poisson(RATE * 9 / 10, FIXED));
    lab.lasting(0, 100 * SECOND);
    let run = lab.run(1);
    assert!(run.port(0, "wait_max_ns") > 10.0 * SERVICE);
    assert_eq!(run.port(2, "wait_max_ns"), 0.0);
    // Store and forward: two services and two propagation delays.
    assert_eq!(run.flow(0, "delay_min_ns"), 2.0 * SERVICE + 6e6);
}

/// Link bytes count on the wire, not in IP: 1000 B + 250 B of link header at 10 Mbit/s are
/// 1000 packets/s; CBR of 8 Mbit/s of IP packets fills that line exactly, 8.8 does not fit.
#[test]
fn link_layer_bytes_take_transmission_time() {
    let mut lab = Lab::server(10 * MBIT, fifo(queue(5, true)));
    lab.network.links[0].header_bytes = 250;
    lab.flow("cbr", "a", "b", cbr(8 * MBIT, 1000));
    lab.lasting(0, 10 * SECOND);
    let fits = lab.run(1);
    assert_eq!(fits.port(0, "packets_dropped"), 0.0);
    assert_eq!(fits.port(0, "bytes_sent"), 1250.0 * fits.port(0, "packets_sent"));
    assert_eq!(fits.flow(0, "delay_max_ns"), 1e6);
    assert_eq!(fits.flow(0, "bytes_sent"), 1000.0 * fits.flow(0, "packets_sent"));
    assert_eq!(fits.flow(0, "goodput_bytes"), 972.0 * fits.flow(0, "packets_delivered"));
}

/// Random loss of a link is a coin per packet: the count is binomial.
#[test]
fn random_loss_is_binomial() {
    let mut lab = Lab::server(RATE, fifo(UNLIMITED));
    lab.network.links[0].loss = 0.03;
    lab.flow("cbr", "a", "b", cbr(RATE / 2, 500));
    lab.lasting(0, 200 * SECOND);
    let run = lab.run(7);
    let sent = run.port(0, "packets_sent");
    let lost = run.drops(trunkline_packet::Cause::Corrupted) as f64;
    assert!(binomial_interval(sent, 0.03).contains(&lost), "{lost} of {sent}");
}
