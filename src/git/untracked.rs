//! The files that git does not track. Owns which of them go on the branch after all, and why the rest stays off.
//!
//! What is untracked when a batch begins is the user's: it stays off the branch, unless a file task names it. What a command
//! makes goes there, but for what looks like a secret, is large, lies in a tool's folder, or is something left off under
//! another name. For that last one the files that are left off are looked at before each command: by what they are, and by
//! their contents as far as these are small or were saved.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git2::{Index, ObjectType, Oid};

use super::at::{self, PathKind, find, opened};
use super::error::GitResult;
use super::{CommitStep, ContentId, Message, SaveOutcome, Snapshots, Store, look, tools};
use crate::policy::secrets::{self, begins_like_key};
use crate::text::size;

/// A file or folder that a batch made, or named, and that is not on the branch. Relative to the repository's top.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOff {
    pub path: PathBuf,
    pub why: OffReason,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OffReason {
    /// The file looks like a secret, by its name or as its content begins like a private key.
    Secret,
    /// Larger than what commands make may be, in bytes.
    Large(u64),
    /// A folder of a tool.
    Tool,
    /// The file is this one, or has its content, and git leaves that out.
    Copy(PathBuf),
    /// The file was there before, untracked, and a command put it into git's index.
    Staged,
    /// Likewise a notes or output file.
    Notes,
    /// No snapshot has what was there before a file task changed it.
    Lost,
}

impl LeftOff {
    /// Makes its paths relative to the root.
    pub(super) fn strip(&mut self, root: &Path) {
        let strip = |path: &mut PathBuf| {
            if let Ok(below) = path.strip_prefix(root) {
                *path = below.to_path_buf();
            }
        };
        strip(&mut self.path);
        if let OffReason::Copy(of) = &mut self.why {
            strip(of);
        }
    }
}

impl std::fmt::Display for LeftOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match &self.why {
            OffReason::Secret => write!(f, "{path} (looks like a secret)"),
            OffReason::Large(limit) => write!(f, "{path} (larger than {})", size::show(*limit)),
            OffReason::Tool => write!(f, "{path}/ (a tool's folder)"),
            OffReason::Copy(of) => write!(f, "{path} (the same as {})", of.display()),
            OffReason::Staged => write!(f, "{path} (was untracked, and a command staged it)"),
            OffReason::Lost => write!(f, "{path} (no snapshot has its previous content)"),
            OffReason::Notes => write!(f, "{path} (clada's own file, and a command staged it)"),
        }
    }
}

/// The paths that the last look at everything saw, relative to the repository's top.
#[derive(Default)]
pub(super) struct Looked {
    /// Files that git neither tracks nor ignores.
    pub(super) untracked: BTreeSet<PathBuf>,
    pub(super) tools: Vec<PathBuf>,
    pub(super) ignored: Vec<PathBuf>,
    pub(super) repositories: Vec<PathBuf>,
    /// Clada's own files that are in the index and in no commit.
    pub(super) staged: BTreeSet<PathBuf>,
}

/// The files beside git while a batch runs, relative to the repository's top.
#[derive(Default)]
pub(super) struct UntrackedState {
    /// The paths of the last look at everything.
    pub(super) looked: Looked,
    pub(super) before: BeforeBatch,
    /// Places of which no snapshot has what a file task found there: what it left there is no commit's either, as an undo
    /// would take that away and bring nothing back.
    pub(super) lost: BTreeSet<PathBuf>,
    /// The places that file tasks of the batch named.
    named: BTreeSet<PathBuf>,
    /// True if there was more than what is saved aside, so nothing new is: an undo would take away what may only have been moved.
    pub(super) is_unkept: bool,
    /// The newest commit aside when the batch began.
    pub(super) kept: Option<Oid>,
    /// Files left off that are the only copy of something that no save has: an undo leaves them where they are.
    pub(super) only: BTreeSet<PathBuf>,
    /// The state of places that tasks changed and that are not saved aside yet, where the batch is one commit.
    pub(super) unsaved: BTreeMap<PathBuf, Option<ContentId>>,
    /// The fingerprints as they were before the last command.
    fingerprints: Fingerprints,
}

/// The user's own files beside git when a batch begins.
#[derive(Default)]
pub(super) struct BeforeBatch {
    /// Untracked and ignored files that were there, or were told of since.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Folders of which all was left out: those of tools, ignored ones, repositories.
    folders: BTreeSet<PathBuf>,
    /// Clada's own files that the user himself has put into the index.
    pub(super) staged: BTreeSet<PathBuf>,
}

/// Files that git leaves out, to know them again.
#[derive(Default)]
struct Fingerprints {
    by_content: HashMap<Oid, PathBuf>,
    by_identity: HashMap<FileIdentity, PathBuf>,
    /// Folders of which all is left out.
    folders: HashMap<FileIdentity, PathBuf>,
    /// The files whose content was not looked at.
    by_size: HashMap<u64, Vec<PathBuf>>,
}

/// A look at the files that git leaves out, within limits.
struct Fingerprinting<'s> {
    store: &'s Store,
    aside: Option<Index>,
    /// The number of files that may still be looked at, and of bytes that may be read.
    files: usize,
    bytes: u64,
    found: Fingerprints,
}

/// A file, whatever its name: numbers of files are used again, so the time when it was made is part of it.
#[derive(PartialEq, Eq, Hash)]
struct FileIdentity(u64, u64, SystemTime);

impl FileIdentity {
    fn of(data: &Metadata) -> Option<Self> {
        // Without the time, a new file may be taken for one that is gone.
        Some(Self(data.dev(), data.ino(), data.created().ok()?))
    }

    fn at(place: &Path) -> Option<Self> {
        Self::of(&fs::symlink_metadata(place).ok()?)
    }
}

/// Marks a private repository whose user was offered to have untracked files added.
const OFFERED: &str = "clada-offered";

/// The most ignored files that are looked at before a command; the largest file that is read then, and the most bytes in all.
const IGNORED: usize = 5_000;
const SMALL: u64 = 64 * 1024;
const READ: u64 = 2 * 1024 * 1024;

/// The number of bytes beside white space that make a content of its own; and in a file that looks like a secret.
const SOME: usize = 8;
const SOME_SECRET: usize = 4;

impl BeforeBatch {
    fn of(looked: &Looked) -> Self {
        let ignored = looked.ignored.iter();
        let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
            ignored.partition(|path| look::ends_with_slash(path));
        let folders = folders.into_iter().chain(&looked.repositories);
        // Without the slash at the end.
        let folders = folders.map(|path| path.components().collect());
        Self {
            paths: looked.untracked.iter().chain(files).cloned().collect(),
            folders: folders.chain(looked.tools.iter().cloned()).collect(),
            staged: looked.staged.clone(),
        }
    }

    /// Adds what a command made and no commit has: it was told of, and is the user's from now on.
    pub(super) fn add(&mut self, told: &[LeftOff]) {
        for left in told {
            let places = if left.why == OffReason::Tool {
                &mut self.folders
            } else {
                &mut self.paths
            };
            places.insert(left.path.clone());
        }
    }
}

impl Snapshots {
    /// Counts the untracked files that could go into git, where it tracks fewer than that; once in a repository. As of the
    /// last look at everything.
    pub fn offers_to_add(&self) -> Option<usize> {
        let _working = self.store.relief.working();
        if !self.store.rules.leaves_untracked() {
            return None;
        }
        let mark = self.aside()?.repo.path().join(OFFERED);
        let tracked = self.store.index_now().ok()?.len();
        let untracked = self.untracked.looked.untracked.len();
        if tracked >= untracked || mark.exists() {
            return None;
        }
        let addable = self.addable().len();
        if tracked >= addable {
            return None;
        }
        File::create_new(mark).ok().map(|_| addable)
    }

    /// Adds untracked files and commits them, but for secrets and large ones; returns their number. What the user has changed
    /// besides is committed before.
    ///
    /// # Errors
    /// As for a save.
    pub fn add_untracked(&mut self, message: &Message) -> GitResult<(usize, SaveOutcome)> {
        let before = Message {
            step: CommitStep::Before,
            ..message.clone()
        };
        self.before(&before)?;
        let addable = self.addable().into_iter();
        let files: Vec<(PathBuf, bool)> = addable
            .filter_map(|path| Some((self.store.below_root(&path)?, true)))
            .collect();
        let count = files.len();
        let text = match count {
            1 => "Add 1 file that git did not track".to_owned(),
            _ => format!("Add {count} files that git did not track"),
        };
        let message = Message {
            subject: text,
            step: CommitStep::Add,
            ..before
        };
        let outcome = self.after_restoring(&files, &message)?;
        self.settle()?;
        Ok((count, outcome))
    }

    /// Untracked files that are no secrets, and not large, relative to the top.
    fn addable(&self) -> Vec<PathBuf> {
        let Ok(index) = self.store.index_now() else {
            return Vec::new();
        };
        let limit = self.store.rules.options.new_file;
        let is_small = |path: &Path| {
            let data = fs::symlink_metadata(self.store.top.join(path));
            data.is_ok_and(|data| data.len() <= limit)
        };
        let untracked = self.untracked.looked.untracked.iter();
        untracked
            .filter(|path| index.get_path(path, 0).is_none())
            .filter(|path| is_small(path) && !self.store.is_secret(path))
            .cloned()
            .collect()
    }

    /// Looks at what git leaves out, before a command runs that may copy or rename it.
    pub fn expect_command(&mut self) {
        let store = &self.store;
        let _working = store.relief.working();
        if !store.rules.leaves_untracked() {
            return;
        }
        let mut look = Fingerprinting {
            store,
            aside: self.aside().and_then(|aside| aside.index_now().ok()),
            files: usize::MAX,
            bytes: READ,
            found: Fingerprints::default(),
        };
        for entry in look.aside.iter().flat_map(Index::iter) {
            let path = store.root.join(look::path_of(&entry));
            let is_secret = store.rules.options.secrets.has_name(&path);
            if entry.file_size as usize >= SOME || is_secret {
                look.found.by_content.insert(entry.id, path);
            }
        }
        let looked = &self.untracked.looked;
        // What a command of this batch made is no secret by itself.
        let untracked = looked.untracked.iter();
        let of_user = untracked.filter(|path| !self.untracked.is_new(path));
        for path in of_user.chain(&store.rules.never) {
            look.see(path);
        }
        look.files = IGNORED;
        for path in looked.ignored.iter().chain(&looked.repositories) {
            look.see(path);
        }
        for folder in &self.untracked.before.folders {
            if let Some(identity) = FileIdentity::at(&store.top.join(folder)) {
                look.found.folders.insert(identity, folder.clone());
            }
        }
        self.untracked.fingerprints = look.found;
    }

    /// Notes those of these that are the only copy of something that is gone, and that no save has.
    pub(super) fn spare_only_copies(&mut self, left: &[LeftOff]) {
        let is_gone = |of: &Path| self.store.top.join(of).symlink_metadata().is_err();
        let is_only = |left: &&LeftOff| matches!(&left.why, OffReason::Copy(of) if is_gone(of) && !self.is_kept_aside(of).unwrap_or(false));
        let only = left.iter().filter(is_only).map(|left| left.path.clone());
        let only: Vec<PathBuf> = only.collect();
        self.untracked.only.extend(only);
    }

    /// Notes these places (relative to the root): what file tasks did there goes on the branch.
    pub fn named(&mut self, paths: &[PathBuf]) {
        let places = paths.iter().map(|path| self.store.root.join(path));
        self.untracked.named.extend(places);
    }

    /// Forgets the named places: their changes were taken back.
    pub fn unnamed(&mut self) {
        self.untracked.named.clear();
    }
}

impl Fingerprinting<'_> {
    /// Takes the fingerprints of a file, or of all that is in a folder.
    fn see(&mut self, path: &Path) {
        let place = self.store.top.join(path);
        let Ok(data) = fs::symlink_metadata(&place) else {
            return;
        };
        if self.files == 0 {
            return;
        }
        if data.is_dir() {
            if tools::is_tool_folder(&place) || place.ends_with(".git") {
                return;
            }
            for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                self.see(&path.join(entry.file_name()));
            }
            return;
        }
        self.files = self.files.saturating_sub(1);
        let size = data.len();
        if !data.is_file() || size < SOME_SECRET as u64 {
            return;
        }
        if let Some(identity) = FileIdentity::of(&data) {
            self.found.by_identity.insert(identity, path.to_path_buf());
        }
        let below = self.store.below_root(path).zip(self.aside.as_ref());
        if below.is_some_and(|(below, index)| index.get_path(&below, 0).is_some()) {
            return;
        }
        if size <= SMALL
            && size <= self.bytes
            && let Some(content) = self.store.content_of(path)
        {
            self.bytes -= size;
            let known = self.found.by_content.entry(content);
            known.or_insert_with(|| path.to_path_buf());
        } else {
            let same = self.found.by_size.entry(size).or_default();
            same.push(path.to_path_buf());
        }
    }
}

impl UntrackedState {
    /// Takes all that was looked at last for the user's: a batch begins.
    pub(super) fn begin(&mut self) {
        let looked = std::mem::take(&mut self.looked);
        *self = Self {
            before: BeforeBatch::of(&looked),
            looked,
            ..Self::default()
        };
    }

    /// Decides about an untracked file after a command: the reason to keep it off the branch, or none. The outer `None` is
    /// for one of the user's, of which there is nothing to tell.
    pub(super) fn stays_off(&self, store: &Store, path: &Path) -> Option<Option<OffReason>> {
        if self.named.contains(path) {
            return Some(self.named_stays_off(store, path));
        }
        self.is_new(path).then(|| self.made_stays_off(store, path))
    }

    /// True for something untracked that was not there when the batch began.
    pub(super) fn is_new(&self, path: &Path) -> bool {
        !self.before.paths.contains(path) && !is_below(path, &self.before.folders)
    }

    /// The folder of the user's that something untracked lies in, where all of that was left out.
    pub(super) fn left_out_folder(&self, path: &Path) -> Option<PathBuf> {
        let mut above = path.ancestors();
        let folder = above.find(|place| self.before.folders.contains(*place));
        folder.map(Path::to_path_buf)
    }

    /// True if no snapshot has what was at a place before a file task.
    pub(super) fn is_lost(&self, path: &Path) -> bool {
        is_below(path, &self.lost)
    }

    /// Finds a reason to keep an untracked file off the branch though a file task named it.
    pub(super) fn named_stays_off(&self, store: &Store, path: &Path) -> Option<OffReason> {
        if self.is_lost(path) {
            return Some(OffReason::Lost);
        }
        store.is_secret(path).then_some(OffReason::Secret)
    }

    /// Finds a reason to keep a file that a command made off the branch.
    fn made_stays_off(&self, store: &Store, path: &Path) -> Option<OffReason> {
        let data = fs::symlink_metadata(store.top.join(path)).ok()?;
        let limit = store.rules.options.new_file;
        if store.is_secret(path) {
            Some(OffReason::Secret)
        } else if !data.is_file() {
            None
        } else if data.len() > limit {
            Some(OffReason::Large(limit))
        } else {
            self.copy_of(store, path, &data).map(OffReason::Copy)
        }
    }

    /// Notes the contents of what a command made and looks like a secret, by path: it may have made a copy as well.
    pub(super) fn expect_copies(&mut self, store: &Store, made: &BTreeSet<PathBuf>) {
        let made = made.iter();
        let secrets = made.filter(|path| self.is_new(path) && store.is_secret(path));
        let contents: Vec<_> = secrets
            .filter_map(|path| Some((store.content_of(path)?, path.clone())))
            .collect();
        self.fingerprints.by_content.extend(contents);
    }

    /// The folder that a file lies in and that a command has moved there, where all of it was left out; and what it was.
    pub(super) fn moved_folder(&self, store: &Store, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let known = &self.fingerprints.folders;
        if known.is_empty() {
            return None;
        }
        let below = |place: &&Path| place.starts_with(&store.root) && **place != *store.root;
        let mut above = path.ancestors().skip(1).take_while(below);
        above.find_map(|place| {
            let was = known.get(&FileIdentity::at(&store.top.join(place))?)?;
            (was != place).then(|| (place.to_path_buf(), was.clone()))
        })
    }

    /// Finds the file that git leaves out and that this one is, or has the content of.
    fn copy_of(&self, store: &Store, path: &Path, data: &Metadata) -> Option<PathBuf> {
        let known = &self.fingerprints;
        let is_another = |of: &&PathBuf| of.as_path() != path;
        if let Some(of) = FileIdentity::of(data).and_then(|id| known.by_identity.get(&id)) {
            return Some(of).filter(is_another).cloned();
        }
        let size = data.len();
        let of_same_size = known.by_size.get(&size);
        if known.by_content.is_empty() && of_same_size.is_none() {
            return None;
        }
        let bytes = at::content(&store.top.join(path), size)?;
        let content = content(&bytes, SOME_SECRET)?;
        let is_same = |of: &&PathBuf| {
            at::content(&store.top.join(of), size).is_some_and(|other| other == bytes)
        };
        let of = known.by_content.get(&content);
        let of = of.or_else(|| of_same_size?.iter().find(is_same));
        of.filter(is_another).cloned()
    }
}

impl Store {
    /// True if git tracks a path (relative to the root).
    ///
    /// # Errors
    /// Where the index cannot be read.
    pub fn is_tracked(&self, path: &Path) -> GitResult<bool> {
        let index = self.index_now()?;
        Ok(index.get_path(&self.root.join(path), 0).is_some())
    }

    /// True if the file or link at a place looks like a secret.
    pub(super) fn is_secret(&self, path: &Path) -> bool {
        self.rules.options.secrets.has_name(path) || self.holds_key(path)
    }

    fn holds_key(&self, path: &Path) -> bool {
        if !matches!(find(&self.top, path), Ok(PathKind::File)) {
            return false;
        }
        let mut head = Vec::new();
        let file = opened(&self.top.join(path));
        let read = file.map(|file| file.take(secrets::HEAD as u64).read_to_end(&mut head));
        read.is_some_and(|read| read.is_ok()) && begins_like_key(&head)
    }

    /// The content of an untracked file, where there is enough of it to know it again.
    fn content_of(&self, path: &Path) -> Option<Oid> {
        let bytes = at::content(&self.top.join(path), SMALL)?;
        let least = if self.is_secret(path) {
            SOME_SECRET
        } else {
            SOME
        };
        content(&bytes, least)
    }
}

/// True if a path is one of these, or lies in one.
pub(super) fn is_below(path: &Path, places: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|place| places.contains(place))
}

/// A content by its hash, where there are so many bytes of it beside white space.
fn content(bytes: &[u8], least: usize) -> Option<Oid> {
    let mut some = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    some.nth(least - 1)?;
    Oid::hash_object(ObjectType::Blob, bytes).ok()
}
