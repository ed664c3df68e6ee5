//! Transfers that come and go, against slow start worked by hand and processor sharing.

use crate::support::{drr, fifo, poisson, queue, replicate, tcp, Lab, Outcome};
use crate::support::{Removal, Tunnel, GBIT, MBIT, MS, SECOND, UNLIMITED};
use trunkline_agent::tcp::{AfterIdle, TcpConfig, Variant};
use trunkline_agent::udp::Size;
use trunkline_agent::workload::{
    OpenConfig, PagesConfig, Rule, Times, TransferGaps, TransferSizes, VideoConfig,
};
use trunkline_engine::network::{
    Agent, Ecmp, FlowKey, Flows, Hosts, Measure, Opened, Overflow, PortConfig, Processing, Queue,
    Transfers, Ttl,
};

const SEGMENT: u64 = 1040;

fn open(gaps: TransferGaps, sizes: TransferSizes) -> Transfers {
    let opened = Opened::Arrivals(OpenConfig { gaps, sizes });
    Transfers { opened, bins_bytes: vec![10_000, 100_000], record: true, kept: false }
}

fn add(lab: &mut Lab, from: &str, to: &str, config: TcpConfig, transfers: Transfers) -> usize {
    let flow = lab.flow(&format!("{from}-{to}"), from, to, Agent::Tcp(config));
    lab.network.flows[flow].transfers = Some(transfers.into());
    flow
}

/// Completion times of a flow's transfers [ns], as they started; -1 of one that is not complete.
fn times(run: &Outcome) -> Vec<i64> {
    let table = run.table("transfers");
    let ends = table.int("finish_ns").iter().zip(table.int("start_ns"));
    ends.map(|(finish, start)| if *finish < 0 { -1 } else { finish - start }).collect()
}

/// The row of all of a flow's transfers.
fn whole(run: &Outcome, column: &str) -> i64 {
    run.table("completions").int(column)[0]
}

/// Ten segments at once, 20 a round trip later, then 40: with 1 Gbit/s and 50 ms each way segments
/// take 8.32 us and a round trip 100.00864 ms. Acknowledgements come as fast as segments left, so
/// that each round keeps the line busy: n segments of r rounds are there after r - 1 round trips,
/// the line's time for the last round, and 50 ms. Rounds by n (RFC 5681 section 3.1, RFC 6928):
/// 10 in 1, 30 in 2, 70 in 3, 150 in 4; one segment more is alone in the next round.
#[test]
fn rfc6928_transfers_take_the_rounds_of_slow_start() {
    let segments = [1, 10, 11, 30, 31, 70, 71, 150];
    let last_rounds = [(1, 1), (1, 10), (2, 1), (2, 20), (3, 1), (3, 40), (4, 1), (4, 80)];
    let gaps = TransferGaps::Schedule {
        times_ns: (0..8).map(|n| n * SECOND).collect(),
        sizes_bytes: segments.iter().map(|n| n * 1000).collect(),
    };
    let mut lab = Lab::chain(&["a", "b"], GBIT, 50 * MS);
    let config = TcpConfig { initial_window: 10.0, ..tcp(Variant::NewReno) };
    add(&mut lab, "a", "b", config, open(gaps, TransferSizes::Fixed { bytes: 1 }));
    let (each, round) = (8 * SEGMENT as i64, 100_008_640);
    let by_hand = last_rounds.map(|(rounds, last)| (rounds - 1) * round + last * each + 50_000_000);
    assert_eq!(times(&lab.run(1)), by_hand);
}

/// One connection: 25 segments and 10 are written at once, and go as 10, 20 and 5: the first are there with the
/// 15th of the second round, the others in the third. After 35 acknowledgements the window is 45: the 40 that
/// are written later go at once, where a connection of their own would take three rounds.
#[test]
fn transfers_over_one_connection_queue_and_keep_its_window() {
    let gaps = TransferGaps::Schedule {
        times_ns: vec![0, 0, 5 * SECOND],
        sizes_bytes: vec![25_000, 10_000, 40_000],
    };
    let mut lab = Lab::chain(&["a", "b"], GBIT, 50 * MS);
    let after_idle = AfterIdle::Keep;
    let config = TcpConfig { initial_window: 10.0, after_idle, ..tcp(Variant::NewReno) };
    let transfers = Transfers { kept: true, ..open(gaps, TransferSizes::Fixed { bytes: 1 }) };
    add(&mut lab, "a", "b", config, transfers);
    let (each, round, way) = (8 * SEGMENT as i64, 100_008_640, 50_000_000);
    let run = lab.run(1);
    let by_hand = [round + 15 * each + way, 2 * round + 5 * each + way, 40 * each + way];
    assert_eq!(times(&run), by_hand);
    assert_eq!(run.flow(0, "goodput_bytes"), 75_000.0);
}

/// M/G/1 with processor sharing: E[T | x] = x / (C (1 - rho)) whatever the law of sizes, so that the
/// mean slowdown is 1 / (1 - rho) (Kleinrock, "Queueing Systems" vol. 2, section 4.4). Fair queueing
/// by connection with packets a hundredth of a transfer is close to it: at rho = 0.6, 2.5 for
/// sizes all alike, exponential and of Pareto's law; in order of arrival it would not be.
#[test]
fn mg1_ps_under_fair_queueing_slowdown_is_one_over_one_less_the_load() {
    let mean_bytes = 100_000;
    let pareto = TransferSizes::Pareto {
        shape: 1.5,
        least_bytes: 36_600.0,
        most_bytes: 4e6,
        cut: false,
        less: 0.0,
    };
    // Mean of it: 1.5 l^1.5 (l^-0.5 - h^-0.5) / (0.5 (1 - (l/h)^1.5)) = 99,380 B.
    let laws = [
        (TransferSizes::Fixed { bytes: mean_bytes }, 100_000.0),
        (TransferSizes::Exponential { mean_bytes: mean_bytes as f64 }, 100_000.0),
        (pareto, 99_380.0),
    ];
    for (sizes, mean) in laws {
        // 100 Mbit/s; 1040 B a segment of 1000 B; half a segment more where sizes vary.
        let bytes = match sizes {
            TransferSizes::Fixed { .. } => mean * 1.04,
            _ => mean + 40.0 * (mean / 1000.0 + 0.5),
        };
        let gaps = TransferGaps::Poisson { mean_ns: bytes * 80.0 / 0.6 };
        let mut lab = Lab::server(100 * MBIT, fifo(by_connection()));
        let config =
            TcpConfig { initial_window: 1e5, rto_min_ns: 60 * SECOND, ..tcp(Variant::NewReno) };
        let config = TcpConfig { rto_initial_ns: 60 * SECOND, ..config };
        add(&mut lab, "a", "b", config, open(gaps, sizes.clone()));
        lab.lasting(SECOND, 41 * SECOND);
        let [slowdown, load] = replicate(&lab, 12, |run| {
            let slowdown = run.table("completions").float("slowdown_mean")[0];
            [slowdown, run.flow(0, "bytes_sent") * 8.0 / 40.0 / 1e8]
        });
        assert!((load.mean - 0.6).abs() < load.half + 0.002, "{sizes:?}: load {load:?}");
        // A packet in service and the packets of a round are 1 or 2 % of a transfer.
        assert!((slowdown.mean - 2.5).abs() < slowdown.half + 0.06, "{sizes:?}: {slowdown:?}");
    }
}

fn by_connection() -> Queue {
    let flows = Flows {
        queues: Some(65_535),
        quantum_bytes: SEGMENT as u32,
        new_first: false,
        labelled: FlowKey::Label,
        overflow: Overflow::Arrival,
        batch: 1,
        flow_limit_packets: None,
        ways: 1,
        hosts: Hosts::Flows,
    };
    Queue { flows: Some(flows), ..UNLIMITED }
}

/// Losses, delayed acknowledgements and a warm-up: every transfer that was begun is complete in the
/// end and freed, and what was sent and received adds up (checked by every run).
#[test]
fn transfers_that_lose_packets_are_complete_in_the_end_and_freed() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut lab = Lab::chain(&["a", "b", "c"], 10 * MBIT, 5 * MS);
        let gaps = TransferGaps::Poisson { mean_ns: 20e6 };
        let sizes = TransferSizes::Exponential { mean_bytes: 15_000.0 };
        let flow = add(&mut lab, "a", "c", tcp(variant), open(gaps, sizes));
        lab.flow("u", "a", "c", poisson(4 * MBIT, Size::Fixed { bytes: 1000 }));
        lab.feed(0, fifo(queue(8, false)));
        (lab.network.links[1].loss, lab.network.links[3].loss) = (0.02, 0.02);
        lab.network.flows[flow].stop_ns = Some(20 * SECOND);
        lab.network.flows[flow].start_ns = SECOND;
        let open_now = lab.probe(Measure::Transfers, flow, 10 * SECOND);
        lab.lasting(0, 200 * SECOND);
        let run = lab.run(3);
        assert!(run.flow(flow, "packets_dropped") > 50.0, "{variant:?}");
        // 950 are expected in 19 s, with a standard deviation of 31.
        assert!((whole(&run, "started") - 950).abs() < 124, "{variant:?}");
        assert_eq!(whole(&run, "started"), whole(&run, "finished"), "{variant:?}");
        assert_eq!(whole(&run, "finished_bytes") as f64, run.flow(flow, "goodput_bytes"));
        assert_eq!(run.series(open_now).last().map(|(_, count)| *count), Some(0.0), "{variant:?}");
        // Those begun in the warm-up are left out, and nothing else changes.
        lab.network.run.warmup_ns = 10 * SECOND;
        let later = lab.run(3);
        let before =
            run.table("transfers").int("start_ns").iter().filter(|at| **at < 10 * SECOND as i64);
        assert_eq!(whole(&later, "started"), whole(&run, "started") - before.count() as i64);
        assert_eq!(whole(&later, "started"), whole(&later, "finished"));
    }
}

/// The link fails to carry anything after 2 s: what is under way is counted as unfinished.
#[test]
fn transfers_under_way_at_the_end_are_counted() {
    let mut lab = Lab::chain(&["a", "b"], MBIT, MS);
    let gaps =
        TransferGaps::Schedule { times_ns: vec![0, SECOND], sizes_bytes: vec![1000, 1_000_000] };
    add(&mut lab, "a", "b", tcp(Variant::Sack), open(gaps, TransferSizes::Fixed { bytes: 1 }));
    lab.lasting(0, 2 * SECOND);
    let run = lab.run(1);
    assert_eq!((whole(&run, "started"), whole(&run, "finished")), (2, 1));
    // 8.32 ms at 1 Mbit/s and 1 ms on the way.
    assert_eq!(times(&run), [9_320_000, -1]);
    let bins = run.table("completions");
    assert_eq!(bins.int("upper_bytes"), [-1, 10_000, 100_000, -1]);
    assert_eq!(bins.int("started"), [2, 1, 0, 1]);
    assert_eq!(bins.int("finished"), [1, 1, 0, 0]);
}

/// A user of pages by hand: 10 ms to read, request of 300 B, main object of 1 segment, 4 ms to parse,
/// three objects of 1 segment, two at a time; 1 Gbit/s and 5 ms one way.
fn one_user() -> Lab {
    let mut lab = Lab::chain(&["server", "user"], GBIT, 5 * MS);
    let fixed = |bytes| TransferSizes::Fixed { bytes };
    let users = PagesConfig {
        users: 1,
        parallel: 2,
        main: fixed(1000),
        embedded: fixed(1000),
        objects: fixed(3),
        reading: Times::Fixed(10 * MS),
        parsing: Times::Fixed(4 * MS),
    };
    let opened = Opened::Pages { users, requests: 1, request_bytes: 300 };
    let pages = Transfers { opened, bins_bytes: vec![], record: true, kept: false };
    add(&mut lab, "server", "user", tcp(Variant::NewReno), pages);
    let requests =
        Transfers { opened: Opened::Requests, bins_bytes: vec![], record: true, kept: false };
    add(&mut lab, "user", "server", tcp(Variant::NewReno), requests);
    lab
}

/// Its page: a request takes 5 ms and 2.72 us, an object 5 ms and 8.32 us, and the acknowledgement of
/// 0.32 us that either causes goes first: before each object, and before the request that follows an
/// object. The page is the main object, parsing, the first of two objects side by side, and the third,
/// which is asked for when that is there.
#[test]
fn a_page_takes_its_requests_its_objects_and_its_parsing() {
    let mut lab = one_user();
    lab.lasting(0, 100 * MS);
    let run = lab.run(1);
    let (request, object, ack) = (5_002_720, 5_008_320, 320);
    let page = 2 * (request + ack + object) + 4_000_000 + ack + request + ack + object;
    let pages = run.table("completions");
    let row = pages.int("kind").iter().position(|kind| *kind == 2).expect("a row of pages");
    assert_eq!(pages.int("fct_min_ns")[row], page);
    assert_eq!(pages.int("started")[row], 3); // at 10 ms, 54 ms and 98 ms
    assert_eq!((pages.int("finished")[row], pages.int("objects")[row]), (2, 8));
}

/// The page above, with users who stop: each transfer that was asked for comes, and nothing is asked
/// for after that. The objects are asked for at 10 (main), 24 and 24, and 34 ms; a request is 5 ms on its
/// way; the page is there at 44 ms, and the next would begin at 54 ms.
#[test]
fn users_who_have_stopped_ask_for_nothing_more() {
    // Stop [ms]; objects asked for; whether the first page is complete.
    let cases = [(5, 0, 0), (12, 1, 0), (22, 1, 0), (30, 3, 0), (36, 4, 1), (50, 4, 1), (60, 5, 1)];
    for (stop, objects, pages) in cases {
        let mut lab = one_user();
        lab.network.flows.iter_mut().for_each(|flow| flow.stop_ns = Some(stop * MS));
        lab.lasting(0, 200 * MS);
        let run = lab.run(1);
        let rows = run.table("completions");
        let row = rows.int("kind").iter().position(|kind| *kind == 2).expect("a row of pages");
        assert_eq!(rows.int("finished")[row], pages, "stop at {stop} ms");
        let transfers = run.table("transfers");
        let asked = transfers.int("flow").iter().zip(transfers.int("start_ns"));
        let requests: Vec<_> = asked.filter(|(flow, _)| **flow == 1).collect();
        assert!(requests.iter().all(|(_, at)| **at < (stop * MS) as i64), "stop at {stop} ms");
        assert_eq!(requests.len(), objects, "stop at {stop} ms");
        // Each request is answered.
        assert_eq!(transfers.int("flow").len(), 2 * objects, "stop at {stop} ms");
        assert!(transfers.int("finish_ns").iter().all(|at| *at > 0), "stop at {stop} ms");
    }
}

/// A chunk plays for 4 s, is of 1 Mbit/s and takes more than 8 s at 0.5 Mbit/s: the first is there at
/// c and plays until c + 4 s, when the player runs dry. The viewer leaves at 14 s: it stood still for
/// 14 s - c - 4 s, and does not see the second, which was asked for at c and comes at about 2 c.
#[test]
fn viewers_leave_when_their_flow_stops() {
    let mut lab = Lab::chain(&["server", "user"], MBIT / 2, 5 * MS);
    let players = VideoConfig {
        players: 1,
        chunk_ns: 4 * SECOND,
        ladder_bit_s: vec![MBIT],
        buffer_ns: 20 * SECOND,
        start_ns: 4 * SECOND,
        rule: Rule::Rate,
        spread_ns: 0,
    };
    let opened = Opened::Video { players, requests: 1, request_bytes: 300 };
    let film = Transfers { opened, bins_bytes: vec![], record: true, kept: false };
    add(&mut lab, "server", "user", tcp(Variant::NewReno), film);
    let requests =
        Transfers { opened: Opened::Requests, bins_bytes: vec![], record: true, kept: false };
    add(&mut lab, "user", "server", tcp(Variant::NewReno), requests);
    lab.network.flows.iter_mut().for_each(|flow| flow.stop_ns = Some(14 * SECOND));
    lab.lasting(0, 40 * SECOND);
    let run = lab.run(1);
    let transfers = run.table("transfers");
    let of_film = |column| {
        let all = transfers.int("flow").iter().zip(transfers.int(column));
        all.filter(|(flow, _)| **flow == 0).map(|(_, at)| *at).collect::<Vec<_>>()
    };
    let (asked, there) = (of_film("start_ns"), of_film("finish_ns"));
    assert_eq!(there.len(), 2, "{asked:?}");
    let (stop, chunk) = (14 * SECOND as i64, 4 * SECOND as i64);
    assert!(there[0] < stop - chunk && there[1] > stop, "{there:?}");
    let videos = run.table("videos");
    let row = |column| videos.int(column)[0];
    assert_eq!((row("began_ns"), row("start_up_ns"), row("chunks")), (0, there[0], 1));
    assert_eq!((row("stalls"), row("stalled_ns")), (1, stop - there[0] - chunk));
}

/// The floors of transfers of 1000 B and of 2500 B, packets of 1040, 1040 and 540 B, from a to d.
///
/// By b: two links of 10 Mbit/s and 1 ms with 20 B a packet. The first takes 2680 B, 2.144 ms, the second no more
/// than the last packet, 560 B, 0.448 ms; b takes 0.1 ms and 5 us, the shorter look-up. A transfer of one packet
/// of 1060 B takes 0.848 ms twice. A SYN and its answer have 48 B: 54.4 us a link.
///
/// By c, where a path leads: 20 Mbit/s and 2 ms, 5 Mbit/s and 3 ms. The first packet takes 0.424 ms on the first,
/// all of them 4.288 ms on the second, and 1.696 ms if there is no other; c takes 0.2 ms and 4 us.
#[test]
fn a_floor_is_the_time_of_an_empty_network_on_the_way_that_packets_take() {
    let by_routes = [3_801_000, 4_697_000];
    let by_path = [424_000 + 1_696_000 + 5_204_000, 424_000 + 4_288_000 + 5_204_000];
    let both_ways = 2 * (2 * 54_400 + 2_105_000);
    // Whether a path is bound at a node, and for which codepoints; whether connections open by a SYN; floors.
    let cases = [
        (None, false, by_routes),
        (None, true, by_routes.map(|floor| floor + both_ways)),
        (Some(("a", vec![])), false, by_path),
        (Some(("a", vec![9, 10])), false, by_path),
        (Some(("a", vec![9])), false, by_routes),
        (Some(("c", vec![])), false, by_routes),
    ];
    for (bound, connect, floors) in cases {
        let mut lab = Lab::new();
        for (from, to, rate, delay) in
            [("a", "b", 10, 1), ("b", "d", 10, 1), ("a", "c", 20, 2), ("c", "d", 5, 3)]
        {
            lab.duplex(from, to, rate * MBIT, delay * MS);
        }
        lab.network.links.iter_mut().for_each(|link| link.header_bytes = 20);
        lab.network.links[4..6].iter_mut().for_each(|link| link.metric = 2);
        let mut takes = |node: &str, fixed_ns, ip_lookup_ns, label_lookup_ns| {
            let node = lab.node(node) as usize;
            let times = Processing { fixed_ns, ip_lookup_ns, label_lookup_ns };
            lab.network.nodes[node].processing = Some(times);
        };
        takes("b", MS / 10, 30_000, 5_000);
        takes("c", MS / 5, 4_000, 50_000);
        takes("d", MS, MS, MS);
        let times_ns = vec![0, SECOND];
        let gaps = TransferGaps::Schedule { times_ns, sizes_bytes: vec![1000, 2500] };
        let config = TcpConfig { connect, ..tcp(Variant::Sack) };
        let flow = add(&mut lab, "a", "d", config, open(gaps, TransferSizes::Fixed { bytes: 1 }));
        lab.network.flows[flow].dscp = 10;
        if let Some((node, dscps)) = &bound {
            let route = &["a", "c", "d"];
            let (removal, ttl) = (Removal::Penultimate, Ttl::Uniform);
            lab.carry(flow, &Tunnel { route, first_label: 100, removal, ttl });
            lab.network.ftn[0].node = lab.node(node);
            lab.network.ftn[0].dscps.clone_from(dscps);
        }
        let run = lab.run(1);
        assert_eq!(run.table("transfers").int("floor_ns"), floors, "{bound:?}, {connect}");
    }
}

/// Where no route leads, no time is known.
#[test]
fn a_transfer_without_a_route_has_no_floor() {
    let mut lab = Lab::chain(&["a", "b"], MBIT, MS);
    lab.link("x", "y", MBIT, MS);
    let gaps = TransferGaps::Schedule { times_ns: vec![0], sizes_bytes: vec![1000] };
    let config = tcp(Variant::Sack);
    add(&mut lab, "a", "y", config, open(gaps, TransferSizes::Fixed { bytes: 1 }));
    lab.lasting(0, SECOND);
    assert_eq!(lab.run(1).table("transfers").int("floor_ns"), [0]);
}

/// Linux's small queues (`tcp_small_queue_check`): a sender waits until its segments have left its host. A FIFO
/// knows when they will, a port with classes says so: transfers end at the same times. On each of two links of
/// equal cost, of 2 Mbit/s, a flow has a few segments at most; its window is a hundred.
#[test]
fn senders_that_limit_the_queue_of_their_host_see_the_same_in_each_port() {
    let run = |port: &PortConfig| {
        let mut lab = Lab::new();
        for middle in ["b", "c"] {
            lab.duplex("a", middle, 2 * MBIT, 5 * MS);
            lab.duplex(middle, "d", GBIT, 5 * MS);
        }
        lab.feed(0, port.clone());
        lab.feed(4, port.clone());
        lab.network.routing.ecmp = Some(Ecmp::Flow);
        for number in 0..4 {
            let times_ns = vec![number * SECOND / 10, 2 * SECOND, 3 * SECOND];
            let sizes_bytes = vec![400_000, 100_000, 50_000];
            let gaps = TransferGaps::Schedule { times_ns, sizes_bytes };
            let config = TcpConfig { linux: true, window_packets: 100, ..tcp(Variant::Sack) };
            let transfers = open(gaps, TransferSizes::Fixed { bytes: 1 });
            let flow = add(&mut lab, "a", "d", config, transfers);
            lab.network.flows[flow].name = format!("flow{number}");
        }
        lab.lasting(0, 20 * SECOND);
        lab.run(1)
    };
    let (fifo, classes) = (run(&fifo(UNLIMITED)), run(&drr(&[1500], &UNLIMITED)));
    assert!(times(&fifo).iter().all(|time| *time > 0));
    assert_eq!(times(&fifo), times(&classes));
    for link in [0, 4] {
        assert!(fifo.port(link, "packets_sent") > 400.0, "both are used");
        let most = [&fifo, &classes].map(|run| run.port(link, "queue_max_packets"));
        assert!(most[0] < 40.0 && most[0] == most[1], "{most:?}");
    }
}
