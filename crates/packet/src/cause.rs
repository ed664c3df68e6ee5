//! Why a packet was lost: a column of the results.

/// Cause of a drop. `ALL` lists them in the order of the results tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Cause {
    /// The queue had no room.
    QueueFull,
    /// An early drop of a RED-family queue.
    Early,
    /// Average queue at or above the upper threshold of a RED-family queue.
    Forced,
    /// A policer refused it.
    Policed,
    /// Time to live ran out.
    TtlExpired,
    /// No route to the destination.
    NoRoute,
    /// An incoming label with no entry (RFC 3031 section 3.18).
    NoLabel,
    /// Larger than the link's MTU; nothing here fragments.
    TooBig,
    /// Random loss of the link.
    Corrupted,
    /// Was waiting in the queue of a link that failed.
    FailedQueued,
    /// Was being transmitted or on its way on a link that failed.
    FailedInFlight,
    /// Arrived at a link that was down.
    LinkDown,
    /// The node was down.
    NodeDown,
    /// Arrived during a protection switch, which was between its two positions.
    Switching,
    /// The copy of 1+1 protection that the tail did not select.
    Unselected,
    /// Its label showed congestion experienced, and its sender does not understand that (RFC 5129).
    CongestionMarked,
}

impl Cause {
    /// Every cause, in table order.
    pub const ALL: [Self; 16] = [
        Self::QueueFull,
        Self::Early,
        Self::Forced,
        Self::Policed,
        Self::TtlExpired,
        Self::NoRoute,
        Self::NoLabel,
        Self::TooBig,
        Self::Corrupted,
        Self::FailedQueued,
        Self::FailedInFlight,
        Self::LinkDown,
        Self::NodeDown,
        Self::Switching,
        Self::Unselected,
        Self::CongestionMarked,
    ];

    /// Name in the results tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Policed => "policed",
            Self::TtlExpired => "ttl_expired",
            Self::NoRoute => "no_route",
            Self::NoLabel => "no_label",
            Self::TooBig => "too_big",
            Self::Corrupted => "corrupted",
            Self::FailedQueued => "failed_queued",
            Self::FailedInFlight => "failed_in_flight",
            Self::LinkDown => "link_down",
            Self::NodeDown => "node_down",
            Self::Switching => "switching",
            Self::Unselected => "unselected",
            Self::CongestionMarked => "congestion_marked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cause;

    #[test]
    fn all_lists_each_cause_at_its_own_index() {
        for (index, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, index);
        }
    }

    /// The name is that of the variant in the words of the tables.
    #[test]
    fn a_cause_is_named_after_itself() {
        for cause in Cause::ALL {
            let mut name = String::new();
            for letter in format!("{cause:?}").chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.extend(letter.to_lowercase());
            }
            assert_eq!(cause.name(), name);
        }
    }
}
