//! Patches in the format of Codex:
//!
//! ```text
//! *** Begin Patch
//! *** Add File: PATH          lines that begin with `+`
//! *** Delete File: PATH
//! *** Update File: PATH       perhaps `*** Move to: PATH`, then hunks:
//! @@ a line above             none, one, or several that narrow down
//!  kept
//! -removed
//! +added
//! *** End of File             where the hunk is at the end
//! *** End Patch
//! ```
//!
//! Models put it into a shell's heredoc too: the marks count all the same. What stands between two marks is read by
//! itself, so that a mistake in one file is a mistake of that task alone.

use std::borrow::Cow;

use super::ParsedBlock;
use super::block::unended;
use super::patch::{HunkLines, PatchLine, PatchReader, added, edit};
use crate::reply::action::{Action, Command, Payload};
use crate::reply::dialect::Dialect;
use crate::reply::hunk::Hunk;
use crate::reply::task::{BatchState, Problem, Task};

/// The text that a block of it has, and hardly anything else.
pub(crate) const MARKS: &[&str] = &[BEGIN];

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Reads the block whose mark is at an offset, if it is one. It begins at `floor` or behind it.
pub(crate) fn read<'t>(text: &'t str, at: usize, floor: usize) -> Option<ParsedBlock<'t>> {
    let mut reader = PatchReader::new(text, at)?;
    let first = reader.peek()?;
    if first.at < floor || first.bare() != BEGIN {
        return None;
    }
    reader.at = first.next;
    let is_crlf = first.text.ends_with('\r');
    let mut tasks = Vec::with_capacity(1);
    let state = loop {
        let Some(line) = reader.peek() else {
            break unended(text, at, Dialect::Codex, END).1;
        };
        match line.bare() {
            BEGIN => {
                let why = "`*** Begin Patch` appears again before this patch is ended, so nothing in it was done: \
                           end it with `*** End Patch` on a line of its own";
                break BatchState::Broken(Problem::said(at, why).into());
            }
            END => {
                reader.at = line.next;
                if tasks.is_empty() {
                    let why = "this patch names no file: name one with `*** Update File: PATH`";
                    break BatchState::Broken(Problem::said(at, why).into());
                }
                break if reader.at_end {
                    BatchState::Provisional
                } else {
                    BatchState::Complete
                };
            }
            "" => reader.at = line.next,
            _ => tasks.push(read_file(text, &mut reader, is_crlf)?),
        }
    };
    if state.problem().is_some() {
        tasks.clear();
    }
    Some(ParsedBlock::batch(
        Dialect::Codex,
        at..reader.at,
        state,
        tasks,
    ))
}

/// True if a line is no content, but begins or ends something.
fn is_mark(line: &str) -> bool {
    line.starts_with("*** ") && line.trim_end() != "*** End of File"
}

/// Reads from the line that names a file to the next mark.
fn read_file<'t>(text: &'t str, reader: &mut PatchReader<'t>, is_crlf: bool) -> Option<Task<'t>> {
    let header = reader.peek()?;
    reader.at = header.next;
    let mut is_named = true;
    let mut named = |line: PatchLine<'t>, mark: &str| {
        let path = line.bare().strip_prefix(mark)?.trim();
        is_named &= !path.is_empty();
        Some(Cow::Borrowed(path))
    };
    let (usual, action) = if let Some(path) = named(header, "*** Add File:") {
        let content = read_added(text, reader, is_crlf);
        let action = content.map(|content| Action::Overwrite {
            path,
            content,
            final_newline: true,
            only_new: false,
        });
        (Some(Command::Overwrite), action)
    } else if let Some(path) = named(header, "*** Delete File:") {
        let nothing = pass(reader, "a deleted file has no lines here: leave them out");
        let action = nothing.map(|()| Action::Delete {
            path,
            only_file: true,
            held: Vec::new(),
        });
        (Some(Command::Delete), action)
    } else if let Some(path) = named(header, "*** Update File:") {
        let to = reader.peek().and_then(|line| {
            let to = named(line, "*** Move to:")?;
            reader.at = line.next;
            Some(to)
        });
        let action = read_hunks(reader, is_crlf).and_then(|hunks| {
            if hunks.is_empty() && to.is_none() {
                let why = "this file has no hunk: write the change and the lines around it, each after a space, `-` \
                           or `+`";
                return Err(Problem::said(header.at, why));
            }
            Ok(edit(path, to, hunks))
        });
        (Some(Command::Edit), action)
    } else {
        // The lines below are about a file that is not known.
        let _ = pass(reader, "");
        let why = "this is not a line of a patch: begin each file with `*** Add File: PATH`, `*** Update File: PATH` \
                   or `*** Delete File: PATH`";
        (None, Err(Problem::said(header.at, why)))
    };
    let command = action.as_ref().map_or(usual, |it| Some(it.command()));
    let action = match action {
        Ok(_) if !is_named => Err(Problem::said(
            header.at,
            "the path is missing: write it after the colon",
        )),
        action => action,
    };
    Some(Task {
        command,
        ..Task::new(header.at..reader.at, action)
    })
}

/// Passes over blank lines up to the next mark; a line that is not blank is refused.
fn pass(reader: &mut PatchReader<'_>, why: &str) -> Result<(), Problem> {
    let mut refused = Ok(());
    while let Some(line) = reader.peek().filter(|line| !is_mark(line.text)) {
        if refused.is_ok() && !line.bare().is_empty() {
            refused = Err(Problem::said(line.at, why));
        }
        reader.at = line.next;
    }
    refused
}

fn read_added<'t>(
    text: &'t str,
    reader: &mut PatchReader<'t>,
    is_crlf: bool,
) -> Result<Payload<'t>, Problem> {
    let start = reader.at;
    let mut end = start;
    while let Some(line) = reader.peek() {
        if line.text.starts_with('+') {
            reader.at = line.next;
            end = line.next;
        } else if line.bare().is_empty() {
            reader.at = line.next;
        } else {
            break;
        }
    }
    pass(reader, "every line of a new file must begin with `+`")?;
    Ok(added(&text[start..end], reader.indent, is_crlf))
}

fn read_hunks<'t>(reader: &mut PatchReader<'t>, is_crlf: bool) -> Result<Vec<Hunk<'t>>, Problem> {
    let mut hunks = Vec::new();
    let mut hunk = Hunk::default();
    let mut body = HunkLines::default();
    let mut begun = reader.at;
    let mut refused = None;
    let mut end = |hunk: &mut Hunk<'t>, body: &mut HunkLines<'t>, at: usize| {
        hunk.lines = std::mem::take(body).lines();
        let hunk = std::mem::take(hunk);
        let is_bare = hunk == Hunk::default();
        if !is_bare && refused.is_none() && !hunk.changes() {
            refused = Some(Problem::said(
                at,
                "this hunk changes nothing: begin the lines that change with `-` or `+`",
            ));
        }
        if !is_bare {
            hunks.push(hunk);
        }
    };
    let mut unread = None;
    while let Some(line) = reader.peek().filter(|line| !is_mark(line.text)) {
        reader.at = line.next;
        if let Some(place) = line.text.strip_prefix("@@") {
            if !body.is_empty() {
                end(&mut hunk, &mut body, begun);
            }
            if body.is_empty() && hunk == Hunk::default() {
                begun = line.at;
            }
            let place = place.trim();
            let place = place.strip_suffix("@@").unwrap_or(place).trim();
            match place.strip_prefix('-').and_then(first_number) {
                Some(number) => hunk.line = Some(number),
                None if place.is_empty() || place == "..." => {}
                None => hunk.below.push(place),
            }
        } else if line.bare() == "*** End of File" {
            hunk.at_end = true;
            end(&mut hunk, &mut body, begun);
        } else if !body.push(line.text, is_crlf) && unread.is_none() {
            let why = "every line of a hunk must begin with a space, `-` or `+`: add it";
            unread = Some(Problem::said(line.at, why));
        }
    }
    end(&mut hunk, &mut body, begun);
    match unread.or(refused) {
        Some(problem) => Err(problem),
        None => Ok(hunks),
    }
}

fn first_number(text: &str) -> Option<usize> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}
