//! The notes as they were looked at last, or written: the body, what stood on top of it, and which blocks are clada's own.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::reply::note::{self, Blocks, Note};
use crate::reply::record::{Key, Seed};
use crate::text::hex::hex;

/// The number of the newest blocks whose texts are remembered.
const WRITTEN: usize = 4;

/// The hash of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash([u8; 32]);

impl Hash {
    pub(super) fn of(body: &str) -> Self {
        Self(Sha256::digest(body.as_bytes()).into())
    }

    /// Reads it from the beginning of a text that [`Hash::hex`] made.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let bytes = (0..32).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok());
        let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
        bytes.try_into().ok().map(Self)
    }

    pub(super) fn hex(&self) -> String {
        hex(&self.0)
    }
}

/// The marks that tell the results blocks of a file from others.
#[derive(Debug, Clone)]
pub(super) struct KnownBlocks {
    seed: Seed,
    keys: Arc<HashSet<Key>>,
    /// The canonical texts of the newest, as many as may be on top of the notes while others are written.
    written: Vec<Arc<str>>,
    body: LastBody,
}

/// The body last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LastBody {
    None,
    /// After a restart.
    Hash(Hash),
    Text {
        text: Arc<str>,
        /// The number of its bytes that stood above a block.
        above: usize,
    },
}

impl KnownBlocks {
    /// Returns the marks of a file as a ledger has them: the keys of its blocks, the text of the newest, and the body last
    /// looked at.
    pub(super) fn of(seed: Seed, keys: Vec<Key>, newest: Option<&str>, body: Option<Hash>) -> Self {
        let newest = newest.map(|block| note::canonical(block).into());
        Self {
            seed,
            keys: Arc::new(keys.into_iter().collect()),
            written: newest.into_iter().collect(),
            body: body.map_or(LastBody::None, LastBody::Hash),
        }
    }
}

impl Blocks for KnownBlocks {
    fn is_known(&self, canonical: &str) -> bool {
        self.keys.contains(&self.seed.key(canonical))
    }

    fn written(&self) -> &[Arc<str>] {
        &self.written
    }

    fn is_pasted(&self, above: &str, below: &str) -> bool {
        match &self.body {
            LastBody::None => false,
            LastBody::Hash(body) => *body == Hash::of(below),
            LastBody::Text { text, above: was } => {
                let (was_above, was_below) = text.split_at(*was);
                // The same reply pasted once more is in the body already; then what is below the block tells that it is
                // new. What was pasted before stays above the block until there are other results.
                below == note::without_bom(text)
                    || below == was_below
                    || above.trim() == note::without_bom(was_above).trim()
                    || !text.contains(above.trim())
            }
        }
    }
}

/// The notes as they were looked at last, or written.
pub(super) struct LastNotes {
    /// The body last looked at.
    pub(super) looked: Option<Hash>,
    known: KnownBlocks,
    /// The body looked at before that.
    before: LastBody,
    /// The text on top of the notes when they were looked at last, or written: the results, ticks aside, and the line above them.
    frame: String,
}

impl LastNotes {
    /// Returns the notes whose body was `looked` at last, with this block on top, if one is to be there.
    pub(super) fn new(looked: Option<Hash>, known: KnownBlocks, top: Option<&str>) -> Self {
        Self {
            looked,
            before: known.body.clone(),
            known,
            frame: top.map_or(String::new(), note::unticked),
        }
    }

    /// True if nothing was seen of the file yet.
    pub(super) fn is_new(&self) -> bool {
        self.looked.is_none()
    }

    /// True if nothing stands on top of the body.
    pub(super) fn is_bare(&self) -> bool {
        self.frame.is_empty()
    }

    /// Returns the marks that tell this file's results blocks from others in the text that was looked at last, or what has become
    /// of it.
    pub(super) fn known(&self) -> KnownBlocks {
        KnownBlocks {
            body: self.before.clone(),
            ..self.known.clone()
        }
    }

    /// Returns the key of the block on top of a text that is not known to be clada's.
    pub(super) fn unknown_top<'t>(&self, text: &'t str) -> Option<(Key, &'t str)> {
        let block = note::top_block(text)?;
        let key = note::key(self.known.seed, block);
        (!self.known.keys.contains(&key)).then_some((key, block))
    }

    pub(super) fn split<'t>(&self, text: &'t str) -> Note<'t> {
        note::split(text, &self.known)
    }

    /// Learns of a block that is clada's, and returns its key.
    pub(super) fn know(&mut self, block: &str) -> Key {
        let known = &mut self.known;
        let block = note::canonical(block);
        let key = known.seed.key(&block);
        Arc::make_mut(&mut known.keys).insert(key);
        known.written.insert(0, block.into());
        known.written.truncate(WRITTEN);
        key
    }

    /// Takes in what is on top of the notes; false where that is not what it was, ticks aside. A half-written text that is about to
    /// have it again is no other.
    pub(super) fn has_frame(&mut self, note: &Note<'_>, text: &str) -> bool {
        let frame = note::unticked(note.frame);
        if frame.is_empty()
            && text.len() <= 2 * self.frame.len()
            && self.frame.starts_with(&note::unticked(text))
        {
            return false;
        }
        let is_same = frame == self.frame;
        self.frame = frame;
        is_same
    }

    /// Takes in that clada has put this block on top of the notes.
    pub(super) fn shows(&mut self, block: &str) {
        self.frame = note::unticked(block);
    }

    /// Takes in a body that is looked at, of which so many bytes stand above a block.
    pub(super) fn look(&mut self, body: &str, hash: Hash, above: usize) {
        let is_same = self.looked.replace(hash) == Some(hash);
        let text = match &self.known.body {
            LastBody::Text { text, .. } if is_same => Arc::clone(text),
            _ => body.into(),
        };
        let body = LastBody::Text { text, above };
        self.before = std::mem::replace(&mut self.known.body, body);
    }

    /// True if a body is the last one but for line ends and white space at the end of lines and of the text: editors change these by
    /// themselves.
    pub(super) fn differs_in_blanks_only(&self, body: &str) -> bool {
        let LastBody::Text { text, .. } = &self.known.body else {
            return false;
        };
        let (last, new) = (text.trim_end().lines(), body.trim_end().lines());
        last.map(str::trim_end).eq(new.map(str::trim_end))
    }

    /// Returns the part of the body that was not in the one before: all between the common start and the common end. Nothing where
    /// that body is not known.
    pub(super) fn inserted(&self) -> Option<Range<usize>> {
        let (LastBody::Text { text: old, .. }, LastBody::Text { text: new, .. }) =
            (&self.before, &self.known.body)
        else {
            return None;
        };
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, rest) = (&old[start..], &new[start..]);
        let both = old.iter().rev().zip(rest.iter().rev());
        let end = both.take_while(|(a, b)| a == b).count();
        Some(start..new.len() - end)
    }
}
