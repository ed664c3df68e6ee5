//! Segments that a sender found lost.

/// Their number since the start, and, for a control that asks, those of which it has not heard.
#[derive(Clone, Debug, Default)]
pub(super) struct LostSegments {
    count: u64,
    latest: Option<Vec<u32>>, // none: nobody asks
}

impl LostSegments {
    /// `named`: a control asks which they are.
    pub fn new(named: bool) -> Self {
        Self { count: 0, latest: named.then(Vec::new) }
    }

    /// Segments since the start, each time anew.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The segment is lost.
    #[inline]
    pub fn add(&mut self, seq: u32) {
        self.count += 1;
        if let Some(latest) = self.latest.as_mut() {
            latest.push(seq);
        }
    }

    /// Segments that the control has not heard of.
    pub fn unheard(&self) -> u64 {
        self.latest.as_ref().map_or(0, |latest| latest.len() as u64)
    }

    /// The segments that the control has not heard of, in the order in which they were found.
    pub fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.latest.iter_mut().flat_map(|latest| latest.drain(..))
    }
}
