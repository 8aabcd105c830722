//! Keeps what was found out about the code of a project: summaries of files, and the tokens of texts. One file for each root, for
//! this user alone, replaced as a whole. All of it can be found out anew, so nothing here fails: a damaged file is thrown away.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128, SipHasher13 as LongHasher};

use crate::code::FileSummary;
use crate::text::tokens::TokenCounter;
use crate::world::{process, state};

/// The form of the file, changed with it.
const FORM: &str = "clada code 1";
/// The most texts whose tokens are kept, and the largest file that is read, in bytes.
const MOST_COUNTS: usize = 50_000;
const LARGEST: u64 = 512 * 1024 * 1024;

/// The signs by which a file is known to be the same.
type Signs = [i64; 5];

/// The knowledge of one root's code.
#[derive(Default)]
pub struct CodeCache {
    path: PathBuf,
    files: HashMap<String, (Signs, TextHash)>,
    summaries: HashMap<TextHash, Option<FileSummary>>,
    counts: HashMap<TextHash, u32>,
    used_counts: HashSet<TextHash>,
    counter: TokenCounter,
    is_changed: bool,
}

/// A text by its hash: no two texts have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextHash(u128);

impl TextHash {
    /// Returns that of a text, which is read as this language.
    pub fn of(language: &str, text: &str) -> Self {
        let mut hasher = LongHasher::new();
        hasher.write(language.as_bytes());
        hasher.write_u8(0);
        hasher.write(text.as_bytes());
        Self(hasher.finish128().as_u128())
    }
}

impl CodeCache {
    /// Reads what is kept for a root; nothing where that is damaged or of another program.
    pub fn open(folder: &Path, root: &Path) -> Self {
        let path = folder.join(state::name_of(&[root]) + ".code");
        let is_fit = |found: &fs::Metadata| found.len() <= LARGEST;
        let bytes = fs::metadata(&path).ok().filter(is_fit);
        let bytes = bytes.and_then(|_| fs::read(&path).ok());
        let mut cache = bytes.and_then(|bytes| read(&bytes)).unwrap_or_default();
        cache.path = path;
        cache
    }

    /// The summary of a file that is still the same. The inner `None`: it has none.
    pub fn summary(&self, path: &str, signs: Signs) -> Option<Option<&FileSummary>> {
        let (known, hash) = self.files.get(path)?;
        (*known == signs).then(|| self.of_text(*hash))?
    }

    /// The summary of a text. The inner `None`: it has none.
    pub fn of_text(&self, hash: TextHash) -> Option<Option<&FileSummary>> {
        self.summaries.get(&hash).map(Option::as_ref)
    }

    /// Keeps the summary of a text; `None` where it has none.
    pub fn learn(&mut self, hash: TextHash, summary: Option<FileSummary>) {
        self.is_changed = true;
        self.summaries.insert(hash, summary);
    }

    /// Keeps that a file with these signs has this text.
    pub fn knows(&mut self, path: &str, signs: Signs, hash: TextHash) {
        let known = self.files.insert(path.to_owned(), (signs, hash));
        self.is_changed |= known != Some((signs, hash));
    }

    /// Counts the tokens of a text.
    pub fn tokens(&mut self, text: &str) -> usize {
        let hash = TextHash::of("", text);
        self.used_counts.insert(hash);
        if let Some(count) = self.counts.get(&hash) {
            return *count as usize;
        }
        let count = self.counter.count(text);
        self.counts
            .insert(hash, u32::try_from(count).unwrap_or(u32::MAX));
        self.is_changed = true;
        count
    }

    /// Forgets all files but those that this is true for.
    pub fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        let before = self.files.len();
        self.files.retain(|path, _| is_there(path));
        self.is_changed |= self.files.len() != before;
        let kept: HashSet<TextHash> = self.files.values().map(|(_, hash)| *hash).collect();
        self.summaries.retain(|hash, _| kept.contains(hash));
    }

    /// Writes what is new. Where that fails it is found out anew the next time.
    pub fn save(&mut self) {
        if !self.is_changed || self.path.as_os_str().is_empty() {
            return;
        }
        if self.counts.len() > MOST_COUNTS {
            let used = &self.used_counts;
            self.counts.retain(|hash, _| used.contains(hash));
        }
        if let Err(error) = self.write() {
            tracing::warn!(%error, "the cache of code");
        }
        self.is_changed = false;
    }

    fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let _lock = state::lock(folder)?;
        let bytes = self.bytes();
        let new = self.path.with_extension("new");
        state::replace(&self.path, &new, |file| file.write_all(&bytes))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = CacheBytes(Vec::new());
        out.text(&program());
        out.number(self.files.len());
        for (path, (signs, hash)) in &self.files {
            out.text(path);
            signs
                .iter()
                .for_each(|sign| out.0.extend(sign.to_le_bytes()));
            out.0.extend(hash.0.to_le_bytes());
        }
        out.number(self.summaries.len());
        for (hash, summary) in &self.summaries {
            out.0.extend(hash.0.to_le_bytes());
            out.0.push(u8::from(summary.is_some()));
            if let Some(summary) = summary {
                out.text(&summary.outline);
                out.text(&summary.defines);
                out.text(&summary.uses);
            }
        }
        out.number(self.counts.len());
        for (hash, count) in &self.counts {
            out.0.extend(hash.0.to_le_bytes());
            out.0.extend(count.to_le_bytes());
        }
        let sum = sum(&out.0);
        out.0.extend(sum.to_le_bytes());
        out.0
    }
}

/// The program and the form: another clada may find other definitions in the same text.
fn program() -> String {
    let file = env::current_exe().and_then(fs::metadata);
    let build = file.map_or(String::new(), |it| {
        format!("{} {} {}", it.len(), it.mtime(), it.mtime_nsec())
    });
    format!("{FORM} {} {build}", env!("CARGO_PKG_VERSION"))
}

fn sum(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The bytes of the file as they are written.
struct CacheBytes(Vec<u8>);

impl CacheBytes {
    fn number(&mut self, number: usize) {
        self.0.extend((number as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.extend(text.as_bytes());
    }
}

impl Drop for CodeCache {
    /// A vocabulary is large, and in many pieces.
    fn drop(&mut self) {
        self.counter = TokenCounter::default();
        process::give_back_memory();
    }
}

/// Reads the whole file; `None` where it is not as it was written, or by another program.
fn read(bytes: &[u8]) -> Option<CodeCache> {
    let (bytes, end) = bytes.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*end) != sum(bytes) {
        return None;
    }
    let mut from = CacheReader(bytes);
    if from.text()? != program() {
        return None;
    }
    let mut cache = CodeCache::default();
    for _ in 0..from.number()? {
        let path = from.text()?;
        let mut signs = [0; 5];
        for sign in &mut signs {
            *sign = i64::from_le_bytes(from.bytes()?);
        }
        cache.files.insert(path, (signs, from.hash()?));
    }
    for _ in 0..from.number()? {
        let hash = from.hash()?;
        let [has_summary] = from.bytes()?;
        let summary = if has_summary == 1 {
            Some(FileSummary {
                outline: from.text()?,
                defines: from.text()?,
                uses: from.text()?,
            })
        } else {
            None
        };
        cache.summaries.insert(hash, summary);
    }
    for _ in 0..from.number()? {
        let hash = from.hash()?;
        cache.counts.insert(hash, u32::from_le_bytes(from.bytes()?));
    }
    from.0.is_empty().then_some(cache)
}

/// The bytes of the file that are not read yet.
struct CacheReader<'b>(&'b [u8]);

impl CacheReader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.bytes()?)).ok()
    }

    fn hash(&mut self) -> Option<TextHash> {
        Some(TextHash(u128::from_le_bytes(self.bytes()?)))
    }

    fn text(&mut self) -> Option<String> {
        let size = self.number()?;
        let (text, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> CodeCache {
        CodeCache::open(folder, Path::new("/p"))
    }

    fn summary() -> FileSummary {
        FileSummary {
            outline: "1  fn a\n".to_owned(),
            defines: "+a\n".to_owned(),
            uses: "2 b\n".to_owned(),
        }
    }

    #[test]
    fn what_is_learnt_is_known_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = open(folder.path());
        let hash = TextHash::of("Rust", "fn a() {}");
        cache.learn(hash, Some(summary()));
        cache.knows("a.rs", [1, 2, 3, 4, 5], hash);
        let none = TextHash::of("Rust", "?");
        cache.learn(none, None);
        cache.knows("b.rs", [0; 5], none);
        assert_eq!(
            cache.tokens("hello world"),
            TokenCounter::default().count("hello world")
        );
        cache.save();
        let mut cache = open(folder.path());
        assert_eq!(
            cache.summary("a.rs", [1, 2, 3, 4, 5]),
            Some(Some(&summary()))
        );
        assert_eq!(cache.summary("a.rs", [1, 2, 3, 4, 6]), None);
        assert_eq!(cache.summary("b.rs", [0; 5]), Some(None));
        assert_eq!(cache.counts.len(), 1);
        cache.retain(|path| path == "b.rs");
        cache.save();
        let cache = open(folder.path());
        assert_eq!(cache.summary("a.rs", [1, 2, 3, 4, 5]), None);
        assert!(cache.of_text(hash).is_none() && cache.of_text(none).is_some());
        let other = CodeCache::open(folder.path(), Path::new("/q"));
        assert!(other.files.is_empty());
    }

    #[test]
    fn a_damaged_file_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = open(folder.path());
        cache.tokens("hello");
        cache.save();
        let path = cache.path.clone();
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[cut] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert!(open(folder.path()).counts.is_empty(), "byte {cut}");
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(open(folder.path()).counts.is_empty(), "cut at {cut}");
        }
        let mut cache = open(folder.path());
        assert_eq!(
            cache.tokens("hello"),
            TokenCounter::default().count("hello")
        );
        cache.save();
        assert_eq!(open(folder.path()).counts.len(), 1);
    }
}
