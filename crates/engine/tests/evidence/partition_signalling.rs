//! RSVP-TE, OSPF and LDP on several threads: the results of one thread, wherever the network is cut.

use crate::support::*;
use proptest::prelude::*;
use trunkline_agent::tcp::Variant;
use trunkline_control::ldp::LdpConfig;
use trunkline_control::ospf::{LinkTe, OspfConfig, SpfDelay};
use trunkline_control::rsvp::config::{
    Action, AutoBandwidth, Binding, ClassTypes, Hop, Order, Protection, Requests, Session,
};
use trunkline_control::rsvp::{RsvpConfig, EVENTS};
use trunkline_engine::network::recovery::Detection;
use trunkline_engine::network::signalling::Signalling;
use trunkline_engine::network::{
    Agent, Classifier, Conditioner, Control, Measure, Path, Processing, Reorder, Scripted,
};
use trunkline_engine::{run_cut, RunError, TIMELINE_EVENT_NAMES};

const NODES: usize = 6;
const NAMES: [&str; NODES] = ["n0", "n1", "n2", "n3", "n4", "n5"];
const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// Options of a run with signalling.
#[derive(Clone, Copy, Debug)]
struct Options {
    processing_ns: u64,
    reliable: bool,
    summary: bool,
    hello: bool,
    soft: bool,
    detours: bool,
    make_before_break: bool,
    flooding_ns: u64,
    /// A wire may lose messages: they are made known when they have arrived.
    lossy: bool,
    /// The path from n0 has a bypass tunnel around the link that fails.
    bypass: bool,
    automatic: bool,
    ospf: bool,
    ldp: bool,
    /// Ports have a class for each flow.
    classes: bool,
}

/// RSVP-TE alone, plainly.
const PLAIN: Options = Options {
    processing_ns: MS,
    reliable: false,
    summary: false,
    hello: false,
    soft: false,
    detours: false,
    make_before_break: true,
    flooding_ns: 0,
    lossy: true,
    bypass: false,
    automatic: false,
    ospf: false,
    ldp: false,
    classes: false,
};

/// Messages are acted on when they arrive, by one protocol or several.
fn any_instant_options() -> impl Strategy<Value = Options> {
    let of_rsvp = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let others = (any::<bool>(), any::<bool>(), any::<bool>());
    (of_rsvp, others, prop_oneof![Just(0), 0..3 * MS]).prop_map(
        |((reliable, hello, bypass, automatic), (ospf, ldp, classes), processing_ns)| Options {
            processing_ns,
            reliable,
            hello,
            detours: !bypass,
            lossy: false,
            bypass,
            automatic,
            ospf,
            ldp,
            classes,
            ..PLAIN
        },
    )
}

fn any_options() -> impl Strategy<Value = Options> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let times = (MS / 2..4 * MS, prop_oneof![Just(0), Just(30 * MS)], any::<bool>());
    (flags, times).prop_map(
        |(
            (reliable, hello, soft, detours, make_before_break),
            (processing_ns, flooding_ns, all),
        )| {
            let summary = reliable && all;
            Options {
                processing_ns,
                reliable,
                summary,
                hello,
                soft,
                detours,
                make_before_break,
                flooding_ns,
                ..PLAIN
            }
        },
    )
}

/// Paths that are set up at one time, preempt each other, are moved by a failure, by orders and by better
/// routes, and random requests, on a ring of six nodes with a chord; data ride on the paths.
fn signalled_ring(options: Options) -> Lab {
    let mut lab = Lab::new();
    for node in 0..NODES {
        lab.duplex(NAMES[node], NAMES[(node + 1) % NODES], 10 * MBIT, 3 * MS);
    }
    lab.duplex("n0", "n3", 10 * MBIT, 2 * MS);
    lab.feed(2, fifo(queue(6, false)));
    if options.lossy {
        lab.network.links[5].loss = 0.03;
    }
    let messages = Agent::Control(Control { header_bytes: 20 });
    for (protocol, runs) in [("rsvp", true), ("ospf", options.ospf), ("ldp", options.ldp)] {
        if runs {
            lab.flow(protocol, "n0", "n1", messages.clone());
        }
    }
    let ends = [(0, 3), (1, 4), (3, 0), (5, 2), (2, 5)];
    let sessions = (0..).zip(ends).map(|(index, (head, tail))| {
        let mut route = Vec::new();
        let mut node: usize = head;
        while node != tail {
            let next = (node + 1) % NODES;
            route.push(lab.between(NAMES[node], NAMES[next]));
            node = next;
        }
        let (links, name) = (route.clone(), format!("path{index}"));
        lab.network.paths.push(Path { name: name.clone(), links, account: index % 2 == 0 });
        let agent = match index {
            0 | 3 => cbr(2 * MBIT, 500),
            _ => Agent::Tcp(tcp(Variant::Sack)),
        };
        let flow = lab.flow(&format!("flow{index}"), NAMES[head], NAMES[tail], agent);
        lab.network.flows[flow].fec = index as u16 + 1;
        let protection = Protection {
            one_to_one: options.detours,
            node: false,
            bandwidth: false,
            computed: true,
            detours: vec![],
        };
        Session {
            name,
            path: index,
            bandwidth_bit_s: 4 * MBIT,
            setup: 6 - index as u8,
            hold: 6 - index as u8,
            class_type: 0,
            start_ns: (index != 4).then_some(100 * MS),
            dynamic: true,
            hops: vec![Hop { label: None, entry: None }; route.len() + 1],
            route,
            computed: index == 1,
            constraints: None,
            classes: vec![Binding { fec: index as u16 + 1, dscps: vec![] }],
            pipe: false,
            diffserv: [None, None],
            protection: (options.bypass || options.detours && index < 2).then_some(protection),
            around: vec![],
            auto_bandwidth: (options.automatic && index != 1).then_some(AutoBandwidth {
                sample_ns: [31 * MS, 40 * MS][index as usize % 2],
                adjust_ns: 160 * MS,
                threshold: 0.05,
                minimum_bit_s: MBIT / 10,
                maximum_bit_s: 6 * MBIT,
            }),
        }
    });
    let mut sessions: Vec<Session> = sessions.collect();
    if options.bypass {
        let way = [("n1", "n0"), ("n0", "n3"), ("n3", "n2")];
        let route: Vec<u32> = way.iter().map(|(from, to)| lab.between(from, to)).collect();
        let (links, name) = (route.clone(), "bypass".to_string());
        lab.network.paths.push(Path { name: name.clone(), links, account: true });
        sessions.push(Session {
            name,
            path: 5,
            bandwidth_bit_s: 0,
            setup: 0,
            hold: 0,
            start_ns: Some(50 * MS),
            dynamic: false,
            computed: false,
            hops: vec![Hop { label: None, entry: None }; route.len() + 1],
            route,
            classes: vec![],
            protection: None,
            around: vec![lab.between("n1", "n2")],
            auto_bandwidth: None,
            ..sessions[0].clone()
        });
    }
    let order = |at_ns, session, action| Order { at_ns, session, action };
    let rsvp = RsvpConfig {
        flow: 0,
        refresh_ns: 200 * MS,
        multiplier: 3,
        processing_ns: options.processing_ns,
        resend_ns: options.reliable.then_some(50 * MS),
        resend_increment: 1.0,
        resend_limit: 3,
        summary: options.summary,
        hello_ns: options.hello.then_some(60 * MS),
        retry_ns: 150 * MS,
        attempts: 2,
        flooding_ns: (!options.ospf).then_some(options.flooding_ns),
        flooding_threshold: 0.0,
        make_before_break: options.make_before_break,
        cleanup_ns: 40 * MS,
        soft_ns: options.soft.then_some(100 * MS),
        reoptimise_ns: Some(300 * MS),
        discard: false,
        reservable: vec![10 * MBIT; lab.network.links.len()],
        class_types: ClassTypes::default(),
        attributes: vec![],
        sessions,
        orders: vec![
            order(400 * MS, 4, Action::SetUp {}),
            order(700 * MS, 0, Action::Resize { bandwidth_bit_s: 5 * MBIT }),
            order(1_300 * MS, 2, Action::Move { route: None }),
        ],
        requests: vec![Requests {
            name: "requests".into(),
            head: 4,
            tail: 1,
            bandwidth_bit_s: MBIT,
            setup: 7,
            hold: 7,
            every_ns: 40 * MS,
            holding_ns: 120 * MS,
            route: None,
        }],
    };
    let detection = Detection::Fixed { delay_ns: 5 * MS };
    let te = LinkTe { metric: 1, reservable_bit_s: 10 * MBIT, unreserved_bit_s: None, colours: 0 };
    let ospf = options.ospf.then(|| OspfConfig {
        flow: 1,
        processing_ns: options.processing_ns,
        resend_ns: 60 * MS,
        lsa_interval_ns: 20 * MS,
        lsa_arrival_ns: 10 * MS,
        te: Some(vec![te; lab.network.links.len()]),
        hello_ns: Some(30 * MS),
        dead_ns: 120 * MS,
        spf: SpfDelay::Backoff { initial_ns: 0, second_ns: 5 * MS, maximum_ns: 40 * MS },
        compute_ns: 0,
        fib_update_ns: vec![MS / 2; NODES],
        local_delay_ns: 0,
        multipath: true,
        ldp_sync: options.ldp,
    });
    let ldp = options.ldp.then(|| LdpConfig {
        flow: 1 + u32::from(options.ospf),
        start_ns: 5 * MS,
        hello_ns: 40 * MS,
        hello_hold_ns: 130 * MS,
        keepalive_ns: 200 * MS,
        resend_ns: 50 * MS,
        retry_ns: 60 * MS,
        gtsm: false,
        ordered: true,
        first_fec: 100,
    });
    for (from, to) in [(2, 4), (4, 2)] {
        let name = format!("labelled{from}");
        let flow = lab.flow(&name, NAMES[from], NAMES[to], cbr(MBIT, 300));
        lab.network.flows[flow].fec = 100 + to as u16;
    }
    if options.classes {
        let flows = lab.network.flows.len();
        for link in 0..lab.network.links.len() as u32 {
            lab.feed(link, drr(&vec![600; flows], &queue(8, false)));
            lab.class_per_flow(link);
        }
    }
    lab.network.signalling = Some(Signalling { detection, ldp, ospf, rsvp: Some(rsvp) });
    let links = vec![lab.between("n1", "n2"), lab.between("n2", "n1")];
    lab.fail("cut", links, &[(900 * MS, 1_500 * MS)]);
    lab.lasting(250 * MS, 2 * SECOND);
    lab
}

fn assert_same_on_one_thread(lab: &Lab, seed: u64, regions: &[u8]) {
    let uncut = match lab.network.run.trace {
        true => Outcome {
            tables: trunkline_engine::run_on_threads(&lab.network, seed, 1, NEVER)
                .expect("the run ends"),
            lines: vec![],
        },
        false => lab.run(seed),
    };
    let tables = run_cut(&lab.network, seed, regions, NEVER).expect("the run ends");
    let cut = Outcome { tables, lines: vec![] };
    for (one, other) in uncut.bits(&[]).iter().zip(cut.bits(&[])) {
        assert!(*one == other, "{regions:?}: {} of {}", one.1, one.0);
    }
}

/// What happens to the paths of this file's network, so that its other tests are of something.
#[test]
fn paths_are_set_up_refused_preempted_and_moved() {
    let options = Options { reliable: true, hello: true, detours: true, ..PLAIN };
    let lab = signalled_ring(options);
    let run = lab.run(1);
    let of = |name: &str| {
        let number = EVENTS.iter().position(|event| *event == name).expect("a kind of event");
        let rows = run.table("signalling").int("event");
        rows.iter().filter(|event| **event == number as i64).count()
    };
    assert!(of("up") > 20 && of("preempted") > 0, "{} {}", of("up"), of("preempted"));
    assert!(run.path(0, "packets") > 100.0 && run.flow(0, "packets_dropped") > 0.0);
    for regions in [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]] {
        assert_same_on_one_thread(&lab, 1, &regions);
    }
}

/// A head's reservation ends while its session rides it: the next path takes its entry, whose packets left n0 by
/// the link from n3, and on one thread nobody saw it.
#[test]
fn classes_leave_an_entry_before_another_path_takes_it() {
    let options = Options { processing_ns: 2_096_548, reliable: true, soft: true, ..PLAIN };
    assert_same_on_one_thread(&signalled_ring(options), 14, &[1, 0, 0, 0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(16)))]

    #[test]
    fn any_cut_of_a_network_that_signals_gives_every_table_bit_by_bit(
        options in any_options(),
        regions in proptest::collection::vec(0..3u8, NODES),
        seed in 0..100u64,
        trace in any::<bool>(),
    ) {
        let mut lab = signalled_ring(options);
        lab.network.run.trace = trace;
        lab.probe(Measure::QueuePackets, 3, 7 * MS);
        assert_same_on_one_thread(&lab, seed, &regions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count_cases(24)))]

    /// Hellos, acknowledgements and messages on their way around a failure take no time to handle: regions must
    /// know of them before they arrive.
    #[test]
    fn any_cut_of_a_network_whose_protocols_act_at_once_gives_every_table_bit_by_bit(
        options in any_instant_options(),
        regions in proptest::collection::vec(0..3u8, NODES),
        seed in 0..100u64,
        trace in any::<bool>(),
    ) {
        let mut lab = signalled_ring(options);
        lab.network.run.trace = trace;
        assert_same_on_one_thread(&lab, seed, &regions);
    }
}

/// What the protocols of the test above do, so that it is of something: OSPF and LDP answer the failure, heads
/// change their bandwidth, and a path is repaired by its bypass tunnel.
#[test]
fn protocols_that_act_at_once_answer_a_failure() {
    let options = Options {
        processing_ns: 0,
        lossy: false,
        bypass: true,
        automatic: true,
        ospf: true,
        ldp: true,
        ..PLAIN
    };
    let lab = signalled_ring(options);
    let run = lab.run(1);
    let count = |table: &str, column: &str, number: Option<usize>| {
        let number = number.expect("a kind of event") as i64;
        run.table(table).int(column).iter().filter(|event| **event == number).count()
    };
    for (name, least) in [("moved", 3), ("repaired", 1)] {
        let number = EVENTS.iter().position(|event| *event == name);
        assert!(count("signalling", "event", number) >= least, "{name}");
    }
    for name in ["lsa-learnt", "rerouted", "ldp-session-up", "ldp-session-down", "ldp-labels"] {
        let number = TIMELINE_EVENT_NAMES.iter().position(|moment| *moment == name);
        assert!(count("timeline", "event", number) >= 2, "{name}");
    }
    for regions in [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]] {
        assert_same_on_one_thread(&lab, 1, &regions);
    }
}

/// OSPF, LDP and RSVP-TE without a time of processing act on a message at once. Then it must be certain that the
/// message arrives as soon as it leaves: no link loses or delays it or has no length, and no node holds back what
/// bypass tunnels carry. Nor can the messages of a flow be probed, which every region has.
#[test]
fn a_network_is_cut_if_regions_know_of_messages_in_time() {
    type Change = fn(&mut Lab);
    let uncertain: [Change; 5] = [
        |lab| lab.network.links[3].loss = 0.01,
        |lab| lab.network.links[3].scripted = vec![Scripted { flow: 1, seq: 1, times: 1 }],
        |lab| lab.network.links[3].reorder = Some(Reorder { share: 0.1, by_ns: MS }),
        |lab| lab.network.links[0].delay_ns = 0,
        |lab| {
            let classifier = Classifier { rows: vec![], flow_rows: vec![] };
            let name = "edge".into();
            lab.network.conditioners.push(Conditioner { name, classifier, profiles: vec![] });
            lab.network.links[3].ingress = Some(0);
        },
    ];
    let slow: Change = |lab| {
        lab.network.nodes[1].processing =
            Some(Processing { fixed_ns: MS, ip_lookup_ns: 0, label_lookup_ns: 0 });
    };
    let plain = Options { lossy: false, ..PLAIN };
    let is_cut = |options: Options, keeps_rsvp: bool, change: Option<Change>| {
        let mut lab = signalled_ring(options);
        lab.lasting(0, US);
        if !keeps_rsvp {
            lab.network.signalling.as_mut().expect("it is there").rsvp = None;
        }
        change.into_iter().for_each(|change| change(&mut lab));
        match run_cut(&lab.network, 1, &[0, 0, 0, 1, 1, 1], NEVER) {
            Ok(_) => true,
            Err(RunError::Invalid(_)) => false,
            Err(other) => panic!("{other}"),
        }
    };
    let at_once = Options { processing_ns: 0, ..plain };
    for (options, keeps_rsvp, acts_at_once) in [
        (plain, true, false),
        (at_once, true, true),
        (Options { ospf: true, ..plain }, true, true),
        (Options { ospf: true, ..plain }, false, true),
        (Options { ldp: true, ..plain }, false, true),
        (Options { bypass: true, ..plain }, true, true),
    ] {
        assert!(is_cut(options, keeps_rsvp, None), "{options:?}");
        for change in uncertain {
            assert_eq!(is_cut(options, keeps_rsvp, Some(change)), !acts_at_once, "{options:?}");
        }
        assert_eq!(is_cut(options, keeps_rsvp, Some(slow)), !options.bypass, "{options:?}");
    }
    let probed: [(Change, bool); 3] = [
        (|lab| _ = lab.probe(Measure::Goodput, 0, US), false),
        (|lab| _ = lab.probe(Measure::Goodput, 5, US), true),
        (|lab| _ = lab.probe(Measure::Utilisation, 0, US), true),
    ];
    for (change, expected) in probed {
        assert_eq!(is_cut(plain, true, Some(change)), expected);
    }
}

/// A node that acts on a message when it arrives leaves no time to make it known, where a wire may lose it.
#[test]
fn messages_that_may_be_lost_and_are_acted_on_at_once_take_one_thread() {
    let options = Options { processing_ns: 0, ..PLAIN };
    let refused = run_cut(&signalled_ring(options).network, 1, &[0, 0, 0, 1, 1, 1], NEVER);
    assert!(matches!(refused, Err(RunError::Invalid(_))));
}
