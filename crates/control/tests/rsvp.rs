//! RSVP-TE by hand: a network of nodes and links without queues, where messages take the links'
//! transmission time and delay.

mod support;

use support::{both, chain, config, dynamic, rows, session, square, Network, MS};
use trunkline_control::rsvp::config::{Action, AutoBandwidth, Order, Session, TeClass};
use trunkline_control::rsvp::Rsvp;

/// Three links of 10 Mbit/s and 4 ms, a name of five letters. Path: IP 24, header 8, SESSION 16,
/// HOP 12, TIME_VALUES 8, ERO 4 + 8 a hop, LABEL_REQUEST 8, SESSION_ATTRIBUTE 16, SENDER_TEMPLATE
/// 12, TSPEC 36 = 144 + 8 a hop: 168, 160, 152 bytes. Resv: IP 20, 8, 16, 12, 8, STYLE 8, FLOWSPEC
/// 36, FILTER 12, LABEL 8 = 128 bytes each. (480 + 384) x 8 bits / 10 Mbit/s + 6 x 4 ms =
/// 24.6912 ms.
#[test]
fn rfc3209_s4_sizes_of_path_and_resv_and_the_time_of_a_set_up() {
    let lines = chain(4);
    let mut network = Network::new(4, lines, config(6, vec![session("trunk", 4, 1_000_000)]));
    network.run(100 * MS);
    let sizes = |kind| network.sent(kind).iter().map(|message| message.1).collect::<Vec<_>>();
    assert_eq!(sizes("path"), [168, 160, 152]);
    assert_eq!(sizes("resv"), [128, 128, 128]);
    assert_eq!(network.events("up"), [24_691_200]);
}

/// L = (K + 0.5) x 1.5 x R: R = 10 s, K = 3: 52.5 s; R = 45 s: 236.25 s.
#[test]
fn rfc2205_s3_7_lifetime_of_a_state() {
    for (refresh, lifetime) in [(10_000, 52_500), (45_000, 236_250)] {
        let mut rsvp_config = config(2, vec![session("trunk", 2, 1)]);
        rsvp_config.refresh_ns = refresh * MS;
        assert_eq!(Rsvp::new(rsvp_config, 2, chain(2), 1).lifetime(), lifetime * MS);
    }
    // 255.5 x 1.5 x 100 years are more than 64 bits of nanoseconds: longer than any run.
    let years = 100 * 365 * 24 * 3_600_000 * MS;
    let mut rsvp_config = config(2, vec![session("trunk", 2, 1)]);
    (rsvp_config.refresh_ns, rsvp_config.multiplier) = (years, 255);
    assert!(Rsvp::new(rsvp_config, 2, chain(2), 1).lifetime() > years);
}

/// RFC 3209 section 4.6.2.1: an LSP ID has 16 bits. After 70,000 requests for more than the link has
/// the numbers have begun anew, and passed over that of the LSP that is up.
#[test]
fn rfc3209_s4_6_2_1_numbers_of_lsps_come_round_and_pass_over_one_that_is_up() {
    let mut rsvp_config = config(2, vec![session("trunk", 2, 6_000_000)]);
    rsvp_config.orders = (0..70_000)
        .map(|number| Order {
            at_ns: 1000 * MS + number,
            session: 0,
            action: Action::Resize { bandwidth_bit_s: 20_000_000 },
        })
        .collect();
    let mut network = Network::new(2, chain(2), rsvp_config);
    network.run(2000 * MS);
    let numbers = |event| {
        let rows = network.wires.rows.iter().filter(move |row| row.1 == event);
        rows.map(|row| row.2.lsp).collect::<Vec<_>>()
    };
    let (up, refused) = (numbers("up"), numbers("refused"));
    assert_eq!((up.as_slice(), refused.len()), ([1].as_slice(), 70_000));
    assert!(!refused.contains(&1) && refused.contains(&0) && refused.contains(&u16::MAX));
    assert_eq!((network.rsvp.states(), network.rsvp.reserved(0)), (2, 6_000_000));
}

/// Refreshes are 0.5 R to 1.5 R apart: those of the one Path of a chain of two, R = 30 s.
#[test]
fn rfc2205_s3_7_refreshes_are_half_to_one_and_a_half_periods_apart() {
    let mut network = Network::new(2, chain(2), config(2, vec![session("trunk", 2, 1)]));
    network.run(30_000_000 * MS);
    let times: Vec<u64> = network.sent("path").iter().map(|message| message.0).collect();
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (15_000 * MS..=45_000 * MS).contains(gap)));
    // Uniform: mean 30 s, deviation 30 / sqrt(12) = 8.66 s; a thousand gaps err by 0.27 s.
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    assert!(gaps.len() > 900 && mean.abs_diff(30_000 * MS) < 1_200 * MS, "{mean}");
}

/// The link falls silent at 1 s and nobody notices: the tail's state dies one lifetime after the
/// last Path that came, 52.5 s with R = 10 s, and the reservation behind the head with it.
#[test]
fn rfc2205_s3_7_a_state_without_refresh_dies_after_its_lifetime() {
    let mut rsvp_config = config(2, vec![session("trunk", 2, 1_000_000)]);
    rsvp_config.refresh_ns = 10_000 * MS;
    let mut network = Network::new(2, chain(2), rsvp_config);
    network.run(1000 * MS);
    assert_eq!((network.rsvp.states(), network.rsvp.reserved(0)), (2, 1_000_000));
    network.wires.dead = vec![true; 2];
    network.run(70_000 * MS);
    // The Path of 152 bytes took 0.1216 ms and 4 ms.
    assert_eq!(network.events("timed-out")[0], 52_500 * MS + 4_121_600);
    assert_eq!(network.rsvp.reserved(0), 0);
}

/// Sent at 0, then after 0.5 s, then after another 1 s: three transmissions, Rl = 3, and after
/// 2 s more the sender gives up.
#[test]
fn rfc2961_s6_a_message_is_sent_at_0_0_5_and_1_5_s_and_given_up_at_3_5_s() {
    let mut rsvp_config = config(2, vec![session("trunk", 2, 1_000_000)]);
    rsvp_config.resend_ns = Some(500 * MS);
    let mut network = Network::new(2, chain(2), rsvp_config);
    network.wires.dead = vec![true; 2];
    network.run(10_000 * MS);
    let times: Vec<u64> = network.sent("path").iter().map(|message| message.0 / MS).collect();
    assert_eq!(times, [0, 500, 1500]);
    assert_eq!(network.events("lost"), [3500 * MS]);
}

/// Section 6.2: with Rf = 0.5 s, Delta = 1 and Rl = 7 the intervals are 0.5, 1, 2, 4, 8, 16 s, and the
/// sender gives up another 32 s after the seventh transmission.
#[test]
fn rfc2961_s6_2_seven_transmissions_double_their_interval() {
    let mut rsvp_config = config(7, vec![session("trunk", 2, 1_000_000)]);
    (rsvp_config.resend_ns, rsvp_config.resend_limit) = (Some(500 * MS), 7);
    let mut network = Network::new(2, chain(2), rsvp_config);
    network.wires.dead = vec![true; 2];
    network.run(70_000 * MS);
    let times: Vec<u64> = network.sent("path").iter().map(|message| message.0 / MS).collect();
    assert_eq!(times[..7], [0, 500, 1500, 3500, 7500, 15_500, 31_500]);
    assert_eq!(network.events("lost"), [63_500 * MS]);
}

/// Section 6.2 with Delta = 0.5: 0.5, 0.75, 1.125 s. The first that arrives is acknowledged, and
/// the rest is not sent: Rn becomes Rl. One way takes 0.1216 ms (152 B) and 4 ms.
#[test]
fn rfc2961_s6_2_the_interval_grows_by_delta_until_an_acknowledgement_comes() {
    let mut rsvp_config = config(8, vec![session("trunk", 2, 1_000_000)]);
    (rsvp_config.resend_ns, rsvp_config.resend_limit, rsvp_config.resend_increment) =
        (Some(500 * MS), 7, 0.5);
    let mut network = Network::new(2, chain(2), rsvp_config);
    network.wires.dead = vec![true; 2];
    network.run(2_000 * MS);
    network.wires.dead = vec![false; 2];
    network.run(20_000 * MS);
    let times: Vec<u64> = network.sent("path").iter().map(|message| message.0 / 1000).collect();
    assert_eq!(times[..4], [0, 500_000, 1_250_000, 2_375_000]);
    let later: Vec<u64> = times[4..].to_vec();
    assert!(later.iter().all(|at| *at > 15_000_000), "only refreshes: {later:?}");
    assert!(network.events("lost").is_empty());
    assert_eq!(network.rsvp.states(), 2);
}

/// With acknowledgements and summaries a state lives on identifiers alone: no second Path or Resv
/// is sent in ten lifetimes, and nothing dies.
#[test]
fn rfc2961_s5_summary_refresh_keeps_states_alive() {
    let mut rsvp_config = config(6, vec![session("trunk", 4, 1_000_000)]);
    (rsvp_config.resend_ns, rsvp_config.summary, rsvp_config.refresh_ns) =
        (Some(500 * MS), true, 1000 * MS);
    let mut network = Network::new(4, chain(4), rsvp_config);
    network.run(52_500 * MS);
    assert_eq!((network.sent("path").len(), network.sent("resv").len()), (3, 3));
    assert!(network.events("timed-out").is_empty() && network.sent("srefresh").len() > 100);
    assert_eq!(network.rsvp.states(), 4);
}

/// A link of 10 Mbit/s: 6 and 6 do not fit, the second head hears 1/2.
#[test]
fn rfc2205_b_admission_control_failure_is_code_1_value_2() {
    let sessions = vec![session("first", 3, 6_000_000), session("other", 3, 6_000_000)];
    let mut network = Network::new(3, chain(3), config(4, sessions));
    network.run(1000 * MS);
    assert_eq!(network.events("up").len(), 1);
    let refused: Vec<_> = network.wires.rows.iter().filter(|row| row.1 == "refused").collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].2.value, Some(1 << 16 | 2));
    assert_eq!((network.rsvp.reserved(0), network.rsvp.reserved(2)), (6_000_000, 6_000_000));
}

/// Holding priority 7 gives way to setup priority 0: hard, the victim goes; the error is 2/5.
#[test]
fn rfc3209_s4_7_1_a_stronger_path_preempts() {
    let weak = session("weak", 3, 6_000_000);
    let mut strong = session("strong", 3, 6_000_000);
    (strong.setup, strong.hold, strong.start_ns) = (0, 0, Some(500 * MS));
    let mut network = Network::new(3, chain(3), config(4, vec![weak, strong]));
    network.run(900 * MS);
    assert_eq!(network.events("preempted").len(), 1);
    let down: Vec<_> = network.wires.rows.iter().filter(|row| row.1 == "down").collect();
    assert_eq!((down.len(), down[0].2.session, down[0].2.value), (1, 0, Some(2 << 16 | 5)));
    assert_eq!((network.rsvp.reserved(0), network.rsvp.reserved(2)), (6_000_000, 6_000_000));
}

/// 6 of 10 Mbit/s are held and 8 are asked for on the same links: 6 + 8 do not fit, but the two
/// share, so that 8 are held while both are there and after.
#[test]
fn rfc3209_s2_4_2_make_before_break_counts_the_larger_once() {
    let mut rsvp_config = config(4, vec![session("trunk", 3, 6_000_000)]);
    let action = Action::Resize { bandwidth_bit_s: 8_000_000 };
    rsvp_config.orders = vec![Order { at_ns: 500 * MS, session: 0, action }];
    let mut network = Network::new(3, chain(3), rsvp_config);
    network.run(1000 * MS);
    assert_eq!(network.events("moved").len(), 1);
    assert_eq!((network.rsvp.states(), network.rsvp.reserved(2)), (6, 8_000_000));
    network.run(2000 * MS);
    assert_eq!((network.rsvp.states(), network.rsvp.reserved(2)), (3, 8_000_000));
    assert!(network.events("down").is_empty());
}

/// Torn down, nothing is left: no state, no reservation, no entry, no label.
#[test]
fn rfc2205_s3_1_5_a_tear_releases_everything() {
    let sessions: Vec<Session> = (0..5).map(|_| session("trunk", 4, 1_000_000)).collect();
    let mut rsvp_config = config(6, sessions);
    let tear = |session| Order { at_ns: 500 * MS, session, action: Action::Tear {} };
    rsvp_config.orders = (0..5).map(tear).collect();
    let mut network = Network::new(4, chain(4), rsvp_config);
    network.run(400 * MS);
    assert_eq!((network.rsvp.states(), network.rsvp.reserved(0)), (20, 5_000_000));
    assert!(!network.wires.entries.is_empty() && !network.wires.labels.is_empty());
    network.run(1000 * MS);
    assert_eq!(network.rsvp.states(), 0);
    assert_eq!((0..6).map(|link| network.rsvp.reserved(link)).sum::<u64>(), 0);
    assert!(network.wires.entries.is_empty() && network.wires.labels.is_empty());
}

/// Two heads ask for 6 of 10 Mbit/s within the flooding time: the second is refused where the
/// first has reserved, goes around at once and is up on the longer way.
#[test]
fn rfc4920_s3_crankback_goes_around_the_link_that_refused() {
    let sessions = vec![dynamic("first", 6_000_000, 0), dynamic("other", 6_000_000, 50 * MS)];
    let mut rsvp_config = config(8, sessions);
    (rsvp_config.flooding_ns, rsvp_config.attempts) = (Some(10_000 * MS), 3);
    let mut network = Network::new(4, square(), rsvp_config);
    network.run(1000 * MS);
    assert_eq!((rows(&network, "refused", 1).len(), rows(&network, "up", 1).len()), (1, 1));
    assert_eq!((network.rsvp.reserved(2), network.rsvp.reserved(6)), (6_000_000, 6_000_000));
}

/// Attempts are bounded: with one way alone, 3 attempts are not made, since no route is left
/// after the first refusal.
#[test]
fn rfc4920_s3_attempts_end_where_no_route_is_left() {
    let mut other = session("other", 3, 6_000_000);
    other.dynamic = true;
    let mut rsvp_config = config(4, vec![session("first", 3, 6_000_000), other]);
    (rsvp_config.flooding_ns, rsvp_config.attempts) = (Some(10_000 * MS), 3);
    let mut network = Network::new(3, chain(3), rsvp_config);
    network.run(1000 * MS);
    assert_eq!((rows(&network, "refused", 1).len(), rows(&network, "no-route", 1).len()), (1, 1));
}

/// RFC 5712: the weak path is notified, moves to the other way before it is torn down, and is never
/// out of service.
#[test]
fn rfc5712_s5_a_softly_preempted_path_moves_without_going_down() {
    let mut strong = dynamic("strong", 6_000_000, 500 * MS);
    (strong.setup, strong.hold) = (0, 0);
    let mut rsvp_config = config(8, vec![dynamic("weak", 6_000_000, 0), strong]);
    (rsvp_config.soft_ns, rsvp_config.attempts) = (Some(5_000 * MS), 3);
    let mut network = Network::new(4, square(), rsvp_config);
    network.run(3000 * MS);
    assert!(!rows(&network, "soft-preempted", 0).is_empty());
    assert_eq!((rows(&network, "moved", 0).len(), rows(&network, "down", 0).len()), (1, 0));
    assert_eq!((network.rsvp.reserved(0), network.rsvp.reserved(4)), (6_000_000, 6_000_000));
}

/// A weak path that has nowhere to go is torn down when its time is over: 2/5.
#[test]
fn rfc5712_s5_a_softly_preempted_path_that_cannot_move_is_torn_down_in_the_end() {
    let mut strong = session("strong", 3, 6_000_000);
    (strong.setup, strong.hold, strong.start_ns) = (0, 0, Some(500 * MS));
    let mut rsvp_config = config(4, vec![session("weak", 3, 6_000_000), strong]);
    rsvp_config.soft_ns = Some(2_000 * MS);
    let mut network = Network::new(3, chain(3), rsvp_config);
    network.run(4000 * MS);
    let soft = rows(&network, "soft-preempted", 0);
    let hard = rows(&network, "preempted", 0);
    assert_eq!(hard[0] - soft[0], 2_000 * MS);
    assert_eq!(rows(&network, "down", 0).len(), 1);
    assert_eq!(network.rsvp.reserved(0), 6_000_000);
}

/// Hellos each 100 ms; the link falls silent at 1 s. The neighbour is lost after more than 350 ms
/// and is looked at each 100 ms: between 1.25 s and 1.46 s.
#[test]
fn rfc3209_s5_3_a_neighbour_is_lost_after_three_and_a_half_hellos() {
    let mut rsvp_config = config(8, vec![dynamic("trunk", 1_000_000, 0)]);
    rsvp_config.hello_ns = Some(100 * MS);
    let mut network = Network::new(4, square(), rsvp_config);
    network.run(1000 * MS);
    (network.wires.dead[2], network.wires.dead[3]) = (true, true);
    network.run(2000 * MS);
    let down = rows(&network, "down", 0);
    assert!((1_250 * MS..=1_465 * MS).contains(&down[0]), "{down:?}");
    assert_eq!((rows(&network, "up", 0).len(), network.rsvp.reserved(6)), (2, 1_000_000));
}

/// An order to set a path up computes its route if the path has none then and may have another: over 0 - 1 -
/// 3, which is shorter than the 0 - 2 - 3 of its configuration. A path that is up stays on its route, and
/// one with an explicit route (RFC 3209 section 4.3) has no other.
#[test]
fn rfc3209_s4_3_an_order_to_set_up_computes_a_route_for_a_path_that_is_down_and_may_have_another() {
    for (dynamic_route, is_torn, on_shorter) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
    {
        let mut trunk = dynamic("trunk", 1_000_000, 0);
        (trunk.dynamic, trunk.route) = (dynamic_route, vec![4, 6]);
        let order = |at, action| Order { at_ns: at * MS, session: 0, action };
        let mut rsvp_config = config(8, vec![trunk]);
        rsvp_config.orders = vec![order(200, Action::Tear {}), order(400, Action::SetUp {})];
        rsvp_config.orders.drain(..usize::from(!is_torn));
        let mut network = Network::new(4, square(), rsvp_config);
        network.run(5_000 * MS);
        let reserved = [0, 4].map(|link| network.rsvp.reserved(link));
        let expected = if on_shorter { [1_000_000, 0] } else { [0, 1_000_000] };
        assert_eq!(reserved, expected, "{dynamic_route} {is_torn}");
    }
}

/// Samples of a second: 1, 10, 1 and 0 Gbit/s of the path's bytes; at the end of the interval of 4 s the
/// largest is requested to the bit, within the bounds.
#[test]
fn rfc8733_s4_automatic_bandwidth_requests_the_largest_sample_of_an_interval() {
    for (bounds, requested) in [
        ([0, 20_000_000_000], 10_000_000_000),
        ([0, 9_999_999_999], 9_999_999_999),
        ([10_000_000_001, 20_000_000_000], 10_000_000_001),
    ] {
        let mut trunk = session("trunk", 2, 1_000_000);
        trunk.auto_bandwidth = Some(AutoBandwidth {
            sample_ns: 1_000 * MS,
            adjust_ns: 4_000 * MS,
            threshold: 0.0,
            minimum_bit_s: bounds[0],
            maximum_bit_s: bounds[1],
        });
        let mut rsvp_config = config(2, vec![trunk]);
        rsvp_config.reservable = vec![20_000_000_000; 2];
        let mut network = Network::new(2, chain(2), rsvp_config);
        for (second, bytes) in (0..).zip([125_000_000, 1_250_000_000, 125_000_000, 0]) {
            network.run(second * 1_000 * MS + 500 * MS);
            assert_eq!(network.rsvp.reserved(0), 1_000_000);
            network.wires.path_bytes += bytes;
        }
        // The old reservation is torn down a second after the move.
        network.run(7_500 * MS);
        assert_eq!(network.rsvp.reserved(0), requested);
    }
}

/// RFC 8733 section 4.3: an adjustment is a change. Where the load is what is reserved, 125,000 B a second for
/// 1 Mbit/s, nothing is signalled, even without a threshold.
#[test]
fn rfc8733_s4_3_a_load_that_is_reserved_already_changes_nothing() {
    let mut trunk = session("trunk", 2, 1_000_000);
    trunk.auto_bandwidth = Some(AutoBandwidth {
        sample_ns: 1_000 * MS,
        adjust_ns: 4_000 * MS,
        threshold: 0.0,
        minimum_bit_s: 0,
        maximum_bit_s: 20_000_000,
    });
    let mut network = Network::new(2, chain(2), config(2, vec![trunk]));
    network.run(500 * MS);
    let rows = network.wires.rows.len();
    for second in 0..8 {
        network.wires.path_bytes += 125_000;
        network.run((second * 1_000 + 1_500) * MS);
    }
    assert_eq!((network.rsvp.reserved(0), network.wires.rows.len()), (1_000_000, rows));
}

/// Whatever is asked, moved, resized and torn, in whatever order: at the end nothing is left, and
/// after every step what links hold is what states hold (checked in `run`).
#[test]
fn rfc2205_s3_1_5_any_sequence_of_orders_ends_with_nothing_held() {
    for seed in 0..40u64 {
        let mut draw = trunkline_units::RandomStream::new(seed, "orders", "test");
        let sessions: Vec<Session> = (0..6)
            .map(|_| {
                let mut new_session = dynamic("trunk", 1_000_000 * (1 + draw.below(6)), 0);
                new_session.hold = draw.below(8) as u8;
                new_session.setup =
                    new_session.hold + draw.below(8 - u64::from(new_session.hold)) as u8;
                new_session
            })
            .collect();
        let mut rsvp_config = config(8, sessions);
        rsvp_config.retry_ns = 200 * MS;
        rsvp_config.attempts = 3;
        rsvp_config.soft_ns = (seed % 2 == 0).then_some(100 * MS);
        rsvp_config.make_before_break = seed % 3 > 0;
        rsvp_config.flooding_ns = Some(draw.below(300) * MS);
        for step in 1..60u64 {
            let session = draw.below(6) as u32;
            let action = match draw.below(5) {
                0 => Action::SetUp {},
                1 => Action::Tear {},
                2 => Action::Move { route: None },
                3 => Action::Move { route: Some(vec![4, 6]) },
                _ => Action::Resize { bandwidth_bit_s: 1_000_000 * (1 + draw.below(9)) },
            };
            rsvp_config.orders.push(Order { at_ns: step * 37 * MS, session, action });
        }
        let end = |session| Order { at_ns: 5_000 * MS, session, action: Action::Tear {} };
        rsvp_config.orders.extend((0..6).map(end));
        let mut network = Network::new(4, square(), rsvp_config);
        for step in 1..140 {
            network.run(step * 40 * MS);
            for link in 0..8 {
                assert!(network.rsvp.reserved(link) <= 10_000_000, "link {link}, seed {seed}");
            }
        }
        network.run(20_000 * MS);
        assert_eq!(network.rsvp.states(), 0, "seed {seed}");
        assert_eq!((0..8).map(|link| network.rsvp.reserved(link)).sum::<u64>(), 0);
        assert!(network.wires.entries.is_empty() && network.wires.labels.is_empty(), "seed {seed}");
    }
}

/// Resvs of the tail are lost from 1 s on. Path 168, 160 and 152 bytes and Resv 128: the only one came
/// to node 2 at 16.4864 ms, and dies 52.5 s later. Each ResvTear: IP 20, header 8, SESSION 16, HOP 12,
/// STYLE 8, FILTER 12 = 76 bytes. The head answers with a PathTear; nobody sends a PathErr.
#[test]
fn rfc2205_s3_1_6_a_reservation_that_times_out_ends_upstream_by_resv_tears() {
    let mut rsvp_config = config(6, vec![session("trunk", 4, 1_000_000)]);
    rsvp_config.refresh_ns = 10_000 * MS;
    let mut network = Network::new(4, chain(4), rsvp_config);
    network.run(1000 * MS);
    network.wires.dead[5] = true;
    network.run(53_000 * MS);
    let died = 52_516_486_400;
    assert_eq!(network.events("timed-out"), [died]);
    let step = 4 * MS + 76 * 800;
    assert_eq!(network.sent("resv-tear"), [(died, 76), (died + step, 76)]);
    assert_eq!(network.events("down"), [died + 2 * step]);
    assert_eq!(network.sent("path-tear")[0].0, died + 2 * step);
    assert_eq!((network.sent("path-err").len(), network.sent("path-tear").len()), (0, 3));
    assert_eq!((0..6).map(|link| network.rsvp.reserved(link)).sum::<u64>(), 0);
}

/// Two heads ask for 6 of 10 Mbit/s on a link at once, and both Paths pass it. The first Resv takes
/// the bandwidth; the second is refused there: ResvErr 1/2 to the tail, PathErr 1/2 to the head.
#[test]
fn rfc2205_s3_1_8_a_resv_that_is_not_admitted_is_answered_by_a_resv_err_to_the_tail() {
    let sessions = vec![session("first", 4, 6_000_000), session("other", 4, 6_000_000)];
    let mut network = Network::new(4, chain(4), config(6, sessions));
    network.run(1000 * MS);
    let refused: Vec<_> = network.wires.rows.iter().filter(|row| row.1 == "refused").collect();
    assert_eq!((refused.len(), refused[0].2.value), (1, Some(1 << 16 | 2)));
    // IP 20, header 8, SESSION 16, HOP 12, ERROR_SPEC 12, STYLE 8, FLOWSPEC 36, FILTER 12.
    assert_eq!(network.sent("resv-err").iter().map(|message| message.1).collect::<Vec<_>>(), [124]);
    assert_eq!(network.events("up").len(), 1);
    assert_eq!((0..3).map(|up| network.rsvp.reserved(2 * up)).collect::<Vec<_>>(), [6_000_000; 3]);
}

/// The link out of the second of five nodes is the narrow one: the ResvErr passes the third and the
/// fourth to the tail.
#[test]
fn rfc2205_s3_1_8_each_node_passes_a_resv_err_on_to_the_tail() {
    let sessions = vec![session("first", 5, 6_000_000), session("other", 5, 6_000_000)];
    let mut lines = chain(5);
    lines.iter_mut().for_each(|line| line.rate_bit_s = 20_000_000);
    lines[2].rate_bit_s = 10_000_000;
    let mut rsvp_config = config(8, sessions);
    rsvp_config.reservable.iter_mut().for_each(|bit_s| *bit_s = 20_000_000);
    rsvp_config.reservable[2] = 10_000_000;
    let mut network = Network::new(5, lines, rsvp_config);
    network.run(1000 * MS);
    assert_eq!(network.sent("resv-err").len(), 3);
    assert_eq!(network.events("up").len(), 1);
}

/// 4 of 10 Mbit/s are taken on the short way. With news of changes from half of a link on, the head of
/// another path of 8 believes that there is room, and hears 1/2; with all known it stays where it is.
#[test]
fn rfc4920_s3_a_head_whose_database_is_behind_by_a_threshold_is_refused() {
    for (threshold, refused) in [(0.5, 1), (0.0, 0)] {
        let mut other = dynamic("other", 8_000_000, 0);
        other.route = vec![4, 6];
        let mut rsvp_config = config(8, vec![dynamic("first", 4_000_000, 0), other]);
        (rsvp_config.flooding_threshold, rsvp_config.attempts) = (threshold, 4);
        let action = Action::Move { route: None };
        rsvp_config.orders = vec![Order { at_ns: 500 * MS, session: 1, action }];
        let mut network = Network::new(4, square(), rsvp_config);
        network.run(1000 * MS);
        assert_eq!(network.events("refused").len(), refused);
        assert_eq!(network.events("moved").len(), 1);
        assert_eq!((network.rsvp.reserved(0), network.rsvp.reserved(4)), (4_000_000, 8_000_000));
    }
}

/// RFC 4124 section 6.5: the class type and a priority that form no TE-class are refused with code 32,
/// and values 4, 5 and 6 for setup, holding and both. With (1, 3) and (1, 5) alone.
#[test]
fn rfc4124_s6_5_what_is_no_te_class_is_refused_by_code_32() {
    for (setup, hold, value) in [(7, 3, 4), (5, 2, 5), (7, 2, 6)] {
        let mut rsvp_config = config(2, vec![session("trunk", 2, 1_000_000)]);
        rsvp_config.class_types.te_classes =
            [3, 5].map(|priority| TeClass { class_type: 1, priority }).to_vec();
        let asked = &mut rsvp_config.sessions[0];
        (asked.class_type, asked.setup, asked.hold) = (1, setup, hold);
        let mut network = Network::new(2, chain(2), rsvp_config);
        network.run(100 * MS);
        let refused = network.wires.rows.iter().find(|row| row.1 == "refused").expect("refused");
        assert_eq!(refused.2.value, Some(32 << 16 | value));
        assert!(network.events("up").is_empty());
    }
}

/// RFC 4124 section 6.1: CLASSTYPE is class 66, C-type 1, 8 bytes with the class type in the last three
/// bits; a Path of class type 0 has none, and no Resv does.
#[test]
fn rfc4124_s6_1_a_path_has_its_class_type_unless_it_is_0() {
    for class_type in [0, 1, 7] {
        let mut rsvp_config = config(2, vec![session("trunk", 2, 1_000_000)]);
        rsvp_config.class_types.te_classes = vec![TeClass { class_type, priority: 7 }];
        rsvp_config.sessions[0].class_type = class_type;
        let mut network = Network::new(2, chain(2), rsvp_config);
        network.run(100 * MS);
        let object = [0, 8, 66, 1, 0, 0, 0, class_type];
        let has = |kind| {
            let messages = network.wires.octets.iter().filter(move |message| message.1 == kind);
            messages
                .map(|message| message.2.windows(8).any(|part| part == object))
                .collect::<Vec<_>>()
        };
        assert_eq!((has("path"), has("resv")), (vec![class_type > 0], vec![false]));
        assert_eq!(network.events("up").len(), 1);
    }
}

/// Something follows from a message when it is handled, but at once where it may be one around a failure,
/// which a bypass takes on as it arrives.
#[test]
fn a_bypass_passes_messages_on_as_they_arrive() {
    let mut plain = config(2, vec![session("a", 2, 1), session("b", 2, 1)]);
    plain.processing_ns = 5 * MS;
    assert_eq!((plain.handling_time(), plain.has_tunnels()), (5 * MS, false));
    plain.sessions[1].around = vec![0];
    assert_eq!((plain.handling_time(), plain.has_tunnels()), (0, true));
}

/// The tail advertises implicit null unless it is to take the label off itself (RFC 3032 section 2.1): explicit null,
/// or a label of its own, which it then expects. The node before it puts that label on, or none.
#[test]
fn rfc3032_s2_1_the_label_that_the_tail_advertises() {
    for (given, is_own, advertised) in
        [(None, false, None), (Some(0), false, Some(0)), (Some(16), true, None)]
    {
        let mut path = session("a", 3, 0);
        path.hops[2].label = given;
        let mut network = Network::new(3, chain(3), config(4, vec![path]));
        network.run(1000 * MS);
        let of = |node| network.wires.labels.keys().find(|key| key.0 == node).map(|key| key.1);
        let middle = network.wires.labels[&(1, of(1).expect("a label for node 0"))];
        let pushed = network.wires.entries[&middle].push;
        assert_eq!(pushed, if is_own { of(2) } else { advertised }, "{given:?}");
        assert_eq!(of(2).is_some_and(|label| label >= 16), is_own, "{given:?}");
    }
}

/// Heads sample at each interval that a path has, each once, in order.
#[test]
fn rfc8733_s4_the_intervals_of_samples() {
    let automatic = |sample_ns| {
        let mut trunk = session("t", 3, 0);
        trunk.auto_bandwidth = Some(AutoBandwidth {
            sample_ns,
            adjust_ns: 10 * sample_ns,
            threshold: 0.1,
            minimum_bit_s: 0,
            maximum_bit_s: 1_000_000,
        });
        trunk
    };
    let sessions = vec![session("a", 3, 0), automatic(7), automatic(5), automatic(7)];
    assert_eq!(config(4, sessions).sample_intervals(), [5, 7]);
}

/// A head looks for a better route at each interval: over 1 the way to 3 costs 2, over 2 it costs `far`. A path over
/// 2 moves at 500 ms where it is dearer, and stays where it is as dear; one over 1 stays.
#[test]
fn rfc3209_s2_5_a_path_moves_to_a_route_that_is_better() {
    for (route, far, moves) in [([4, 6], 2, true), ([4, 6], 1, false), ([0, 2], 2, false)] {
        let lines = both([(0, 1, 1), (1, 3, 1), (0, 2, far), (2, 3, far)]);
        let mut path = dynamic("p", 1_000_000, 0);
        path.route = route.to_vec();
        let mut rsvp_config = config(lines.len(), vec![path]);
        rsvp_config.reoptimise_ns = Some(500 * MS);
        let mut network = Network::new(4, lines, rsvp_config);
        let heard_from = |network: &Network, link| {
            let of = network.wires.sent.iter().filter(|sent| sent.1 == link && sent.2 == "path");
            of.map(|sent| sent.0).collect::<Vec<_>>()
        };
        network.run(900 * MS);
        assert_eq!(heard_from(&network, route[0]), [0]);
        let elsewhere = heard_from(&network, if route[0] == 0 { 4 } else { 0 });
        assert_eq!(elsewhere, if moves { vec![500 * MS] } else { vec![] }, "{route:?} {far}");
    }
}
