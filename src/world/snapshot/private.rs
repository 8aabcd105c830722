//! The repository of a folder that has none: it is in clada's state, and its work tree is the folder. Owns where it is and
//! what it leaves out; never puts anything into the folder.

use std::fs;
use std::path::Path;

use git2::{Repository, RepositoryInitOptions};
use sha2::{Digest, Sha256};

use super::{Options, SnapshotError};
use crate::lang::hex::hex;

/// What such a repository leaves out, beside what a `.gitignore` names: what tools make and can make again.
const EXCLUDE: &str = "\
node_modules/
bower_components/
target/
.venv/
venv/
__pycache__/
.tox/
.mypy_cache/
.pytest_cache/
.ruff_cache/
.gradle/
.next/
.nuxt/
.cache/
.parcel-cache/
.turbo/
.terraform/
.DS_Store
";

/// Files are kept as they are, to the byte, whatever a `.gitattributes` says.
const ATTRIBUTES: &str = "* -text -eol -filter -ident -working-tree-encoding\n";

/// Opens the private repository of a root, which is made if it is not there. `None` for a root that is to have none.
pub(super) fn open(root: &Path, options: &Options) -> Result<Option<Repository>, SnapshotError> {
    if options.private_limit == 0 || root.parent().is_none() || options.home.starts_with(root) {
        return Ok(None);
    }
    let name = hex(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..16]);
    let path = options.private.join(name + ".git");
    let repo = match path.join("HEAD").exists() {
        true => Repository::open_bare(&path)?,
        false => make(root, &path)?,
    };
    repo.set_workdir(root, false)?;
    Ok(Some(repo))
}

fn make(root: &Path, path: &Path) -> Result<Repository, SnapshotError> {
    let mut how = RepositoryInitOptions::new();
    how.bare(true)
        .mkpath(true)
        .external_template(false)
        .initial_head("main");
    how.description(&root.to_string_lossy());
    let repo = Repository::init_opts(path, &how)?;
    let mut config = repo.config()?;
    config.set_bool("core.autocrlf", false)?;
    config.set_bool("core.safecrlf", false)?;
    let failed = |error| SnapshotError::NoFolder(path.to_path_buf(), error);
    let info = path.join("info");
    fs::create_dir_all(&info).map_err(failed)?;
    fs::write(info.join("exclude"), EXCLUDE).map_err(failed)?;
    fs::write(info.join("attributes"), ATTRIBUTES).map_err(failed)?;
    Ok(repo)
}
