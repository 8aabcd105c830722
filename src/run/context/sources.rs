//! Reads the project's files for the chat: their texts, outlines and tokens. Remembers in the cache what can be found out anew.

use std::cell::RefCell;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::named::{WalkedFile, walked};
use crate::code::{CodeLanguage, FileSummary, Outline};
use crate::report::repair;
use crate::run::files::FileResult;
use crate::text::mask::Mask;
use crate::world::code_cache::{CodeCache, TextHash};
use crate::world::context::ContextStore;
use crate::world::locked::locked;
use crate::world::syntax::{self, CodeError, Syntax};
use crate::world::workspace::{Disk, ProjectFiles};

/// A larger file has no place in the map of a project, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// Below so many files one process parses them as fast.
const FEW: usize = 16;

/// The project's files as the chat may see them.
pub struct CodeSources<'f> {
    pub(super) files: &'f dyn ProjectFiles,
    mask: &'f Mask,
    cache: RefCell<CodeCache>,
    syntax: Syntax,
}

/// A file of the project with what is known of its code.
pub(super) struct MappedFile {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) summary: Option<FileSummary>,
}

impl<'f> CodeSources<'f> {
    /// The files of a set's root; `mask` hides the secrets in them.
    pub fn new(files: &'f dyn ProjectFiles, store: &ContextStore, mask: &'f Mask) -> Self {
        Self {
            files,
            mask,
            cache: RefCell::new(CodeCache::open(&store.caches(), store.root())),
            syntax: files.disk().syntax().clone(),
        }
    }

    /// Counts the tokens of a text.
    pub fn tokens(&self, text: &str) -> usize {
        self.cache.borrow_mut().tokens(text)
    }

    /// A text with the secrets in it masked.
    pub(super) fn masked(&self, text: &str) -> String {
        self.mask.text(text).into_owned()
    }

    /// The outline of a file's text as text; `None` where none is known.
    pub(super) fn outline_text(&self, path: &str, text: &str) -> Option<String> {
        let language = CodeLanguage::of(path, text).filter(|it| syntax::is_built(*it))?;
        let hash = TextHash::of(language.name(), text);
        let known = self.cache.borrow().of_text(hash).map(|it| it.cloned());
        let summary = known.unwrap_or_else(|| {
            let (summary, lasts) = summary(&self.syntax, language, text);
            if lasts {
                self.cache.borrow_mut().learn(hash, summary.clone());
            }
            summary
        });
        let outline = summary?.outline;
        (!outline.is_empty()).then(|| self.masked(&outline))
    }

    /// The definitions of a file's text; `None` where its language is not known.
    pub(super) fn outline(&self, path: &str, text: &str) -> Option<Result<Outline, CodeError>> {
        let language = CodeLanguage::of(path, text)?;
        Some(self.syntax.outline(language, text))
    }

    /// All files of the project that may be shown, in the order of their paths, with what is known of those that have code.
    ///
    /// # Errors
    /// Where the root cannot be looked at.
    pub(super) fn project(&self) -> FileResult<Vec<MappedFile>> {
        let root = self.files.place(&self.files.parse(".")?, true)?;
        let found = walked(&root, self.files, None, &|_| true);
        let unknown: Vec<&WalkedFile> = {
            let cache = self.cache.borrow();
            let is_unknown = |file: &&WalkedFile| {
                may_have_code(file) && cache.summary(&file.path, file.signs).is_none()
            };
            found.iter().filter(is_unknown).collect()
        };
        let mut learnt = self.learn(&unknown);
        let mut cache = self.cache.borrow_mut();
        let mut fresh = std::collections::HashMap::new();
        for (at, hash, summary, lasts) in learnt.drain(..) {
            let file = unknown[at];
            if lasts && file.is_sure {
                cache.knows(&file.path, file.signs, hash);
                cache.learn(hash, summary.clone());
            }
            fresh.insert(file.path.as_str(), summary);
        }
        let mut mapped = Vec::with_capacity(found.len());
        for file in &found {
            let known = || cache.summary(&file.path, file.signs).flatten().cloned();
            mapped.push(MappedFile {
                path: file.path.clone(),
                size: file.size,
                summary: fresh.remove(file.path.as_str()).unwrap_or_else(known),
            });
        }
        let there: std::collections::HashSet<&str> =
            found.iter().map(|file| file.path.as_str()).collect();
        cache.retain(|path| there.contains(path));
        Ok(mapped)
    }

    /// Keeps what was found out, and ends the process that parses.
    pub fn finish(&self) {
        self.cache.borrow_mut().save();
        self.syntax.rest();
    }

    /// Parses these files, in several processes where there are many.
    fn learn(&self, files: &[&WalkedFile]) -> Vec<(usize, TextHash, Option<FileSummary>, bool)> {
        let disk = self.files.disk();
        let cache = self.cache.borrow();
        let next = AtomicUsize::new(0);
        let learnt = Mutex::new(Vec::with_capacity(files.len()));
        let work = |syntax: &Syntax, cache: &CodeCache| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(at) else { break };
                let found = look(file, disk, syntax, cache);
                if let Some((hash, summary, lasts)) = found {
                    locked(&learnt).push((at, hash, summary, lasts));
                }
            }
            syntax.rest();
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let workers = if files.len() < FEW { 1 } else { cores + 1 };
        let cache = &*cache;
        thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|| work(&Syntax::of_this_program(), cache));
            }
            work(&Syntax::of_this_program(), cache);
        });
        let mut learnt = std::mem::take(&mut *locked(&learnt));
        learnt.sort_by_key(|(at, ..)| *at);
        learnt
    }
}

/// True for a file that may be in a language with a grammar. A name with an ending says which.
fn may_have_code(file: &WalkedFile) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let language = CodeLanguage::of(&file.path, "");
    let may_be = language.map_or(!name.contains('.'), syntax::is_built);
    may_be && file.size <= LARGEST
}

/// The hash of a file's text and its summary, and true where that lasts as long as the text.
fn look(
    file: &WalkedFile,
    disk: &Disk,
    syntax: &Syntax,
    cache: &CodeCache,
) -> Option<(TextHash, Option<FileSummary>, bool)> {
    let bytes = disk.glance(file.path.as_ref(), LARGEST)?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let text = if repair::holds_key(text) { "" } else { text };
    let language = CodeLanguage::of(&file.path, text).filter(|it| syntax::is_built(*it));
    let hash = TextHash::of(language.map_or("", CodeLanguage::name), text);
    if let Some(known) = cache.of_text(hash) {
        return Some((hash, known.cloned(), true));
    }
    let Some(language) = language else {
        return Some((hash, None, true));
    };
    let (summary, lasts) = summary(syntax, language, text);
    Some((hash, summary, lasts))
}

/// The summary of a text, and true where asking again would give the same.
fn summary(syntax: &Syntax, language: CodeLanguage, text: &str) -> (Option<FileSummary>, bool) {
    match syntax.summary(language, text) {
        Ok(summary) => (Some(summary), true),
        Err(CodeError::NoProcess(_) | CodeError::TooSlow) => (None, false),
        Err(_) => (None, true),
    }
}
