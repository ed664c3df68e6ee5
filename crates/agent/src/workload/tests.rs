//! Means and distribution functions of the laws, and the course of a page by hand.

use super::*;
use trunkline_units::{RandomStream, NEVER, SECOND};

const DRAWS: usize = 400_000;

fn draws(sizes: &TransferSizes) -> Vec<f64> {
    let mut random = RandomStream::new(5, "flows[w]", "sizes");
    let law = SizeLaw::new(sizes);
    (0..DRAWS).map(|_| law.draw(&mut random)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half width of four standard errors of a mean.
fn four_errors(values: &[f64]) -> f64 {
    let mean = mean(values);
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    4.0 * (square / values.len() as f64 / values.len() as f64).sqrt()
}

/// Bounded Pareto, shape a, least l, most h: mean a l^a (l^(1-a) - h^(1-a)) / ((a-1) (1 - (l/h)^a)).
/// a = 1.5, l = 1000, h = 100000: 1.5 * 31622.78 * (0.0316228 - 0.0031623) / (0.5 * 0.999) = 2702.7.
#[test]
fn bounded_pareto_has_the_mean_of_its_formula() {
    let drawn = draws(&TransferSizes::Pareto {
        shape: 1.5,
        least_bytes: 1000.0,
        most_bytes: 100_000.0,
        cut: false,
        less: 0.0,
    });
    assert!((mean(&drawn) - 2702.7).abs() < four_errors(&drawn), "{}", mean(&drawn));
    assert!(drawn.iter().all(|x| (1000.0..=100_000.0).contains(x)));
}

/// 3GPP TR 36.814 table A.2.1.3.1-1: Pareto of shape 1.1 and scale 2 cut at 55, less 2: mean 5.64.
/// By hand: E min(X, h) = (a l - l^a h^(1-a)) / (a - 1) = (2.2 - 2.1435 * 0.66981) / 0.1 = 7.642.
#[test]
fn embedded_objects_of_3gpp_have_a_mean_of_5_64() {
    let drawn = draws(&TransferSizes::Pareto {
        shape: 1.1,
        least_bytes: 2.0,
        most_bytes: 55.0,
        cut: true,
        less: 2.0,
    });
    assert!((mean(&drawn) - 5.642).abs() < four_errors(&drawn), "{}", mean(&drawn));
    assert!(drawn.iter().all(|x| (0.0..=53.0).contains(x)));
}

/// E X = exp(mu + sigma^2 / 2): mu 8, sigma 0.5: exp(8.125) = 3377.87. The bounds are far away.
#[test]
fn lognormal_has_the_mean_of_its_formula() {
    let drawn = draws(&TransferSizes::Lognormal {
        mu: 8.0,
        sigma: 0.5,
        least_bytes: 0.0,
        most_bytes: 1e12,
    });
    assert!((mean(&drawn) - 3377.87).abs() < four_errors(&drawn), "{}", mean(&drawn));
}

/// E X = scale * Gamma(1 + 1 / shape): shape 2, scale 1000: 1000 * sqrt(pi) / 2 = 886.23.
#[test]
fn weibull_has_the_mean_of_its_formula() {
    let drawn = draws(&TransferSizes::Weibull { shape: 2.0, scale_bytes: 1000.0 });
    assert!((mean(&drawn) - 886.23).abs() < four_errors(&drawn), "{}", mean(&drawn));
}

/// Straight lines: half of the sizes from 0 to 100 (mean 50), half from 100 to 1000 (mean 550).
#[test]
fn a_table_is_read_along_straight_lines() {
    let drawn = draws(&TransferSizes::Table {
        bytes: vec![0.0, 100.0, 1000.0],
        shares: vec![0.0, 0.5, 1.0],
    });
    assert!((mean(&drawn) - 300.0).abs() < four_errors(&drawn), "{}", mean(&drawn));
    let below = drawn.iter().filter(|x| **x < 50.0).count() as f64 / DRAWS as f64;
    assert!((below - 0.25).abs() < 4.0 * (0.25f64 * 0.75 / DRAWS as f64).sqrt(), "{below}");
}

fn open(gaps: TransferGaps) -> OpenSource {
    let stream = |purpose| RandomStream::new(3, "flows[w]", purpose);
    let sizes = TransferSizes::Fixed { bytes: 100 };
    OpenSource::new(&OpenConfig { gaps, sizes }, (0, NEVER), stream("arrivals"), stream("sizes"))
}

fn arrivals(source: &mut OpenSource, until: u64) -> f64 {
    let mut count = 0.0;
    while source.next_at() < until {
        source.take();
        count += 1.0;
    }
    count
}

/// 100 s at a mean gap of 1 ms: 100,000 arrivals, standard deviation sqrt(100,000) = 316.
#[test]
fn poisson_arrivals_have_their_rate() {
    let count = arrivals(&mut open(TransferGaps::Poisson { mean_ns: 1e6 }), 100 * SECOND);
    assert!((count - 100_000.0).abs() < 4.0 * 316.2, "{count}");
}

/// On for 30 ms of 120 ms on average: a quarter of the rate while on, 25,000 in 100 s. The number of
/// periods is about 833, so the time spent on varies by some 5 %.
#[test]
fn on_off_arrivals_have_the_rate_of_their_share_on() {
    let gaps = TransferGaps::OnOff { mean_ns: 1e6, mean_on_ns: 3e7, mean_off_ns: 9e7 };
    let count = arrivals(&mut open(gaps), 100 * SECOND);
    assert!((count - 25_000.0).abs() < 4.0 * 1_300.0, "{count}");
}

#[test]
fn a_schedule_is_replayed_and_ends() {
    let gaps = TransferGaps::Schedule { times_ns: vec![5, 5, 9], sizes_bytes: vec![10, 20, 30] };
    let mut source = open(gaps);
    let mut seen = vec![];
    while source.next_at() != u64::MAX {
        let at = source.next_at();
        seen.push((at, source.take()));
    }
    assert_eq!(seen, [(5, 10), (5, 20), (9, 30)]);
}

/// From 10 ns on every 2.4 ns, to the nearest: 0, 2.4, 4.8, 7.2, 9.6 later.
#[test]
fn periodic_transfers_arrive_at_multiples_of_their_gap() {
    let config = OpenConfig {
        gaps: TransferGaps::Periodic { gap_ns: 2.4 },
        sizes: TransferSizes::Fixed { bytes: 100 },
    };
    let stream = || RandomStream::new(3, "flows[w]", "arrivals");
    let mut source = OpenSource::new(&config, (10, NEVER), stream(), stream());
    let seen: Vec<u64> = std::iter::repeat_with(|| {
        source.take();
        source.next_at()
    })
    .take(4)
    .collect();
    assert_eq!(seen, [12, 15, 17, 20]);
}

/// Sizes and times are those of the law to the nearest unit; sizes from 1 B to 2^50 B. The law by hand, on a
/// stream of its own.
#[test]
fn a_draw_is_rounded_to_the_nearest_byte_or_nanosecond() {
    let stream = || RandomStream::new(7, "flows[w]", "sizes");
    let (mut random, mut by_hand) = (stream(), stream());
    let law = SizeLaw::new(&TransferSizes::Exponential { mean_bytes: 5.0 });
    for _ in 0..300 {
        assert_eq!(law.bytes(&mut random), by_hand.exponential(5.0).round().max(1.0) as u64);
        let time = Times::Exponential(5.0).draw(&mut random);
        assert_eq!(time, by_hand.exponential(5.0).round() as u64);
    }
    let (bytes, shares) = (vec![1e300; 2], vec![0.5, 1.0]);
    assert_eq!(SizeLaw::new(&TransferSizes::Table { bytes, shares }).bytes(&mut random), 1 << 50);
}

/// A fifth of the sizes is 10 B; three tenths lie on the line from 10 to 100, half on that from 100 to 1000.
#[test]
fn a_table_is_inverted_at_each_share() {
    let stream = || RandomStream::new(9, "flows[w]", "sizes");
    let (mut random, mut by_hand) = (stream(), stream());
    let law = SizeLaw::new(&TransferSizes::Table {
        bytes: vec![10.0, 100.0, 1000.0],
        shares: vec![0.2, 0.5, 1.0],
    });
    for _ in 0..300 {
        let share = by_hand.uniform();
        let expected = match share {
            _ if share < 0.2 => 10.0,
            _ if share < 0.5 => 10.0 + (share - 0.2) / 0.3 * 90.0,
            _ => 100.0 + (share - 0.5) / 0.5 * 900.0,
        };
        assert!((law.draw(&mut random) - expected).abs() < 1e-9, "{share}");
    }
}

/// A Pareto law is written without what it leaves out, and read again.
#[test]
fn a_law_survives_json_without_keys_that_do_nothing() {
    for (less, cut, keys) in [(0.0, false, 3), (2.0, true, 5)] {
        let law =
            TransferSizes::Pareto { shape: 1.5, least_bytes: 1.0, most_bytes: 9.0, cut, less };
        let json = serde_json::to_string(&law).unwrap();
        assert_eq!(json.matches(':').count(), keys + 1, "{json}");
        assert_eq!(serde_json::from_str::<TransferSizes>(&json).unwrap(), law);
    }
}

/// Two embedded objects and room for three are requested together; a page of none is complete with its main
/// object.
#[test]
fn a_page_of_few_objects_is_complete_with_its_last() {
    let stream = |purpose| RandomStream::new(3, "flows[w]", purpose);
    let fixed = |bytes| TransferSizes::Fixed { bytes };
    for (objects, requested, total) in [(0, 0, 1000), (2, 2, 1200)] {
        let config = PagesConfig {
            users: 1,
            parallel: 3,
            main: fixed(1000),
            embedded: fixed(100),
            objects: fixed(objects),
            reading: Times::Fixed(10),
            parsing: Times::Fixed(4),
        };
        let mut pages = Pages::new(&config, 0, stream("times"), stream("sizes"));
        let mut requests = vec![];
        pages.on_timer(10, &mut requests);
        requests.clear();
        let mut done = pages.on_object(0, 15, &mut requests);
        if objects > 0 {
            assert_eq!((done, requests.len()), (None, 0));
            pages.on_timer(19, &mut requests);
            assert_eq!(pages.next_at(), NEVER);
            assert_eq!(pages.on_object(0, 20, &mut vec![]), None);
            done = pages.on_object(0, 21, &mut vec![]);
        }
        assert_eq!(requests.len(), requested);
        assert_eq!(done, Some(CompletedPage { started: 10, bytes: total, objects: 1 + objects }));
    }
}

/// One user, 3 embedded objects, 2 at a time, 10 ns to read and 4 ns to parse: the page begun at 10
/// ns has its main object at 15, requests two at 19, the third when the first of them is
/// complete, and is complete with the last; the next begins 10 ns later.
#[test]
fn a_page_is_fetched_as_the_model_says() {
    let stream = |purpose| RandomStream::new(3, "flows[w]", purpose);
    let fixed = |bytes| TransferSizes::Fixed { bytes };
    let config = PagesConfig {
        users: 1,
        parallel: 2,
        main: fixed(1000),
        embedded: fixed(100),
        objects: fixed(3),
        reading: Times::Fixed(10),
        parsing: Times::Fixed(4),
    };
    let mut pages = Pages::new(&config, 0, stream("times"), stream("sizes"));
    let mut requests = vec![];
    assert_eq!(pages.next_at(), 10);
    assert!(pages.on_timer(10, &mut requests));
    assert_eq!(requests, [Request { user: 0, bytes: 1000 }]);
    requests.clear();
    assert_eq!(pages.on_object(0, 15, &mut requests), None);
    assert_eq!(pages.next_at(), 19);
    assert!(!pages.on_timer(19, &mut requests));
    assert_eq!(requests, [Request { user: 0, bytes: 100 }; 2]);
    requests.clear();
    assert_eq!(pages.on_object(0, 25, &mut requests), None);
    assert_eq!(requests, [Request { user: 0, bytes: 100 }]);
    requests.clear();
    assert_eq!(pages.on_object(0, 26, &mut requests), None);
    let done = pages.on_object(0, 30, &mut requests);
    assert_eq!(done, Some(CompletedPage { started: 10, bytes: 1300, objects: 4 }));
    assert_eq!((requests.len(), pages.next_at()), (0, 40));
}
