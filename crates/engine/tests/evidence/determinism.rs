//! A run depends on the network and the seed alone, and each part of it on its own part.

use crate::support::*;
use trunkline_agent::tcp::Variant;
use trunkline_agent::udp::{Arrivals, Size};
use trunkline_engine::network::{Agent, Measure, Queue, Ttl};
use trunkline_packet::Packet;
use trunkline_port::aqm::{AqmConfig, RedConfig, Spacing, Unit};

/// Everything that draws random numbers: RED, random loss, Poisson, on-off, exponential sizes,
/// jittered starts, send overhead. Two sides, `a-b-c` and `x-y-z`, with no link in common.
fn both_sides(second: bool) -> Lab {
    let mut lab = Lab::new();
    for side in [["a", "b", "c"], ["x", "y", "z"]] {
        for pair in side.windows(2) {
            lab.duplex(pair[0], pair[1], 10 * MBIT, 2 * MS);
        }
        let red = RedConfig {
            min_th: 5.0,
            max_th: 15.0,
            max_p: 0.1,
            w_q: 0.01,
            gentle: true,
            unit: Unit::Packets,
            mean_packet_bytes: 700,
            spacing: Spacing::Uniform,
            adaptive: false,
        };
        let line = lab.between(side[1], side[2]);
        lab.feed(line, fifo(Queue { aqm: AqmConfig::Red(red), ..queue(50, false) }));
        lab.network.links[line as usize].loss = 0.002;
    }
    add_flows(&mut lab, "a", "c");
    if second {
        add_flows(&mut lab, "x", "z");
    }
    lab.lasting(SECOND, 11 * SECOND);
    lab
}

fn add_flows(lab: &mut Lab, from: &str, to: &str) {
    let exponential = trunkline_agent::udp::Size::Exponential { mean_bytes: 600.0 };
    let with_overhead =
        trunkline_agent::tcp::TcpConfig { send_overhead_ns: MS, ..tcp(Variant::Sack) };
    for (name, agent) in [
        ("poisson", poisson(3 * MBIT, exponential)),
        ("bursts", on_off(6 * MBIT, 400, 50 * MS, 100 * MS)),
        ("sack", Agent::Tcp(with_overhead)),
        ("reno", Agent::Tcp(tcp(Variant::Reno))),
    ] {
        let flow = lab.flow(&format!("{from}.{name}"), from, to, agent);
        lab.network.flows[flow].start_jitter_ns = SECOND;
    }
}

#[test]
fn the_same_seed_gives_every_table_again_bit_by_bit() {
    let lab = both_sides(true);
    let (first, again, other) = (lab.run(42), lab.run(42), lab.run(43));
    assert!(first.bits(&[]) == again.bits(&[]));
    assert!(first.bits(&[]) != other.bits(&[]), "the seed matters");
}

#[test]
fn recording_every_packet_changes_no_table() {
    let lab = both_sides(true);
    assert!(lab.run(5).bits(&[]) == lab.trace(5).bits(&[]));
}

/// Probes read; they are events themselves, so only the number of events moves.
#[test]
fn a_probe_changes_nothing_but_the_series() {
    let lab = both_sides(true);
    let mut watched = both_sides(true);
    let line = lab.network.links.iter().position(|link| link.name == "b->c").expect("laid");
    for measure in [Measure::QueuePackets, Measure::QueueAverage, Measure::Utilisation] {
        watched.probe(measure, line, 7 * MS);
    }
    watched.probe(Measure::Cwnd, 2, 11 * MS);
    let except = ["events", "probe", "time_ns", "value"];
    let (plain, watched) = (lab.run(8), watched.run(8));
    assert!(plain.bits(&except) == watched.bits(&except));
    assert!(watched.table("series").float("value").len() > 4000);
}

/// Flows on other links, with their own draws, change no packet of the first side.
#[test]
fn flows_elsewhere_change_no_draw_of_the_others() {
    let (alone, together) = (both_sides(false).trace(3), both_sides(true).trace(3));
    let events = |run: &Outcome| -> Vec<(u64, String, Packet)> {
        let mine = run.lines.iter().filter(|line| line.packet.flow < 4);
        mine.map(|line| (line.at, format!("{:?}", line.event), line.packet)).collect()
    };
    let (alone, together) = (events(&alone), events(&together));
    assert_eq!(alone.len(), together.len());
    assert!(alone.len() > 50_000, "{}", alone.len());
    for (one, other) in alone.iter().zip(&together) {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}

/// Memory is fetched ahead where a network has some thousand flows. With two thousand more, which send after
/// the end of the run, ports, paths, losses and flows are those of a run without them: labels, classes, losses,
/// TCP and datagrams included.
#[test]
fn two_thousand_silent_flows_change_nothing() {
    let run = |silent: usize| {
        let mut lab = Lab::chain(&["a", "b", "c", "d"], 10 * MBIT, 5 * MS);
        for link in 0..lab.network.links.len() as u32 {
            let mut port = drr(&[1500, 3000], &queue(20, false));
            port.classifier.rows = vec![(0..72).map(|column| [column % 2, 0]).collect()];
            lab.feed(link, port);
        }
        let route = &["a", "b", "c", "d"];
        for number in 0..8 {
            let agent = match number % 4 {
                0 => poisson(2 * MBIT, sizes(&[700])),
                _ => Agent::Tcp(tcp(Variant::NewReno)),
            };
            let flow = lab.flow(&format!("flow{number}"), "a", "d", agent);
            lab.network.flows[flow].dscp = number % 2 * 9;
            if number >= 4 {
                let (removal, ttl) = (Removal::Penultimate, Ttl::Uniform);
                let first_label = 100 + 10 * u32::from(number);
                lab.carry(flow, &Tunnel { route, first_label, removal, ttl });
            }
        }
        for number in 0..silent {
            let flow = lab.flow(&format!("silent{number}"), "a", "d", cbr(MBIT, 700));
            lab.network.flows[flow].start_ns = 60 * SECOND;
        }
        lab.lasting(SECOND, 6 * SECOND);
        lab.run(11)
    };
    let (few, many) = (run(0), run(2_000));
    let of_places = |run: &Outcome| {
        let places = ["ports", "paths", "drops", "summary"];
        let all = run.bits(&[]).into_iter();
        all.filter(|(table, ..)| places.contains(table)).collect::<Vec<_>>()
    };
    assert!(of_places(&few) == of_places(&many));
    assert!(few.summary("packets_dropped") > 100.0, "{}", few.summary("packets_dropped"));
    for flow in 0..8 {
        for column in ["packets_delivered", "goodput_bytes", "acks_sent", "retransmissions"] {
            assert_eq!(few.flow(flow, column), many.flow(flow, column), "{flow}, {column}");
        }
    }
}

/// From 2,000 links on the calendar names events ahead, and memory is fetched for them. Links that carry nothing
/// change no flow.
#[test]
fn two_thousand_idle_links_change_nothing() {
    let run = |nodes: usize| {
        let names: Vec<String> = (0..nodes).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut lab = Lab::chain(&names, 10 * MBIT, 5 * MS);
        lab.flow("tcp", "n0", "n3", Agent::Tcp(tcp(Variant::NewReno)));
        lab.flow("udp", "n3", "n1", poisson(2 * MBIT, sizes(&[700])));
        lab.lasting(SECOND, 4 * SECOND);
        lab.run(5)
    };
    let (few, many) = (run(4), run(1_002));
    assert!(few.flow(0, "packets_delivered") > 1000.0);
    for flow in 0..2 {
        for column in ["packets_sent", "packets_delivered", "acks_sent", "retransmissions"] {
            assert_eq!(few.flow(flow, column), many.flow(flow, column), "{flow}, {column}");
        }
    }
}

/// Common random numbers: another queue at the same place meets the same arrivals.
#[test]
fn another_queue_meets_the_same_arrivals_of_open_loop_flows() {
    let lab = both_sides(false);
    let mut other = both_sides(false);
    let line = other.between("b", "c");
    other.feed(line, fifo(queue(5, true)));
    let sent = |run: &Outcome| -> Vec<Vec<(u64, u16)>> {
        let sizes = |flow| run.sent(flow).iter().map(|(at, p)| (*at, p.ip_bytes)).collect();
        [0, 1].map(sizes).to_vec()
    };
    let (first, second) = (lab.trace(6), other.trace(6));
    assert!(sent(&first) == sent(&second));
    assert!(first.flow(0, "packets_dropped") != second.flow(0, "packets_dropped"));
}

/// Counters start at the warm-up: what came before and what comes after add up to the whole.
#[test]
fn the_warm_up_cuts_counters_and_not_the_run() {
    let run = |warmup, duration| {
        let mut lab = both_sides(true);
        lab.lasting(warmup, duration);
        lab.run(9)
    };
    let (uncut, before, after) =
        (run(0, 11 * SECOND), run(0, 4 * SECOND), run(4 * SECOND, 11 * SECOND));
    for flow in 0..8 {
        for column in [
            "packets_sent",
            "bytes_sent",
            "packets_delivered",
            "goodput_bytes",
            "packets_dropped",
            "retransmissions",
            "timeouts",
            "acks_sent",
        ] {
            let sum = before.flow(flow, column) + after.flow(flow, column);
            assert_eq!(sum, uncut.flow(flow, column), "flow {flow}, {column}");
        }
    }
    for link in 0..8 {
        for column in ["packets_offered", "packets_sent", "bytes_sent", "packets_dropped"] {
            let sum = before.port(link, column) + after.port(link, column);
            assert_eq!(sum, uncut.port(link, column), "link {link}, {column}");
        }
        let area = |run: &Outcome, seconds: f64| run.port(link, "queue_mean_packets") * seconds;
        let sum = area(&before, 4.0) + area(&after, 7.0);
        assert!((sum - area(&uncut, 11.0)).abs() < 1e-9 * (1.0 + sum), "link {link}");
    }
}

/// Ten packets at once, of which one a second leaves: after 2.5 s seven wait, the most since then.
#[test]
fn the_longest_queue_after_the_warm_up_is_at_least_what_waited_at_its_end() {
    for port in [fifo(UNLIMITED), fifo(queue(20, true)), priority(1, &UNLIMITED)] {
        let mut lab = Lab::server(8_000, port);
        lab.flow("burst", "a", "b", schedule(&[(0, 1_000); 10]));
        lab.lasting(2_500 * MS, 20 * SECOND);
        let run = lab.run(1);
        assert_eq!(run.port(0, "queue_max_packets"), 7.0);
        // From then on they wait for 0.5, 1.5, ... 6.5 s, in 17.5 s.
        assert!((run.port(0, "queue_mean_packets") - 24.5 / 17.5).abs() < 1e-9);
    }
}

/// A flow whose start is its stop has no event, as one whose start is after it.
#[test]
fn a_flow_that_would_start_at_its_stop_never_begins() {
    let events = |start_ns| {
        let mut lab = Lab::server(MBIT, fifo(UNLIMITED));
        let flow = lab.flow("late", "a", "b", cbr(MBIT / 10, 1_000));
        (lab.network.flows[flow].start_ns, lab.network.flows[flow].stop_ns) =
            (start_ns, Some(SECOND));
        let run = lab.run(1);
        (run.summary("events"), run.flow(0, "packets_sent"))
    };
    assert_eq!(events(SECOND), events(SECOND + 1));
    assert_eq!(events(SECOND).1, 0.0);
    assert_eq!(events(SECOND - 1).1, 1.0);
}

/// What is due at the very time of a flow's stop is not sent, a nanosecond before it is.
#[test]
fn a_source_of_datagrams_sends_nothing_at_its_stop() {
    let fixed = Size::Fixed { bytes: 500 };
    for agent in [
        cbr(MBIT, 500),
        poisson(MBIT, fixed.clone()),
        on_off(MBIT, 500, 10 * MS, 10 * MS),
        schedule(&[(MS, 100), (2 * MS, 100), (3 * MS, 100), (4 * MS, 100), (5 * MS, 100)]),
        udp(Arrivals::Tfrc { max_bit_s: None }, 1, fixed),
        media(MBIT, 500),
    ] {
        let mut lab = Lab::chain(&["a", "b"], 10 * MBIT, 10 * MS);
        lab.flow("f", "a", "b", agent.clone());
        lab.lasting(0, SECOND);
        let fourth = lab.trace(1).sent(0)[3].0;
        for (stop, sent) in [(fourth, 3), (fourth + 1, 4)] {
            lab.network.flows[0].stop_ns = Some(stop);
            assert_eq!(lab.trace(1).sent(0).len(), sent, "{agent:?} until {stop}");
        }
    }
}

/// Rows of the drops table are in the order of their keys, each key once.
#[test]
fn drops_are_listed_in_key_order() {
    let run = both_sides(true).run(4);
    let drops = run.table("drops");
    let keys: Vec<[i64; 7]> = (0..drops.int("flow").len())
        .map(|row| {
            ["flow", "reverse", "link", "node", "class", "precedence", "cause"]
                .map(|column| drops.int(column)[row])
        })
        .collect();
    assert!(keys.len() > 6, "{keys:?}");
    // "No link" is -1 in the table and sorts last in the engine; none occurs here.
    assert!(keys.iter().all(|key| key[2] >= 0));
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
}
