//! What helps an LLM to repair a failed edit: where the text nearly is, how it differs, and what the file says there.

use std::borrow::Cow;
use std::ops::Range;

use similar::{DiffOp, DiffTag, TextDiff};

use super::edit::{self, Cause, Edit, EditError, Part};
use super::nearest::nearest;

/// A file of up to so many lines is shown whole.
const WHOLE: usize = 200;
/// Lines shown before and after a place.
const AROUND: usize = 20;
/// No more than this of a line is shown.
const LINE: usize = 400;
/// The largest file whose earlier state is compared with it, and when there is enough to see of that, in bytes.
const COMPARED: usize = 512 * 1024;
const SHOWN: usize = 16 * 1024;

/// A unified diff of one file, which is not there before or after where it is `None`; for binary files only that they
/// differ.
pub fn unified_diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let name = |side: &str, content: Option<&[u8]>| match content {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name("a", old), name("b", new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) if old == new => format!("--- {from}\n+++ {to}\n"),
        (Ok(old), Ok(new)) => TextDiff::from_lines(old, new)
            .unified_diff()
            .header(&from, &to)
            .to_string(),
        _ => format!(
            "binary files {from} and {to} differ ({} → {} bytes)\n",
            old.len(),
            new.len()
        ),
    }
}

/// All that is known about a failed edit, for the outputs. `path` may lead through a link to a file of another name.
pub fn explain(
    error: &EditError,
    edit: &Edit<'_>,
    (path, file_name): (&str, &str),
    file: &[u8],
) -> String {
    let text = match showable((path, file_name), file) {
        Ok(text) => text,
        Err(why) => return why,
    };
    match &error.cause {
        Cause::Blank => String::new(),
        Cause::NoContext | Cause::NoAnchor { .. } => whole_if_short(path, text),
        Cause::ManyAnchors { lines, .. } => places(text, lines) + &whole_if_short(path, text),
        Cause::NotAtEnd { line }
        | Cause::OutOfOrder { line }
        | Cause::Unclear { at: line, .. }
        | Cause::NothingChanges { at: line } => around(path, text, line - 1..*line),
        Cause::LeftOut { .. } | Cause::ElisionsDiffer => whole_if_short(path, text),
        Cause::Ambiguous { lines, .. } => places(text, lines) + &whole_if_short(path, text),
        Cause::NotFound {
            applied_at: Some(line),
            ..
        } => around(path, text, line - 1..*line),
        Cause::NotFound {
            applied_at: None, ..
        } => not_found(&searched(error, edit), path, text),
    }
}

/// A file's text, or in a line why it is not shown. `path` may lead through a link to a file of another name.
pub fn showable<'f>((path, file_name): (&str, &str), file: &'f [u8]) -> Result<&'f str, String> {
    let Ok(text) = std::str::from_utf8(file) else {
        return Err(format!("{path} is not UTF-8 text; it is not shown.\n"));
    };
    if is_secret(path) || is_secret(file_name) || holds_key(text) {
        return Err(format!(
            "{path} looks like a secret; its content is not shown.\n"
        ));
    }
    Ok(text)
}

/// Which lines of an earlier state of a file, from 0, hold what the edit looks for; `None` where it cannot be done there
/// either.
pub fn lines_in(old: &[u8], error: &EditError, edit: &Edit<'_>) -> Option<Range<usize>> {
    let edited = edit::apply(old, edit).ok()?;
    // Where an earlier pair has moved the lines, only the pair itself says where it is in the file.
    let alone = match edit {
        Edit::Pairs(pairs) => Some(Edit::Pairs(vec![pairs[error.pair - 1]])),
        Edit::Hunks(hunks) => Some(Edit::Hunks(&hunks[error.pair - 1..error.pair])),
        Edit::Stretch { .. } => None,
    };
    let alone = alone.and_then(|alone| Some(edit::apply(old, &alone).ok()?.places[0].line));
    let line = alone.or_else(|| Some(edited.places.get(error.pair - 1)?.line))? - 1;
    let end = match edit {
        Edit::Pairs(_) | Edit::Hunks(_) => line + searched(error, edit).lines().count(),
        Edit::Stretch { .. } => {
            let new = edited.bytes();
            let ends = old.iter().rev().zip(new.iter().rev());
            let same = ends.take_while(|(old, new)| old == new).count();
            memchr::memchr_iter(b'\n', &old[..old.len() - same]).count() + 1
        }
    };
    Some(line..end)
}

/// What became of lines of a file since an earlier state of it, as a unified diff; empty where that is not to be shown.
pub fn since(
    (path, file_name): (&str, &str),
    (old, now): (&[u8], &[u8]),
    lines: &Range<usize>,
) -> String {
    let (Ok(old), Ok(now)) = (std::str::from_utf8(old), std::str::from_utf8(now)) else {
        return String::new();
    };
    if old.len().max(now.len()) > COMPARED
        || is_secret(path)
        || is_secret(file_name)
        || holds_key(old)
        || holds_key(now)
    {
        return String::new();
    }
    let diff = TextDiff::from_lines(old, now);
    let mut diff = diff.unified_diff();
    let is_there = |op: &DiffOp| {
        let changed = op.old_range();
        op.tag() != DiffTag::Equal && changed.start <= lines.end && changed.end >= lines.start
    };
    let mut shown = String::new();
    for hunk in diff.header("then", "now").iter_hunks() {
        if hunk.ops().iter().any(is_there) && shown.len() < SHOWN {
            shown += &hunk.to_string();
        }
    }
    shown
}

fn not_found(search: &str, path: &str, text: &str) -> String {
    let Some(near) = nearest(text, search) else {
        let short = whole_if_short(path, text);
        let look = if short.is_empty() {
            format!(" Look at the file first: exec `grep -n WORD {path}`, `sed -n 1,200p {path}`.")
        } else {
            String::new()
        };
        return format!("nothing in {path} is like it.{look}\n{short}");
    };
    let lines: Vec<&str> = text.lines().collect();
    let there = lines[near.lines.clone()].join("\n") + "\n";
    let mut shown = format!(
        "nearest place: lines {}-{}",
        near.lines.start + 1,
        near.lines.end
    );
    if let Some((wanted, is)) = near.first_difference {
        shown += &format!(
            "; the first line that differs is line {}\n  search: {}\n  file:   {}",
            is + 1,
            search
                .lines()
                .nth(wanted)
                .map_or("(nothing)".to_owned(), visible),
            lines
                .get(is)
                .map_or("(end of the file)".to_owned(), |line| visible(line)),
        );
    }
    shown.push('\n');
    let search = if search.ends_with('\n') {
        search.to_owned()
    } else {
        format!("{search}\n")
    };
    let diff = TextDiff::from_lines(search.as_str(), there.as_str());
    // Without the names that would make it a patch.
    shown += &format!("\n- search text, + {path}\n{}\n", diff.unified_diff());
    shown += &around(path, text, near.lines);
    shown
}

/// The text that was looked for.
fn searched<'e>(error: &EditError, edit: &Edit<'e>) -> Cow<'e, str> {
    match (edit, error.part) {
        (Edit::Pairs(pairs), _) => pairs[error.pair - 1].0.text.into(),
        (Edit::Stretch { tail, .. }, Part::Tail) => tail.text.into(),
        (Edit::Stretch { head, .. }, _) => head.text.into(),
        (Edit::Hunks(hunks), _) => hunks[error.pair - 1].search().into(),
    }
}

fn places(text: &str, lines: &[usize]) -> String {
    let all: Vec<&str> = text.lines().collect();
    let shown = lines.iter().take(10).map(|line| {
        let from = line.saturating_sub(3);
        let stretch = all.iter().enumerate().skip(from).take(line + 1 - from);
        let stretch: String = stretch
            .map(|(index, text)| format!("{:>6}: {}\n", index + 1, clipped(text)))
            .collect();
        format!("line {line}:\n{stretch}")
    });
    shown.collect()
}

fn whole_if_short(path: &str, text: &str) -> String {
    if text.lines().count() <= WHOLE {
        around(path, text, 0..WHOLE)
    } else {
        String::new()
    }
}

/// The file's text around some lines, or all of it where it is short.
fn around(path: &str, text: &str, lines: Range<usize>) -> String {
    let all: Vec<&str> = text.lines().collect();
    let (from, to, title) = if all.len() <= WHOLE {
        (0, all.len(), path.to_owned())
    } else {
        let (from, to) = (
            lines.start.saturating_sub(AROUND),
            (lines.end + AROUND).min(all.len()),
        );
        (
            from,
            to,
            format!("{path} (lines {}-{} of {})", from + 1, to, all.len()),
        )
    };
    let shown: String = all[from..to]
        .iter()
        .map(|line| clipped(line) + "\n")
        .collect();
    format!("=== START FILE: {title} ===\n{shown}=== END FILE: {path} ===\n")
}

/// Whether a file's path says that its content is nobody's business.
pub fn is_secret(path: &str) -> bool {
    const ENDINGS: [&str; 13] = [
        ".env",
        ".pem",
        ".key",
        ".p8",
        ".p12",
        ".pfx",
        ".ppk",
        ".keystore",
        ".jks",
        ".kdbx",
        ".asc",
        ".gpg",
        ".tfvars",
    ];
    const STARTS: [&str; 4] = [".env.", ".envrc", "secrets.", "service-account"];
    const NAMES: [&str; 14] = [
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".htpasswd",
        ".pgpass",
        ".git-credentials",
        ".vault-token",
        "credentials",
        "credentials.json",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    ];
    const FOLDERS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".kube"];
    /// Patterns to fill in, which are made to be shown.
    const HARMLESS: [&str; 3] = [".example", ".sample", ".template"];
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let named = ENDINGS.iter().any(|ending| name.ends_with(ending))
        || STARTS.iter().any(|start| name.starts_with(start))
        || NAMES.contains(&name);
    named && !HARMLESS.iter().any(|ending| name.ends_with(ending))
        || folders.split('/').any(|folder| FOLDERS.contains(&folder))
}

/// Whether a text holds a private key, whatever its file is called.
pub fn holds_key(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY"))
}

/// A line with its white space made visible where it could be what differs.
fn visible(line: &str) -> String {
    let trimmed = line.trim_end();
    let indent = trimmed.len() - trimmed.trim_start().len();
    let leading: String = trimmed[..indent]
        .chars()
        .map(|c| if c == '\t' { '→' } else { c })
        .collect();
    let trailing = "·".repeat(line.len() - trimmed.len());
    clipped(&format!("|{leading}{}{trailing}|", &trimmed[indent..]))
}

fn clipped(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(LINE);
    format!("{}… ({} bytes more)", &line[..end], line.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_secret() {
        for path in [
            ".env",
            ".env.local",
            "deploy/prod.env",
            "tls/Server.KEY",
            "id_ed25519",
            "home/.ssh/config",
            ".aws/credentials",
            "secrets.yaml",
        ] {
            assert!(is_secret(path), "{path}");
        }
        for path in [
            "a.txt",
            ".env.example",
            "src/env.rs",
            "keys.rs",
            "id_rsa.pub",
            "ssh/config",
            "environment",
        ] {
            assert!(!is_secret(path), "{path}");
        }
        assert!(holds_key("x\n-----BEGIN RSA PRIVATE KEY-----\n"));
        assert!(!holds_key("-----BEGIN CERTIFICATE-----\n"));
    }
}
