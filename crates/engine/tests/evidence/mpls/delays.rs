//! Delay against time: the probes `delay` and `delay-max`.

use super::*;
use trunkline_engine::network::Measure;

/// Four links of 10 Mbit/s and 1 ms: 4 * (500 B * 8 / 10 Mbit/s + 1 ms) = 5.6 ms for a lone packet.
/// A label adds 4 B on three of them: 9.6 us more. A step without packets has no mean.
#[test]
fn delay_probes_give_the_delay_of_the_packets_of_each_step() {
    for (labelled, wanted) in [(false, 5_600_000), (true, 5_609_600)] {
        let mut lab = row();
        if labelled {
            lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
        }
        lab.lasting(100 * MS, SECOND); // the warm-up restarts the counters in the middle of a step
        let probes =
            [Measure::Delay, Measure::DelayMax].map(|measure| lab.probe(measure, 0, 30 * MS));
        let run = lab.run(1);
        for probe in probes {
            let series = run.series(probe);
            let (busy, idle): (Vec<_>, Vec<_>) =
                series.into_iter().partition(|(at, _)| *at < 400 * MS);
            assert!(busy.len() > 10 && idle.len() > 10);
            for (at, value) in busy {
                assert!((value * 1e9 - wanted as f64).abs() < 0.5, "{value} at {at}");
            }
            assert!(idle.iter().skip(1).all(|(_, value)| value.is_nan()));
        }
    }
}
