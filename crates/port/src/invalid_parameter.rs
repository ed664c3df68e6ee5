//! A parameter that cannot be, as data: the scenario language adds the place.

use std::fmt;

/// A parameter or a relation between parameters that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidParameter {
    /// The key at fault.
    pub key: &'static str,
    /// The condition that must hold.
    pub why: String,
}

impl InvalidParameter {
    /// Fails with `why` unless `holds`.
    pub(crate) fn require(
        holds: bool,
        key: &'static str,
        why: impl FnOnce() -> String,
    ) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self { key, why: why() })
        }
    }
}

impl fmt::Display for InvalidParameter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.key, self.why)
    }
}

impl std::error::Error for InvalidParameter {}
