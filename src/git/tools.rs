//! Folders of tools: what is in them was made by a program that can make it again, so no save takes it in. Changes nothing.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::at::opened;

/// Names that only tools give to a folder.
pub(super) const NAMES: [&str; 24] = [
    "node_modules",
    "bower_components",
    ".venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".eggs",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".angular",
    ".parcel-cache",
    ".turbo",
    ".cache",
    ".terraform",
    ".dart_tool",
    ".direnv",
    ".stack-work",
    ".zig-cache",
    ".pnpm-store",
];

/// Names that say nothing by themselves, and a file beside that does.
const BESIDE: [(&str, &str); 7] = [
    ("target", "Cargo.toml"),
    ("target", "pom.xml"),
    ("target", "build.sbt"),
    ("_build", "mix.exs"),
    ("deps", "mix.exs"),
    ("Pods", "Podfile"),
    ("elm-stuff", "elm.json"),
];

/// Names that say enough where nothing can be taken from what is in a folder or beside it.
pub(super) const BY_NAME: [&str; 2] = ["target", "venv"];

/// A file that a desktop puts into every folder.
pub(super) const LITTER: &str = ".DS_Store";

/// The beginning of a `CACHEDIR.TAG`, by its specification.
const TAG: &[u8; 43] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// True for a folder that only a tool would name so.
pub fn has_tool_name(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| NAMES.contains(&name) || BY_NAME.contains(&name))
}

/// True if the folder at this absolute path is a tool's.
pub(super) fn is_tool_folder(folder: &Path) -> bool {
    let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let is_beside = |(own, other): &(&str, &str)| {
        *own == name && folder.with_file_name(other).symlink_metadata().is_ok()
    };
    NAMES.contains(&name)
        || BESIDE.iter().any(is_beside)
        || fs::symlink_metadata(folder.join("pyvenv.cfg")).is_ok()
        || is_tagged(folder)
}

fn is_tagged(folder: &Path) -> bool {
    let tag = folder.join("CACHEDIR.TAG");
    let mut begins = [0; TAG.len()];
    let read = opened(&tag).map(|mut tag| tag.read_exact(&mut begins));
    read.is_some_and(|read| read.is_ok()) && begins == *TAG
}
