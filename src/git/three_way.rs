//! Three contents of one path merged as git merges them. Reads and writes no file.

use git2::{MergeFileInput, merge_file};

use crate::world::file_or_link::FileOrLink;

/// Does to `ours` what leads from `base` to `theirs`. `None` where they collide, and for what
/// has no lines.
pub fn merge(
    base: Option<&FileOrLink>,
    ours: Option<&FileOrLink>,
    theirs: Option<&FileOrLink>,
) -> Option<Option<FileOrLink>> {
    if ours == base || ours == theirs {
        return Some(theirs.cloned());
    }
    if theirs == base {
        return Some(ours.cloned());
    }
    let [(old, runs), (here, our_runs), (there, their_runs)] =
        [text(base)?, text(ours)?, text(theirs)?];
    let input = |bytes| {
        let mut input = MergeFileInput::new();
        input.path("file").content(bytes);
        input
    };
    let merged = merge_file(&input(old), &input(here), &input(there), None).ok()?;
    merged.is_automergeable().then(|| {
        Some(FileOrLink::File {
            bytes: merged.content().to_vec(),
            runs: if our_runs == runs {
                their_runs
            } else {
                our_runs
            },
        })
    })
}

/// The content of a file that has lines.
fn text(entry: Option<&FileOrLink>) -> Option<(&[u8], bool)> {
    match entry {
        Some(FileOrLink::File { bytes, runs }) if !bytes.contains(&0) => Some((bytes, *runs)),
        _ => None,
    }
}
