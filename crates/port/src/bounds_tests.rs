//! Each parameter of each part is accepted at its bound and refused beyond, with its key.
//!
//! The bounds are those of the keys' documentation. The language refuses the same; these hold for what
//! builds a part without it.

use crate::aqm::{Aqm, AqmConfig};
use crate::meter::{Meter, MeterConfig};
use crate::sched::{PriorityShare, Sched, SchedulerConfig};
use crate::InvalidParameter;
use serde_json::{json, Value};

const LINE_BIT_S: u64 = 10_000_000;
const DEEPEST: u64 = 2_000_000_000;

/// Builds the part of a configuration.
fn build(part: &str, config: &Value) -> Result<(), InvalidParameter> {
    let text = config.to_string();
    match part {
        "aqm" => {
            let config: AqmConfig = serde_json::from_str(&text).expect(&text);
            Aqm::new(&config, LINE_BIT_S).map(|_| ())
        }
        "meter" => {
            let config: MeterConfig = serde_json::from_str(&text).expect(&text);
            Meter::new(&config).map(|_| ())
        }
        _ => {
            let config: SchedulerConfig = serde_json::from_str(&text).expect(&text);
            Sched::new(&config, LINE_BIT_S).map(|_| ())
        }
    }
}

/// Tries values in one place of a configuration: those that are accepted, and those that are refused
/// for `key`.
#[track_caller]
fn try_bound(part: &str, config: &Value, place: &str, good: &[Value], bad: &[Value], key: &str) {
    let with = |value: &Value| {
        let mut changed = config.clone();
        *changed.pointer_mut(place).expect(place) = value.clone();
        build(part, &changed)
    };
    for value in good {
        assert_eq!(with(value), Ok(()), "{place} {value}");
    }
    for value in bad {
        assert_eq!(with(value).map_err(|why| why.key), Err(key), "{place} {value}");
    }
}

/// The same for keys that must be above 0.
#[track_caller]
fn try_above_zero(part: &str, config: &Value, places: &[(&str, Value)]) {
    for (place, smallest) in places {
        let key = place.rsplit('/').next().expect("a place has a last step");
        try_bound(part, config, place, std::slice::from_ref(smallest), &[json!(0)], key);
    }
}

#[test]
fn aqms_have_their_bounds() {
    let red = json!({"kind": "red", "min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.002,
        "gentle": true, "unit": "packets", "mean_packet_bytes": 1000, "spacing": "uniform"});
    let share = [json!(1e-9), json!(1)];
    let no_share = [json!(0), json!(-0.1), json!(1.001)];
    try_bound("aqm", &red, "/min_th", &[json!(0)], &[json!(-0.1)], "min_th");
    try_bound("aqm", &red, "/max_th", &[json!(5.1)], &[json!(5)], "max_th");
    try_bound("aqm", &red, "/max_p", &share, &no_share, "max_p");
    try_bound("aqm", &red, "/w_q", &share, &no_share, "w_q");
    try_above_zero("aqm", &red, &[("/mean_packet_bytes", json!(1))]);

    let curve = json!({"min_th": 5, "max_th": 15, "max_p": 0.1});
    for kind in ["wred", "rio-c", "rio-d"] {
        let wred = json!({"kind": kind, "precedences": [curve, curve], "w_q": 0.002, "gentle": false,
            "mean_packet_bytes": 1000, "spacing": "uniform"});
        let many = |count| json!(vec![curve.clone(); count]);
        let (good, bad) = ([many(1), many(256)], [many(0), many(257)]);
        try_bound("aqm", &wred, "/precedences", &good, &bad, "precedences");
        try_bound("aqm", &wred, "/precedences/1/max_p", &share, &no_share, "max_p");
        try_bound("aqm", &wred, "/w_q", &share, &no_share, "w_q");
        try_above_zero("aqm", &wred, &[("/mean_packet_bytes", json!(1))]);
    }

    let tail = json!({"kind": "precedence-drop-tail", "limits_packets": [1], "counted": "own"});
    let many = |count| json!(vec![1; count]);
    let (good, bad) = ([many(1), many(256)], [many(0), many(257)]);
    try_bound("aqm", &tail, "/limits_packets", &good, &bad, "limits_packets");

    let tc = json!({"min_bytes": 30_000, "max_bytes": 90_000, "avpkt_bytes": 1000,
        "burst_packets": 55, "bandwidth_bit_s": 10_000_000, "probability": 0.02});
    let linux = json!({"kind": "red-linux", "parameters": tc, "age": "max-p", "harddrop": false,
        "idle_ageing": true, "adaptive": true});
    let parameters = "/parameters";
    let at = |key: &str| format!("{parameters}/{key}");
    try_bound("aqm", &linux, &at("max_bytes"), &[json!(30_001)], &[json!(30_000)], "max_bytes");
    try_bound("aqm", &linux, &at("avpkt_bytes"), &[], &[json!(0)], "avpkt_bytes");
    try_bound("aqm", &linux, &at("bandwidth_bit_s"), &[], &[json!(0)], "bandwidth_bit_s");
    let (good, bad) = ([json!(0.001), json!(0.999)], [json!(0), json!(1)]);
    try_bound("aqm", &linux, &at("probability"), &good, &bad, "probability");
    // burst + 1 - min / avpkt is 1 at 30, for which any weight will do; 29 packets are too few.
    try_bound("aqm", &linux, &at("burst_packets"), &[json!(30)], &[json!(29)], "burst_packets");
    try_bound("aqm", &linux, "/age", &[json!("max-p")], &[json!("plog")], "adaptive");

    let level = |dp: u32| json!({"dp": dp, "limit_bytes": 1, "prio": 1, "parameters": tc});
    let gred = json!({"kind": "gred", "dps": [level(0)], "default_dp": 0, "grio": false,
        "age": "max-p", "harddrop": false});
    let (good, bad) = ([json!([level(15)])], [json!([]), json!([level(16)])]);
    try_bound("aqm", &gred, "/dps", &good, &bad[..1], "dps");
    try_bound("aqm", &gred, "/dps", &[], &bad[1..], "dp");
    let twice = [json!([level(1), level(1)])];
    try_bound("aqm", &gred, "/dps", &[json!([level(1), level(2)])], &twice, "dp");
    try_bound("aqm", &gred, "/default_dp", &[json!(15)], &[json!(16)], "default_dp");

    let codel = json!({"kind": "codel", "target_ns": 5, "interval_ns": 100, "mtu_bytes": 1500,
        "ce_threshold_ns": null, "arithmetic": "exact"});
    let cobalt = json!({"kind": "cobalt", "target_ns": 5, "interval_ns": 100, "mtu_time_ns": 1});
    for config in [&codel, &cobalt] {
        try_above_zero("aqm", config, &[("/target_ns", json!(1))]);
        try_bound("aqm", config, "/interval_ns", &[json!(6)], &[json!(5)], "interval_ns");
    }
    try_above_zero("aqm", &codel, &[("/mtu_bytes", json!(1))]);

    let pie = json!({"kind": "pie", "target_ns": 5, "tupdate_ns": 5, "alpha": 0.125, "beta": 1.25,
        "burst_ns": 0, "mtu_bytes": 1500, "arithmetic": "exact"});
    let dual = json!({"kind": "dualpi2", "target_ns": 5, "tupdate_ns": 5, "alpha": 0.16, "beta": 3.2,
        "coupling": 2, "step_ns": 0, "protection": 0.1, "mtu_bytes": 1500});
    for config in [&pie, &dual] {
        try_above_zero(
            "aqm",
            config,
            &[
                ("/target_ns", json!(1)),
                ("/tupdate_ns", json!(1)),
                ("/alpha", json!(1e-9)),
                ("/beta", json!(1e-9)),
                ("/mtu_bytes", json!(1)),
            ],
        );
    }
    try_above_zero("aqm", &dual, &[("/coupling", json!(1e-9))]);
    let (good, bad) = ([json!(0), json!(0.999)], [json!(-0.1), json!(1)]);
    try_bound("aqm", &dual, "/protection", &good, &bad, "protection");

    let blue = json!({"kind": "blue", "threshold": 9, "unit": "packets", "increment": 0.02,
        "decrement": 0.002, "freeze_ns": 10});
    try_bound("aqm", &blue, "/increment", &share, &no_share, "increment");
    try_bound("aqm", &blue, "/decrement", &share, &no_share, "decrement");
    try_above_zero("aqm", &blue, &[("/freeze_ns", json!(1))]);
}

#[test]
fn meters_have_their_bounds() {
    let bucket = json!({"kind": "token-bucket", "rate_bit_s": 8, "burst_bytes": 9,
        "peak_rate_bit_s": 9, "peak_burst_bytes": 9, "colour_aware": false});
    let depths = ([json!(1), json!(DEEPEST)], [json!(0), json!(DEEPEST + 1)]);
    let from_zero = ([json!(0), json!(DEEPEST)], [json!(DEEPEST + 1)]);
    for key in ["burst_bytes", "peak_burst_bytes"] {
        try_bound("meter", &bucket, &format!("/{key}"), &depths.0, &depths.1, key);
    }
    try_above_zero("meter", &bucket, &[("/rate_bit_s", json!(1))]);
    try_bound("meter", &bucket, "/peak_rate_bit_s", &[json!(8)], &[json!(7)], "peak_rate_bit_s");
    try_bound("meter", &bucket, "/peak_rate_bit_s", &[], &[json!(0)], "peak_burst_bytes");
    let plain = json!({"kind": "token-bucket", "rate_bit_s": 8, "burst_bytes": 9,
        "peak_rate_bit_s": 0, "peak_burst_bytes": 0, "colour_aware": false});
    try_bound("meter", &plain, "/peak_burst_bytes", &[json!(0)], &[json!(1)], "peak_burst_bytes");

    let single = json!({"kind": "srtcm", "cir_bit_s": 8, "cbs_bytes": 9, "ebs_bytes": 9,
        "colour_aware": false});
    try_above_zero("meter", &single, &[("/cir_bit_s", json!(1))]);
    for key in ["cbs_bytes", "ebs_bytes"] {
        try_bound("meter", &single, &format!("/{key}"), &from_zero.0, &from_zero.1, key);
    }
    let mut one = single.clone();
    one["ebs_bytes"] = json!(0);
    try_bound("meter", &one, "/cbs_bytes", &[json!(1)], &[json!(0)], "cbs_bytes");

    let two = json!({"kind": "trtcm", "cir_bit_s": 8, "cbs_bytes": 9, "pir_bit_s": 9, "pbs_bytes": 9,
        "colour_aware": false});
    try_above_zero("meter", &two, &[("/cir_bit_s", json!(1))]);
    try_bound("meter", &two, "/pir_bit_s", &[json!(8)], &[json!(7)], "pir_bit_s");
    for key in ["cbs_bytes", "pbs_bytes"] {
        try_bound("meter", &two, &format!("/{key}"), &depths.0, &depths.1, key);
    }

    let efficient = json!({"kind": "rfc4115", "cir_bit_s": 8, "cbs_bytes": 9, "eir_bit_s": 9,
        "ebs_bytes": 9, "colour_aware": false});
    for (rate, key) in [("cir_bit_s", "cbs_bytes"), ("eir_bit_s", "ebs_bytes")] {
        try_bound("meter", &efficient, &format!("/{key}"), &depths.0, &depths.1, key);
        let mut without = efficient.clone();
        without[rate] = json!(0);
        try_bound("meter", &without, &format!("/{key}"), &from_zero.0, &from_zero.1, key);
        let other = if rate == "cir_bit_s" { "/eir_bit_s" } else { "/cir_bit_s" };
        try_bound("meter", &without, other, &[json!(1)], &[json!(0)], "cir_bit_s");
    }

    let window = json!({"kind": "tsw3cm", "ctr_bit_s": 8, "ptr_bit_s": 9, "avg_interval_ns": 9});
    let bounds = [("/ctr_bit_s", json!(1)), ("/avg_interval_ns", json!(1))];
    try_above_zero("meter", &window, &bounds);
    try_bound("meter", &window, "/ptr_bit_s", &[json!(8)], &[json!(7)], "ptr_bit_s");
    let window = json!({"kind": "tsw2cm", "ctr_bit_s": 8, "avg_interval_ns": 9});
    try_above_zero("meter", &window, &bounds);
}

#[test]
fn schedulers_have_their_bounds() {
    let of = |kind: &str, share: Value| json!({"kind": kind, "shares": [share]});
    let shares = |config: &Value, count| json!(vec![config["shares"][0].clone(); count]);
    let priority = of("priority", json!({"priority": 0}));
    let wrr = of("wrr", json!({"weight": 1}));
    let drr = of("drr", json!({"quantum_bytes": 0, "weight": 1}));
    let wfq = of("wfq", json!({"weight": 1}));
    let shaped = of("shaped", json!({"priority": 0, "rate_bit_s": 8, "burst_bytes": 9}));
    let cake = of("cake", json!({"priority": 0, "rate_bit_s": 8}));
    let htb = of(
        "htb",
        json!({"priority": 0, "quantum_bytes": 0, "rate_bit_s": 8, "ceil_bit_s": 8,
        "burst_bytes": 9, "cburst_bytes": 9, "parent": null}),
    );
    let curve = json!({"m1_bit_s": 0, "d_ns": 9, "m2_bit_s": 8});
    let hfsc = of(
        "hfsc",
        json!({"real_time": null, "link_share": curve, "upper_limit": null,
        "parent": null}),
    );
    let cbq = of(
        "cbq",
        json!({"priority": 0, "quantum_bytes": 0, "rate_bit_s": 8, "parent": null,
        "borrow": true, "isolated": false, "max_burst_packets": 1, "average_packet_bytes": 1000,
        "ewma_log": 5, "min_idle_ns": null}),
    );
    for config in [&priority, &wrr, &drr, &wfq, &shaped, &cake, &htb, &hfsc, &cbq] {
        let good = [shares(config, 1), shares(config, 2)];
        try_bound("scheduler", config, "/shares", &good, &[json!([])], "classes");
    }
    // A class is a number of 16 bits, and one more may be needed for the line.
    for (count, expected) in [(65_534, None), (65_535, Some("classes"))] {
        let shares = vec![PriorityShare { priority: 0 }; count];
        let built = Sched::new(&SchedulerConfig::Priority { shares }, LINE_BIT_S);
        assert_eq!(built.map_err(|why| why.key).err(), expected);
    }

    let fifo = of("fifo", json!({}));
    let bad = [shares(&fifo, 0), shares(&fifo, 2)];
    try_bound("scheduler", &fifo, "/shares", &[shares(&fifo, 1)], &bad, "scheduler");
    let tbf = of(
        "tbf",
        json!({"rate_bit_s": 8, "burst_bytes": 9, "peak_rate_bit_s": 9,
        "min_burst_bytes": 9}),
    );
    let bad = [shares(&tbf, 0), shares(&tbf, 2)];
    try_bound("scheduler", &tbf, "/shares", &[shares(&tbf, 1)], &bad, "scheduler");

    try_above_zero("scheduler", &wrr, &[("/shares/0/weight", json!(1))]);
    try_above_zero("scheduler", &wfq, &[("/shares/0/weight", json!(1))]);
    try_above_zero("scheduler", &drr, &[("/shares/0/weight", json!(1))]);
    let quantum = of("drr", json!({"quantum_bytes": 1, "weight": 0}));
    try_bound("scheduler", &quantum, "/shares/0/quantum_bytes", &[json!(1)], &[json!(0)], "weight");
    let place = "/shares/0/burst_bytes";
    try_bound("scheduler", &shaped, place, &[json!(1)], &[json!(0)], "burst_bytes");
    let unshaped = of("shaped", json!({"priority": 0, "rate_bit_s": 0, "burst_bytes": 0}));
    assert_eq!(build("scheduler", &unshaped), Ok(()));
    try_above_zero("scheduler", &cake, &[("/shares/0/rate_bit_s", json!(1))]);

    try_above_zero(
        "scheduler",
        &tbf,
        &[
            ("/shares/0/rate_bit_s", json!(1)),
            ("/shares/0/burst_bytes", json!(1)),
            ("/shares/0/min_burst_bytes", json!(1)),
        ],
    );
    let place = "/shares/0/peak_rate_bit_s";
    try_bound("scheduler", &tbf, place, &[json!(0), json!(9)], &[json!(8)], "peak_rate_bit_s");

    let (zero, seven) = (json!(0), json!(7));
    try_above_zero("scheduler", &htb, &[("/shares/0/rate_bit_s", json!(1))]);
    let place = "/shares/0/ceil_bit_s";
    try_bound(
        "scheduler",
        &htb,
        place,
        &[zero, json!(8)],
        std::slice::from_ref(&seven),
        "ceil_bit_s",
    );
    try_bound("scheduler", &htb, "/shares/0/priority", &[seven], &[json!(8)], "priority");

    let place = "/shares/0/link_share/m2_bit_s";
    try_bound("scheduler", &hfsc, place, &[json!(1)], &[json!(0)], "m2_bit_s");
    let falls = json!({"m1_bit_s": 8, "d_ns": 9, "m2_bit_s": 0});
    let (good, bad) = ([curve.clone(), falls], [json!(null)]);
    try_bound("scheduler", &hfsc, "/shares/0/link_share", &good, &bad, "link_share");
    let with = |link: &Value, real: &Value, limit: &Value, parent: Value| json!({"real_time": real, "link_share": link, "upper_limit": limit, "parent": parent});
    let (none, set) = (json!(null), curve);
    let leaf = |share: Value| of("hfsc", share);
    assert_eq!(build("scheduler", &leaf(with(&none, &set, &none, json!(null)))), Ok(()));
    let config = leaf(with(&none, &set, &set, json!(null)));
    try_bound("scheduler", &config, "/shares/0/upper_limit", &[json!(null)], &[], "");
    assert_eq!(build("scheduler", &config).map_err(|why| why.key), Err("upper_limit"));
    let tree = |above: Value| json!({"kind": "hfsc", "shares": [above, with(&set, &set, &none, json!(0))]});
    assert_eq!(build("scheduler", &tree(with(&set, &none, &set, json!(null)))), Ok(()));
    for (above, key) in [
        (with(&set, &set, &none, json!(null)), "real_time"),
        (with(&none, &set, &none, json!(null)), "link_share"),
    ] {
        assert_eq!(build("scheduler", &tree(above)).map_err(|why| why.key), Err(key));
    }

    let place = "/shares/0/rate_bit_s";
    let (good, bad) = ([json!(1), json!(LINE_BIT_S)], [json!(0), json!(LINE_BIT_S + 1)]);
    for kind in ["cbq", "cbq-ancestor-only"] {
        let mut config = cbq.clone();
        config["kind"] = json!(kind);
        try_bound("scheduler", &config, place, &good, &bad, "rate_bit_s");
        try_above_zero(
            "scheduler",
            &config,
            &[
                ("/shares/0/max_burst_packets", json!(1)),
                ("/shares/0/average_packet_bytes", json!(1)),
            ],
        );
        let (good, bad) = ([json!(1), json!(16)], [json!(0), json!(17)]);
        try_bound("scheduler", &config, "/shares/0/ewma_log", &good, &bad, "ewma_log");
    }

    // Classes that have others below them: another class is the parent, and the chain ends.
    for (config, deepest) in [(&htb, 7), (&hfsc, 15), (&cbq, 16)] {
        let chain = |count: u64| {
            let share = |class: u64| {
                let mut share = config["shares"][0].clone();
                share["parent"] = if class == 0 { json!(null) } else { json!(class - 1) };
                share
            };
            json!((0..count).map(share).collect::<Vec<_>>())
        };
        let (good, bad) = ([chain(deepest + 1)], [chain(deepest + 2)]);
        try_bound("scheduler", config, "/shares", &good, &bad, "parent");
        let mut pair = config.clone();
        pair["shares"] = chain(2);
        try_bound(
            "scheduler",
            &pair,
            "/shares/1/parent",
            &[json!(0)],
            &[json!(1), json!(2)],
            "parent",
        );
    }
}

/// A line without a rate has no schedule that its time could be counted in.
#[test]
fn schedulers_that_count_the_lines_time_need_its_rate() {
    let configs = [
        json!({"kind": "wfq", "shares": [{"weight": 1}]}),
        json!({"kind": "cbq", "shares": [{"priority": 0, "quantum_bytes": 0, "rate_bit_s": 8,
            "parent": null, "borrow": true, "isolated": false, "max_burst_packets": 1,
            "average_packet_bytes": 1000, "ewma_log": 5, "min_idle_ns": null}]}),
    ];
    for config in configs {
        let config: SchedulerConfig = serde_json::from_value(config).unwrap();
        assert_eq!(Sched::new(&config, 0).map_err(|why| why.key).err(), Some("rate"));
    }
}
