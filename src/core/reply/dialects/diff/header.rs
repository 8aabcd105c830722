//! The lines above the hunks of a file in a unified diff: its names, and git's own lines.

use std::borrow::Cow;

use crate::reply::dialects::patch::PatchReader;
use crate::reply::task::Problem;

/// The place of a hunk: `@@ -LINE,OLD +LINE,NEW @@`.
#[derive(Debug, Clone, Copy)]
pub(super) struct HunkRange {
    pub(super) line: usize,
    /// The numbers of its lines in the old file, and in the new.
    pub(super) old: usize,
    pub(super) new: usize,
}

impl HunkRange {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("@@ ")?.split_whitespace();
        let mut pair = |sign| {
            let word = words.next()?.strip_prefix(sign)?;
            let (line, count) = word.split_once(',').unwrap_or((word, "1"));
            Some((line.parse().ok()?, count.parse().ok()?))
        };
        let ((line, old), (_, new)): ((usize, usize), (usize, usize)) = (pair('-')?, pair('+')?);
        Some(Self { line, old, new })
    }
}

/// The text behind the place of a hunk: the line that it is below.
pub(super) fn heading(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("@@")?;
    let rest = match (rest.split_once("@@"), HunkRange::parse(line)) {
        (Some((_, heading)), _) => heading,
        (None, None) => rest,
        (None, Some(_)) => return None,
    };
    Some(rest.trim()).filter(|heading| !heading.is_empty())
}

/// True if a hunk begins with this line. (`@@@` is that of a merge, whose lines have two signs.)
pub(super) fn begins_hunk(line: &str) -> bool {
    line.starts_with("@@") && !line.starts_with("@@@")
}

/// True if the two names of a file and a hunk begin at an offset.
pub(super) fn names_files(reader: &mut PatchReader<'_>, at: usize) -> bool {
    behind_names(reader, at).is_some_and(|at| heads_hunk(reader, at))
}

/// The offset behind the two names of a file, if they are at an offset.
fn behind_names(reader: &mut PatchReader<'_>, at: usize) -> Option<usize> {
    let mut next = |at, begins: &str| {
        let line = reader.line(at).filter(|line| line.text.starts_with(begins));
        line.map(|line| line.next)
    };
    next(at, "--- ").and_then(|at| next(at, "+++ "))
}

fn heads_hunk(reader: &mut PatchReader<'_>, at: usize) -> bool {
    reader.line(at).is_some_and(|line| begins_hunk(line.text))
}

/// True if a line is one that other tools write between files.
pub(super) fn is_beside(line: &str) -> bool {
    let is_version =
        |line: &str| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains('.');
    ["Index: ", "====", "Only in ", "diff "]
        .iter()
        .any(|start| line.starts_with(start))
        || line.trim_end() == "--"
        || is_version(line)
}

/// The lines above the hunks of a file.
#[derive(Debug, Default)]
pub(super) struct Header<'t> {
    git: GitLines<'t>,
    /// The names behind `---` and `+++`.
    names: Option<(&'t str, &'t str)>,
    /// True if the lines of the patch itself end in CRLF, so that a CR is none of the file's.
    pub(super) is_crlf: bool,
    /// True if no `@@` follows its names.
    pub(super) lacks_hunk: bool,
}

/// The lines that only git writes.
#[derive(Debug, Default)]
struct GitLines<'t> {
    /// The two names behind `diff --git `.
    names: Option<&'t str>,
    from: Option<&'t str>,
    to: Option<&'t str>,
    /// The modes of a file that is created, and of one that is not.
    new_file: Option<&'t str>,
    new_mode: Option<&'t str>,
    is_deleted: bool,
    /// The reason that it cannot be done, whatever its hunks say.
    refused: Option<&'static str>,
}

/// A file that a diff changes, and the kind of change.
pub(super) struct Names<'t> {
    pub(super) path: Cow<'t, str>,
    pub(super) to: Option<Cow<'t, str>>,
    pub(super) is_new: bool,
    pub(super) is_gone: bool,
}

impl<'t> Header<'t> {
    /// Reads a header, if there is one. Models leave out the `@@` below the names; `is_begun`: it is a diff all the same.
    pub(super) fn read(
        reader: &mut PatchReader<'t>,
        is_first: bool,
        is_begun: bool,
    ) -> Option<Self> {
        let mut header = Self::default();
        let start = reader.at;
        let first = reader.peek()?;
        let mut says = !is_first;
        if let Some(names) = first.text.strip_prefix("diff --git ") {
            header.git.names = Some(names.trim_end());
            header.is_crlf = first.text.ends_with('\r');
            reader.at = first.next;
            while let Some(line) = reader.peek() {
                if !header.git.take(line.bare()) {
                    break;
                }
                says |= !line.text.starts_with("index ");
                reader.at = line.next;
                if line.text.starts_with("GIT binary patch") {
                    pass_binary(reader);
                }
            }
        }
        let behind = behind_names(reader, reader.at);
        let lacks_hunk = |at: &usize| !heads_hunk(reader, *at);
        header.lacks_hunk = behind.as_ref().is_some_and(lacks_hunk);
        if behind.is_some() && (is_begun || !header.lacks_hunk) {
            let old = reader.peek()?;
            let new = reader.line(old.next)?;
            header.names = old
                .text
                .strip_prefix("--- ")
                .zip(new.text.strip_prefix("+++ "));
            header.is_crlf = new.text.ends_with('\r');
            reader.at = new.next;
            return Some(header);
        }
        if header.git.names.is_none() || !says {
            reader.at = start;
            return None;
        }
        Some(header)
    }

    /// The reason that it cannot be done, whatever its hunks say.
    pub(super) fn refuse(&self, at: usize) -> Option<Problem> {
        let mode = self.git.new_file.or(self.git.new_mode).unwrap_or_default();
        let why = if self.git.refused.is_some() {
            self.git.refused?
        } else if mode.starts_with("12") {
            "a diff cannot create a symbolic link: use an exec task with `ln -s`"
        } else if mode.starts_with("16") {
            "a diff cannot change a submodule: use an exec task with git"
        } else {
            return None;
        };
        Some(Problem::said(at, why))
    }

    /// The mode that the file is to have and does not get.
    pub(super) fn lost_mode(&self) -> Option<&'t str> {
        let new = self.git.new_file.filter(|mode| mode.trim() != "100644");
        self.git.new_mode.or(new).map(str::trim)
    }

    /// The reason that nothing is to be done, where there is neither a hunk nor another name.
    pub(super) fn nothing_to_do(&self) -> &'static str {
        match self.git.new_mode {
            Some(_) => "a diff cannot change only a file's mode: use an exec task with `chmod`",
            None => {
                "this file has no hunk: write `@@ -LINE,COUNT +LINE,COUNT @@` and the lines that change"
            }
        }
    }

    /// The file that is meant.
    pub(super) fn names(&self, at: usize) -> Result<Names<'t>, Problem> {
        let unread = || {
            Problem::said(
                at,
                "the file's names cannot be read: write `--- a/PATH` and `+++ b/PATH`",
            )
        };
        if let (Some(from), Some(to)) = (self.git.from, self.git.to) {
            return Ok(Names {
                path: decoded(from).ok_or_else(unread)?,
                to: Some(decoded(to).ok_or_else(unread)?),
                is_new: false,
                is_gone: false,
            });
        }
        let (old, new) = match self.names {
            Some((old, new)) => (untimed(old), untimed(new)),
            None => self.git.names.and_then(split).ok_or_else(unread)?,
        };
        let is_new = is_nothing(old) || self.git.new_file.is_some();
        let is_gone = is_nothing(new) || self.git.is_deleted;
        let old = decoded(old).ok_or_else(unread)?;
        let new = decoded(new).ok_or_else(unread)?;
        let (old, new) = stripped(&old, &new);
        if is_new && is_gone {
            return Err(Problem::said(
                at,
                "the file is both new and deleted: leave out one of the two",
            ));
        }
        let is_same = is_new || is_gone || old == new || old.strip_suffix(".orig") == Some(new);
        if !is_same {
            let why = format!(
                "`{old}` and `{new}` are two files: write the same name in both lines, or `rename from` and `rename \
                 to` after a `diff --git`"
            );
            return Err(Problem::said(at, why));
        }
        Ok(Names {
            path: Cow::Owned(if is_gone { old } else { new }.to_owned()),
            to: None,
            is_new,
            is_gone,
        })
    }
}

impl<'t> GitLines<'t> {
    /// Takes a line of git's own, if it is one.
    fn take(&mut self, line: &'t str) -> bool {
        let after = |start: &str| line.strip_prefix(start);
        if let Some(name) = after("rename from ").or_else(|| after("rename old ")) {
            self.from = Some(name);
        } else if let Some(name) = after("rename to ").or_else(|| after("rename new ")) {
            self.to = Some(name);
        } else if let Some(mode) = after("new file") {
            self.new_file = Some(mode.strip_prefix(" mode ").unwrap_or("100644"));
        } else if let Some(mode) = after("new mode ") {
            self.new_mode = Some(mode);
        } else if after("deleted file").is_some() {
            self.is_deleted = true;
        } else if after("copy ").is_some() {
            self.refused.get_or_insert(
                "a diff cannot copy a file: copy it with an exec task (`cp`), then edit the copy",
            );
        } else if after("Binary files ")
            .or_else(|| after("GIT binary patch"))
            .is_some()
        {
            self.refused = Some("a binary file cannot be patched: create it with an exec task");
        } else {
            let others = [
                "index ",
                "similarity index ",
                "dissimilarity index ",
                "old mode ",
            ];
            return others.iter().any(|start| after(start).is_some());
        }
        true
    }
}

/// A name without the time behind it.
fn untimed(name: &str) -> &str {
    let name = name.trim_end_matches('\r');
    match name.split_once('\t') {
        Some((name, _)) => name,
        None => name.trim_end(),
    }
}

/// The two names behind `diff --git`. They are divided by a space, and may hold some.
fn split(names: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = names.strip_prefix('"') {
        let end = 1 + quoted_end(quoted)?;
        return Some((&names[..=end], names[end + 1..].strip_prefix(' ')?));
    }
    let is_one = |old: &str, new: &str| {
        let rest = |name: &str| name.split_once('/').map(|(_, rest)| rest.to_owned());
        old == new || rest(old).is_some() && rest(old) == rest(new)
    };
    let middle = names.len() / 2;
    if names.as_bytes().get(middle) == Some(&b' ') && is_one(&names[..middle], &names[middle + 1..])
    {
        return Some((&names[..middle], &names[middle + 1..]));
    }
    let at = names.find(" b/").or_else(|| names.find(" \"b/"))?;
    Some((&names[..at], &names[at + 1..]))
}

/// The names without the prefixes that tell the two sides apart.
fn stripped<'n>(old: &'n str, new: &'n str) -> (&'n str, &'n str) {
    match (old.split_once('/'), new.split_once('/')) {
        _ if is_nothing(old) => (old, new.strip_prefix("b/").unwrap_or(new)),
        _ if is_nothing(new) => (old.strip_prefix("a/").unwrap_or(old), new),
        (Some(("a", old)), Some(("b", new))) => (old, new),
        (Some((a, old)), Some((b, new))) if a != b && old == new => (old, new),
        _ => (old, new),
    }
}

/// True if a name stands for no file.
fn is_nothing(name: &str) -> bool {
    name == "/dev/null"
}

/// A name, decoded where git has quoted it.
fn decoded(name: &str) -> Option<Cow<'_, str>> {
    let name = name.trim_end();
    let Some(quoted) = name.strip_prefix('"') else {
        return (!name.is_empty()).then_some(name.into());
    };
    let quoted = &quoted[..quoted_end(quoted)?];
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            digit @ b'0'..=b'3' => {
                let mut value = digit - b'0';
                for _ in 0..2 {
                    let digit = rest.next().filter(|digit| (b'0'..=b'7').contains(digit))?;
                    value = value * 8 + (digit - b'0');
                }
                value
            }
            other @ (b'"' | b'\\') => other,
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The offset of the closing quote.
fn quoted_end(quoted: &str) -> Option<usize> {
    let mut escaped = false;
    quoted.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Passes over the lines of a binary patch: up to two runs of lines, each ended by a blank one.
fn pass_binary(reader: &mut PatchReader<'_>) {
    while let Some(line) = reader.peek() {
        if !line.text.starts_with("literal ") && !line.text.starts_with("delta ") {
            return;
        }
        while let Some(line) = reader.peek() {
            reader.at = line.next;
            if line.bare().is_empty() {
                break;
            }
        }
    }
}
