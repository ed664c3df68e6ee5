//! The drop curve of the RED family: probability of an early signal against the average queue.

use super::InvalidParameter;
use serde::{Deserialize, Serialize};

/// Zone of the average on the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CurveZone {
    /// Below `min_th`: let it in.
    Below,
    /// In the band: signal with this probability, spread by the spacing convention.
    Band(f64),
    /// At or above the upper threshold: refuse.
    Above,
}

/// A drop curve in the symbols of Floyd & Jacobson (1993).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Average below which no packet is signalled [unit of the average, >= 0].
    pub min_th: f64,
    /// Average from which on every packet is refused (`gentle`: from twice this) [> `min_th`].
    pub max_th: f64,
    /// Probability of an early signal as the average reaches `max_th` [in (0, 1]].
    pub max_p: f64,
}

impl Curve {
    pub(super) fn check(&self) -> Result<(), InvalidParameter> {
        let Self { min_th, max_th, max_p } = *self;
        InvalidParameter::require(min_th.is_finite() && min_th >= 0.0, "min_th", || {
            format!("must be a number not below 0, not {min_th}")
        })?;
        InvalidParameter::require(max_th.is_finite() && max_th > min_th, "max_th", || {
            format!("must be above min_th: {max_th} is not above {min_th}")
        })?;
        InvalidParameter::require(max_p > 0.0 && max_p <= 1.0, "max_p", || {
            format!("must be in (0, 1], not {max_p}")
        })
    }

    /// Zone and probability at `average`. `gentle` lets the probability grow from `max_p` at
    /// `max_th` to 1 at twice that (Floyd, "Recommendation on using the gentle variant of RED",
    /// 2000).
    pub(super) fn zone(&self, average: f64, gentle: bool) -> CurveZone {
        let Self { min_th, max_th, max_p } = *self;
        if average < min_th {
            CurveZone::Below
        } else if average < max_th {
            CurveZone::Band(max_p * (average - min_th) / (max_th - min_th))
        } else if gentle && average < 2.0 * max_th {
            CurveZone::Band(max_p + (1.0 - max_p) * (average - max_th) / max_th)
        } else {
            CurveZone::Above
        }
    }
}

/// Checks the weight of an average.
pub(super) fn check_w_q(w_q: f64) -> Result<(), InvalidParameter> {
    InvalidParameter::require(w_q > 0.0 && w_q <= 1.0, "w_q", || {
        format!("must be in (0, 1], not {w_q}")
    })
}

/// Checks a packet size that something is divided by.
pub(super) fn check_mean_packet(bytes: u32) -> Result<(), InvalidParameter> {
    InvalidParameter::require(bytes > 0, "mean_packet_bytes", || "must be above 0".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: Curve = Curve { min_th: 8.0, max_th: 24.0, max_p: 0.25 };

    mod fj93 {
        use super::*;

        /// p_b = max_p (avg - min_th) / (max_th - min_th): 0.25 * 4 / 16 = 1/16 at 12.
        #[test]
        fn fig2_probability_grows_linearly_from_0_to_max_p() {
            for (average, zone) in [
                (7.9, CurveZone::Below),
                (8.0, CurveZone::Band(0.0)),
                (12.0, CurveZone::Band(0.0625)),
                (20.0, CurveZone::Band(0.1875)),
                (24.0, CurveZone::Above),
            ] {
                assert_eq!(CURVE.zone(average, false), zone, "at {average}");
            }
        }
    }

    /// Gentle: max_p + (1 - max_p)(avg - max_th) / max_th: 0.25 + 0.75 * 12 / 24 = 0.625 at 36.
    #[test]
    fn gentle_probability_grows_from_max_p_to_1_at_twice_max_th() {
        for (average, zone) in [
            (24.0, CurveZone::Band(0.25)),
            (36.0, CurveZone::Band(0.625)),
            (48.0, CurveZone::Above),
        ] {
            assert_eq!(CURVE.zone(average, true), zone, "at {average}");
        }
    }

    #[test]
    fn each_relation_is_checked_in_words() {
        let bad = |min_th, max_th, max_p| {
            Curve { min_th, max_th, max_p }.check().unwrap_err().to_string()
        };
        assert_eq!(bad(50.0, 20.0, 0.1), "max_th must be above min_th: 20 is not above 50");
        assert_eq!(bad(20.0, 20.0, 0.1), "max_th must be above min_th: 20 is not above 20");
        assert_eq!(bad(-1.0, 20.0, 0.1), "min_th must be a number not below 0, not -1");
        assert_eq!(bad(1.0, 20.0, 0.0), "max_p must be in (0, 1], not 0");
        assert_eq!(bad(1.0, 20.0, 1.5), "max_p must be in (0, 1], not 1.5");
        assert_eq!(bad(1.0, 20.0, f64::NAN), "max_p must be in (0, 1], not NaN");
    }
}
