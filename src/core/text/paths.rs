//! Paths as people read and type them: quoted for a shell, shortened by `~`. Opens none.

use std::path::Path;

/// Quotes a path for a shell.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Shortens a path by `~` for the home folder.
pub fn short(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(below) => Path::new("~").join(below).display().to_string(),
        Err(_) => path.display().to_string(),
    }
}
