//! Files that look like a secret: by their names, which are those that the shipped settings keep from replies, or by how
//! their content begins. Looks at no file.

use std::path::Path;

use super::paths::{Access, PathList, Paths};

/// The part of a file that is looked at, in bytes.
pub const HEAD: usize = 4096;

/// The names of secrets.
#[derive(Debug, Clone)]
pub struct Secrets(Paths);

impl Secrets {
    /// Takes the names that these lists, whose patterns are for any folder, keep from being read.
    pub fn new(lists: &[PathList<'_>]) -> Self {
        let nowhere = Path::new("/");
        Self(Paths::new(lists, nowhere, nowhere).expect("patterns for any folder are inside any"))
    }

    /// Tells that a file of this name looks like one.
    pub fn has_name(&self, path: &Path) -> bool {
        let denial = self.0.refuses(Access::Read, path);
        denial.is_some_and(|denial| denial.is_named())
    }
}

/// Tells that a content that begins so is a private key. Comments may stand above one.
pub fn begins_like_key(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(str::trim);
    let first = lines
        .filter(|line| !line.is_empty())
        .find(|line| !line.starts_with('#'));
    first.is_some_and(|line| {
        let armour = line.strip_prefix("-----BEGIN ");
        armour.is_some_and(|kind| {
            kind.contains("PRIVATE KEY-----") || kind.starts_with("PGP PRIVATE KEY BLOCK")
        }) || line.starts_with("PuTTY-User-Key-File-")
            || line.starts_with("AGE-SECRET-KEY-")
            || line.starts_with("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_keys_are_told_by_how_they_begin() {
        for key in [
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
            "-----BEGIN PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----\n",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
            "\u{feff}\n  -----BEGIN EC PRIVATE KEY-----\r\n",
            "# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1XYZ\n",
            "PuTTY-User-Key-File-3: ssh-ed25519\n",
        ] {
            assert!(begins_like_key(key.as_bytes()), "{key}");
        }
        for other in [
            "",
            "-----BEGIN CERTIFICATE-----\n",
            "-----BEGIN PUBLIC KEY-----\n",
            "# Keys\nA private key begins with -----BEGIN PRIVATE KEY-----\n",
            "fn main() {}\n// -----BEGIN PRIVATE KEY-----\n",
        ] {
            assert!(!begins_like_key(other.as_bytes()), "{other}");
        }
    }
}
