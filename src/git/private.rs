//! The repository of a folder that has none: it is in clada's state, and its work tree is the folder. Owns where it is,
//! what it leaves out and when there is none; never puts anything into the folder.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use git2::{ErrorClass, Repository, RepositoryInitOptions};
use sha2::{Digest, Sha256};

use super::at::{LARGEST, is_huge};
use super::error::GitResult;
use super::index::PendingIndex;
use super::untracked::UntrackedState;
use super::{
    Message, Options, SaveOutcome, SaveScope, SkipReason, SnapshotError, Store, Without, canonical,
    tools,
};
use crate::text::hex::hex;
use crate::world::folder::if_there;

/// The lines for what such a repository leaves out, beside what a `.gitignore` names: what tools make and can make again.
fn excludes() -> String {
    let names = tools::NAMES.iter().chain(&tools::BY_NAME);
    let folders: String = names.map(|name| format!("{name}/\n")).collect();
    folders + tools::LITTER + "\n"
}

/// Files are kept as they are, to the byte, whatever a `.gitattributes` says.
const ATTRIBUTES: &str = "* -text -eol -filter -ident -working-tree-encoding\n";

/// Marks a repository whose folder had too many files: they are counted before the next save.
const TOO_MANY: &str = "clada-too-many";

/// Opens the private repository of a root, which is made if it is not there. `None` where the user wants none.
///
/// `bare`: the repository that the root lies in without being its work tree, or that lies in the root.
///
/// # Errors
/// [`SnapshotError::Without`] for a root that can have none.
pub(super) fn open(
    root: &Path,
    bare: Option<&Path>,
    options: &Options,
) -> GitResult<Option<Opened>> {
    if !is_wanted(root, bare, options)? {
        return Ok(None);
    }
    let opened = repository(root, bare, options);
    let opened = opened.map_err(|why| why.of_private(&path_of(root, options)));
    opened.map(Some)
}

/// True if the user wants one.
///
/// # Errors
/// [`SnapshotError::Without`] for a root that can have none.
pub(super) fn is_wanted(root: &Path, bare: Option<&Path>, options: &Options) -> GitResult<bool> {
    if options.private_limit == 0 {
        return Ok(false);
    }
    let real = |path: &Path| canonical(path).unwrap_or_else(|_| path.to_path_buf());
    let state = real(&options.private);
    let why: fn(PathBuf) -> Without =
        if root.parent().is_none() || real(&options.home).starts_with(root) {
            Without::Home
        } else if state.starts_with(root) || root.starts_with(&state) {
            Without::OwnState
        } else if bare.is_some_and(|bare| root.starts_with(bare)) {
            Without::GitDirectory
        } else {
            return Ok(true);
        };
    Err(why(root.to_path_buf()).into())
}

/// A private repository, and what is to be said of opening it.
pub(super) struct Opened {
    pub(super) repo: Repository,
    pub(super) notice: Option<String>,
}

/// The private repository of any root, without a look at whether it is to have one. One that is damaged is put aside.
pub(super) fn repository(root: &Path, bare: Option<&Path>, options: &Options) -> GitResult<Opened> {
    let path = path_of(root, options);
    let there = exists(root, options).then(|| Repository::open_bare(&path));
    let (repo, notice) = match there {
        Some(Err(why)) if is_damage(&why) => {
            let notice = put_aside(&path, why.message())?;
            (make(root, &path, options)?, Some(notice))
        }
        Some(opened) => (opened?, None),
        None => (make(root, &path, options)?, None),
    };
    repo.set_workdir(root, false)?;
    let mut exclude = excludes();
    // Work trees beside their repository: that is not for snapshots, and they have their own.
    if let Some(bare) = bare.and_then(|bare| bare.strip_prefix(root).ok()) {
        exclude += &format!("/{}/\n", bare.display());
    }
    let path = path.join("info/exclude");
    if fs::read_to_string(&path).ok().as_ref() != Some(&exclude) {
        fs::write(&path, exclude).map_err(|why| failed(&path, why))?;
    }
    Ok(Opened { repo, notice })
}

/// True if there is one.
pub(super) fn exists(root: &Path, options: &Options) -> bool {
    path_of(root, options).symlink_metadata().is_ok()
}

pub(super) fn path_of(root: &Path, options: &Options) -> PathBuf {
    options.private.join(name_of(root) + ".git")
}

/// A name that stands for a path in clada's state: 32 hex digits.
pub(super) fn name_of(path: &Path) -> String {
    hex(&Sha256::digest(path.as_os_str().as_encoded_bytes())[..16])
}

fn make(root: &Path, path: &Path, options: &Options) -> GitResult<Repository> {
    let cannot = |why| failed(path, why);
    // They hold what the folder holds, which may be for nobody else to read.
    let mut folder = DirBuilder::new();
    let folder = folder.recursive(true).mode(0o700);
    folder.create(&options.private).map_err(cannot)?;
    fs::set_permissions(&options.private, Permissions::from_mode(0o700)).map_err(cannot)?;
    // Made under another name: one that a crash cut off in the making is none.
    let new = path.with_extension("new");
    if_there(fs::remove_dir_all(&new)).map_err(cannot)?;
    let mut how = RepositoryInitOptions::new();
    how.bare(true)
        .mkpath(true)
        .external_template(false)
        .initial_head("main");
    how.description(&root.to_string_lossy());
    let repo = Repository::init_opts(&new, &how)?;
    let mut config = repo.config()?;
    config.set_bool("core.autocrlf", false)?;
    config.set_bool("core.safecrlf", false)?;
    drop(repo);
    let info = new.join("info");
    fs::create_dir_all(&info).map_err(cannot)?;
    fs::write(info.join("attributes"), ATTRIBUTES).map_err(cannot)?;
    fs::rename(&new, path).map_err(cannot)?;
    Ok(Repository::open_bare(path)?)
}

/// Puts a damaged repository aside; says so.
fn put_aside(path: &Path, cause: &str) -> GitResult<String> {
    let aside = (1..)
        .map(|number| path.with_extension(format!("damaged-{number}")))
        .find(|aside| aside.symlink_metadata().is_err());
    let aside = aside.unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &aside).map_err(|why| failed(path, why))?;
    Ok(format!(
        "⚠ the private snapshots of this folder were damaged ({cause}) and are kept in `{}`: new ones begin, so `clada \
         undo` cannot go back beyond this batch",
        aside.display()
    ))
}

/// True if an error says that the repository itself is broken; not that the disk is full or forbids it.
fn is_damage(why: &git2::Error) -> bool {
    use ErrorClass as C;
    matches!(
        why.class(),
        C::Odb
            | C::Object
            | C::Zlib
            | C::Index
            | C::Reference
            | C::Tree
            | C::Repository
            | C::Config
            | C::Invalid
            | C::Tag
            | C::Sha1
    )
}

fn failed(path: &Path, why: io::Error) -> SnapshotError {
    SnapshotError::NoFolder(path.to_path_buf(), why)
}

impl Store {
    /// Saves; once more in a new repository where this one is damaged.
    pub(super) fn healed(
        &mut self,
        mut save: impl FnMut(&Self) -> GitResult<SaveOutcome>,
    ) -> GitResult<SaveOutcome> {
        match save(self) {
            Err(SnapshotError::Git(why)) if is_damage(&why) => {
                let root = self.root_path();
                let options = &self.rules.options;
                self.say(put_aside(&path_of(&root, options), why.message())?);
                self.repo = repository(&root, None, options)?.repo;
                self.index = PendingIndex::default();
                self.index.given_up.set(true);
                save(self)
            }
            saved => saved,
        }
    }

    /// Counts the files before the first save, and after there were too many. Else the save itself sees it: to count
    /// them is a walk of its own.
    pub(super) fn save_counted(
        &self,
        message: &Message,
        untracked: &mut UntrackedState,
    ) -> GitResult<SaveOutcome> {
        let _working = self.relief.working();
        let mark = self.repo.path().join(TOO_MANY);
        let was_too_many = mark.exists();
        if was_too_many || self.head()?.is_none() {
            if self.has_more_files_than(self.rules.options.private_limit)? {
                return Err(self.too_many());
            }
            if was_too_many {
                fs::remove_file(&mark).map_err(|why| failed(&mark, why))?;
            }
        }
        self.save(SaveScope::Before, message, untracked)
    }

    /// Remembers that a folder has too many files by now.
    pub(super) fn too_many(&self) -> SnapshotError {
        // Without the mark the next save only takes longer to find that out.
        let _ = File::create(self.repo.path().join(TOO_MANY));
        Without::TooMany(self.rules.options.private_limit).into()
    }

    /// Looks at no more than it must: a folder with a million files costs no more than one at the limit.
    fn has_more_files_than(&self, limit: usize) -> GitResult<bool> {
        let mut waiting = vec![PathBuf::new()];
        let (mut files, mut folders) = (0, 0);
        while let Some(folder) = waiting.pop() {
            folders += 1;
            // What cannot be listed is told when it is saved.
            let entries = fs::read_dir(self.top.join(&folder));
            for entry in entries.into_iter().flatten().flatten() {
                let mut path = folder.join(entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder {
                    path.push("");
                }
                if self.repo.is_path_ignored(&path)? {
                    continue;
                }
                if !is_folder {
                    files += 1;
                } else if !self.top.join(&path).join(".git").exists() {
                    waiting.push(path);
                }
                // Nor are folders without a file looked through for ever.
                if files > limit || folders + waiting.len() > limit {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Finds that a file is larger than what the repository takes.
    pub(super) fn too_large(&self, path: &Path) -> Option<SkipReason> {
        let place = self.top.join(path);
        if !self.is_private() {
            return is_huge(&place).then_some(SkipReason::Huge(LARGEST));
        }
        let limit = self.rules.options.private_file;
        let size = fs::symlink_metadata(place).ok()?.len();
        (size > limit).then_some(SkipReason::TooLarge(limit))
    }
}
