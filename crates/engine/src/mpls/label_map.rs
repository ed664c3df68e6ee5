//! The incoming label map of a node (ILM, RFC 3031 section 3.11).

use super::NO_ENTRY;

/// Labels in a page.
const PAGE: usize = 256;

/// One node's incoming label map: two array look-ups, pages of 256 labels.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelMap {
    pages: Vec<u32>,
    entries: Vec<u32>,
}

impl LabelMap {
    pub(super) fn insert(&mut self, label: u32, nhlfe: u32) {
        let page = label as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, NO_ENTRY);
        }
        if self.pages[page] == NO_ENTRY {
            self.pages[page] = self.entries.len() as u32;
            self.entries.resize(self.entries.len() + PAGE, NO_ENTRY);
        }
        self.entries[self.pages[page] as usize + label as usize % PAGE] = nhlfe;
    }

    #[inline(always)]
    pub(super) fn get(&self, label: u32) -> Option<u32> {
        let page = *self.pages.get(label as usize / PAGE)?;
        if page == NO_ENTRY {
            return None;
        }
        let nhlfe = self.entries[page as usize + label as usize % PAGE];
        (nhlfe != NO_ENTRY).then_some(nhlfe)
    }
}
