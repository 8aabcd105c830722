//! A file that is searched, with what is worked out about it once, when a tier first asks.

use std::cell::OnceCell;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::view::View;
use super::{EditedFile, Tier};

pub(super) struct SearchedFile<'f> {
    pub(super) bytes: &'f [u8],
    /// The part of it in which places count.
    pub(super) within: Range<usize>,
    is_text: OnceCell<bool>,
    views: [OnceCell<Option<View<'f>>>; Tier::ALL.len()],
    line_starts: OnceCell<Vec<usize>>,
}

impl<'f> SearchedFile<'f> {
    pub(super) fn new(file: EditedFile<'f>) -> Self {
        Self {
            bytes: file.bytes,
            within: file.within(),
            is_text: OnceCell::new(),
            views: Default::default(),
            line_starts: OnceCell::new(),
        }
    }

    /// True if it is UTF-8 without a NUL. (UTF-16 of plain English is UTF-8 with NULs.)
    pub(super) fn is_text(&self) -> bool {
        *self.is_text.get_or_init(|| {
            memchr(0, self.bytes).is_none() && std::str::from_utf8(self.bytes).is_ok()
        })
    }

    /// The file as a tier sees it; nothing if the tier is for text only and this is none.
    pub(super) fn view(&self, tier: Tier) -> Option<&View<'f>> {
        if tier > Tier::LineEndings && !self.is_text() {
            return None;
        }
        let view = self.views.get(tier as usize)?;
        view.get_or_init(|| View::new(self.bytes, tier)).as_ref()
    }

    /// The start of the line with this index, counted from 0.
    pub(super) fn line_start(&self, index: usize) -> usize {
        let start = self.line_starts().get(index);
        start.copied().unwrap_or(self.bytes.len())
    }

    /// The index of the line that `at` is in, counted from 0.
    pub(super) fn line_index(&self, at: usize) -> usize {
        self.line_starts()[1..].partition_point(|&start| start <= at)
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            let after_newlines = memchr_iter(b'\n', self.bytes).map(|newline| newline + 1);
            std::iter::once(0).chain(after_newlines).collect()
        })
    }
}
