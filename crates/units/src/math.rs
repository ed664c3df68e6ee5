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
