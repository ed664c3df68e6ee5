//! Transcendental functions that give the same bits on every platform.
//!
//! `+ - * / sqrt` are exact by IEEE 754; `exp`, `ln` and `pow` are not, and the platform's own
//! library differs between systems. All of them therefore come from one pure-Rust library.

/// e to the power `x`.
#[inline]
#[must_use]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm.
#[inline]
#[must_use]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// `x` to the power `y`.
#[inline]
#[must_use]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Cube root.
#[inline]
#[must_use]
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the constants of the standard library, and against each other: exp(ln x) = x, x^3 by
    /// products, and the cube root of a cube.
    #[test]
    fn they_are_what_they_are_called() {
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-15;
        assert_eq!((exp(0.0), ln(1.0), pow(2.0, 10.0), cbrt(27.0)), (1.0, 0.0, 1024.0, 3.0));
        assert!(close(exp(1.0), std::f64::consts::E));
        assert!(close(ln(2.0), std::f64::consts::LN_2));
        assert!(close(pow(2.0, 0.5), std::f64::consts::SQRT_2));
        for x in [0.3, 1.7, 42.0] {
            assert!(close(exp(ln(x)), x) && close(pow(x, 3.0), x * x * x));
            assert!(close(cbrt(x * x * x), x));
        }
    }
}
