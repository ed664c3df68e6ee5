//! Rules that every scheduler obeys.

use super::{ClassHeads, Discipline, Sched, SchedulerChoice, SchedulerConfig};

/// Each with one class at 8000 bit/s or less and a burst of a byte where it has them; whether it is
/// work-conserving, and whether a packet that passes while none waits changes no state.
const CONFIGS: [(&str, bool, bool); 12] = [
    (r#"{"kind": "fifo", "shares": [{}]}"#, true, true),
    (r#"{"kind": "priority", "shares": [{"priority": 0}]}"#, true, true),
    (r#"{"kind": "drr", "shares": [{"quantum_bytes": 100, "weight": 0}]}"#, true, true),
    (r#"{"kind": "wrr", "shares": [{"weight": 1}]}"#, true, false),
    (r#"{"kind": "wfq", "shares": [{"weight": 1}]}"#, true, false),
    (
        r#"{"kind": "shaped", "shares": [{"priority": 0, "rate_bit_s": 8000, "burst_bytes": 1}]}"#,
        false,
        false,
    ),
    (
        r#"{"kind": "tbf", "shares": [{"rate_bit_s": 8000, "burst_bytes": 1, "peak_rate_bit_s": 0,
            "min_burst_bytes": 0}]}"#,
        false,
        false,
    ),
    (
        r#"{"kind": "htb", "shares": [{"priority": 0, "quantum_bytes": 0, "rate_bit_s": 8000,
            "ceil_bit_s": 0, "burst_bytes": 1, "cburst_bytes": 1, "parent": null}]}"#,
        false,
        false,
    ),
    (r#"{"kind": "cake", "shares": [{"priority": 0, "rate_bit_s": 8000}]}"#, false, false),
    (
        r#"{"kind": "hfsc", "shares": [{"real_time": null,
            "link_share": {"m1_bit_s": 8000, "d_ns": 0, "m2_bit_s": 8000},
            "upper_limit": {"m1_bit_s": 8000, "d_ns": 0, "m2_bit_s": 8000}, "parent": null}]}"#,
        false,
        false,
    ),
    (
        r#"{"kind": "cbq", "shares": [{"priority": 0, "quantum_bytes": 0, "rate_bit_s": 8000,
            "parent": null, "borrow": false, "isolated": false, "max_burst_packets": 1,
            "average_packet_bytes": 100, "ewma_log": 5, "min_idle_ns": null}]}"#,
        false,
        false,
    ),
    (
        r#"{"kind": "cbq-ancestor-only", "shares": [{"priority": 0, "quantum_bytes": 0,
            "rate_bit_s": 8000, "parent": null, "borrow": false, "isolated": false,
            "max_burst_packets": 1, "average_packet_bytes": 100, "ewma_log": 5,
            "min_idle_ns": null}]}"#,
        false,
        false,
    ),
];

fn build(text: &str) -> Sched {
    let config: SchedulerConfig = serde_json::from_str(text).expect(text);
    assert_eq!(config.classes(), 1);
    Sched::new(&config, 10_000_000).expect(text)
}

/// So many packets of 100 B wait in the only class.
struct Waiting(u32);

impl ClassHeads for Waiting {
    fn head(&mut self, _class: u16) -> Option<u32> {
        (self.0 > 0).then_some(100)
    }
}

/// Packets of 100 B, more than a class may send at once: a shaped one waits with the second, and each is
/// idle, not waiting, as soon as its only class is empty, whether its packet was sent or dropped.
#[test]
fn an_empty_scheduler_is_idle_and_a_work_conserving_one_never_waits() {
    for (text, conserves, _) in CONFIGS {
        for discards in [false, true] {
            let mut sched = build(text);
            assert_eq!(sched.choose(&mut Waiting(0), 0), SchedulerChoice::Idle, "{text}");
            sched.on_enqueue(0, 100, true, 0);
            sched.on_enqueue(0, 100, false, 0);
            assert_eq!(sched.choose(&mut Waiting(2), 0), SchedulerChoice::Class(0), "{text}");
            sched.on_dequeue(0, 100, false, 0);
            let mut now = 80_000;
            let second = sched.choose(&mut Waiting(1), now);
            assert_eq!(second == SchedulerChoice::Class(0), conserves, "{text}");
            if discards {
                sched.on_discard(0, true);
            } else {
                if let SchedulerChoice::Wait(at) = second {
                    now = at;
                    let choice = sched.choose(&mut Waiting(1), now);
                    assert_eq!(choice, SchedulerChoice::Class(0), "{text}");
                }
                sched.on_dequeue(0, 100, true, now);
            }
            assert_eq!(sched.choose(&mut Waiting(0), now + 1), SchedulerChoice::Idle, "{text}");
        }
    }
}

#[test]
fn each_scheduler_says_what_the_engine_may_leave_out() {
    for (text, conserves, is_stateless) in CONFIGS {
        let sched = build(text);
        assert_eq!(sched.never_waits(), conserves, "{text}");
        assert_eq!(sched.is_stateless_when_empty(), is_stateless, "{text}");
    }
}
