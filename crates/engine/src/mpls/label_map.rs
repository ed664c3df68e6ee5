//! The incoming label map of a node (ILM, RFC 3031 section 3.11).

use super::NO_ENTRY;

/// Labels below this are looked up in one step. Routers give the lowest free one (RFC 3031 leaves the choice
/// to them), so few paths through a node have others.
const DIRECT_LABELS: usize = 1 << 14;
/// Other labels in a page.
const PAGE: usize = 256;

/// One node's incoming label map: a list for low labels; for others two look-ups, pages of 256 labels.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelMap {
    direct: Vec<u32>,
    others: Option<Box<LabelPages>>,
}

/// Where each page begins among the entries, and the entries.
#[derive(Clone, Debug, Default)]
struct LabelPages {
    pages: Vec<u32>,
    entries: Vec<u32>,
}

impl LabelMap {
    pub(super) fn insert(&mut self, label: u32, nhlfe: u32) {
        let label = label as usize;
        if label < DIRECT_LABELS {
            if label >= self.direct.len() {
                self.direct.resize(label + 1, NO_ENTRY);
            }
            self.direct[label] = nhlfe;
            return;
        }
        let LabelPages { pages, entries } = &mut **self.others.get_or_insert_with(Default::default);
        let page = label / PAGE;
        if page >= pages.len() {
            pages.resize(page + 1, NO_ENTRY);
        }
        if pages[page] == NO_ENTRY {
            pages[page] = entries.len() as u32;
            entries.resize(entries.len() + PAGE, NO_ENTRY);
        }
        entries[pages[page] as usize + label % PAGE] = nhlfe;
    }

    /// The entry of a label, or [`NO_ENTRY`].
    #[inline(always)]
    pub(super) fn get(&self, label: u32) -> u32 {
        match self.direct.get(label as usize) {
            Some(&nhlfe) => nhlfe,
            None => self.get_from_page(label),
        }
    }

    #[inline(never)]
    fn get_from_page(&self, label: u32) -> u32 {
        let Some(LabelPages { pages, entries }) = self.others.as_deref() else { return NO_ENTRY };
        match pages.get(label as usize / PAGE) {
            Some(&page) if page != NO_ENTRY => entries[page as usize + label as usize % PAGE],
            _ => NO_ENTRY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Labels of 20 bits (RFC 3032 section 2.1), about both ends of the list and of pages.
    fn any_label() -> impl Strategy<Value = u32> {
        let direct = DIRECT_LABELS as u32;
        prop_oneof![0u32..40, direct - 3..direct + 3, direct + 253..direct + 260, 0u32..1 << 20]
    }

    proptest! {
        #[test]
        fn rfc3031_s3_11_a_label_leads_to_the_entry_bound_last(
            bound in proptest::collection::vec((any_label(), 0u32..9), 0..40),
            asked in proptest::collection::vec(any_label(), 40),
        ) {
            let (mut map, mut plain) = (LabelMap::default(), BTreeMap::new());
            for &(label, nhlfe) in &bound {
                map.insert(label, nhlfe);
                plain.insert(label, nhlfe);
            }
            for label in asked.into_iter().chain(bound.iter().map(|it| it.0)) {
                prop_assert_eq!(map.get(label), plain.get(&label).copied().unwrap_or(NO_ENTRY));
            }
        }
    }
}
