//! Whatever the network does to segments and acknowledgements, a finite transfer arrives, whole,
//! and the sender keeps to its windows.

use crate::pipe::{config, Fate, Pipe, EVERY_SECOND, MS};
use proptest::prelude::*;
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_units::{RandomStream, SECOND};

fn any_variant() -> impl Strategy<Value = Variant> {
    use Variant::{NewReno, Reno, Sack, Tahoe};
    prop::sample::select(vec![Tahoe, Reno, NewReno, Sack])
}

prop_compose! {
    fn any_config()(
        variant in any_variant(),
        flags in any::<[bool; 5]>(),
        segments in 1u64..400,
        rest in 0u64..1000,
        window in 1u32..80,
        initial_window in 1u32..12,
        overhead in prop::sample::select(vec![0, 5 * MS]),
    ) -> TcpConfig {
        TcpConfig {
            new_reno_impatient: flags[0],
            partial_ack_resets: false,
            delayed_ack: if flags[1] { EVERY_SECOND } else { None },
            limited_transmit: flags[2],
            timestamps: flags[3],
            ecn: flags[4],
            size_bytes: Some(segments * 1000 - rest),
            window_packets: window,
            initial_window: f64::from(initial_window),
            send_overhead_ns: overhead,
            rto_max_ns: 2 * SECOND,
            ..config(variant)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_finite_transfer_always_arrives_and_windows_hold(
        config in any_config(),
        seed in any::<u64>(),
        loss in 0.0..0.4f64,
        queue in 1usize..40,
    ) {
        let mut pipe = Pipe::new(&config, 10_000_000, 20 * MS, queue);
        let mut random = RandomStream::new(seed, "pipe", "fate");
        pipe.fate = Box::new(move |_| match random.uniform() {
            x if x < loss => Fate::Lose,
            x if x < loss + 0.05 => Fate::Late(random.below(100 * MS)),
            x if x < loss + 0.10 => Fate::Twice,
            x if x < loss + 0.15 => Fate::Mark,
            _ => Fate::Carry,
        });
        let mut random = RandomStream::new(seed, "pipe", "acks");
        pipe.lose_ack = Box::new(move |_| random.uniform() < loss / 2.0);
        let mut pipe = pipe.start();
        pipe.run(4000 * SECOND);
        prop_assert_eq!(Some(pipe.receiver.goodput_bytes()), config.size_bytes);
        prop_assert!(pipe.sender.finished_at().is_some());
        prop_assert!(pipe.peak_flight <= config.window_packets);
        // Limited transmit may add two, and with SACK all that is known to have arrived.
        let extra = match (config.limited_transmit, config.variant) {
            (true, Variant::Sack) => f64::from(config.window_packets),
            (true, _) => 2.0,
            (false, _) => 0.0,
        };
        prop_assert!(pipe.peak_excess <= extra, "{}", pipe.peak_excess);
    }

    /// With no loss nothing is sent twice, however segments are delayed by less than the timer
    /// and however few acknowledgements come.
    #[test]
    fn without_loss_every_segment_goes_once(config in any_config(), queue in 80usize..100) {
        let config = TcpConfig { ecn: false, ..config };
        let mut pipe = Pipe::new(&config, 10_000_000, 20 * MS, queue).start();
        pipe.run(1000 * SECOND);
        prop_assert_eq!(Some(pipe.receiver.goodput_bytes()), config.size_bytes);
        prop_assert_eq!(pipe.sender.counters().retransmissions, 0);
        prop_assert_eq!(pipe.sent.len() as u64, config.size_bytes.unwrap().div_ceil(1000));
    }
}
