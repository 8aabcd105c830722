//! Three contents of one path merged as git merges them. Reads and writes no file.

use git2::{MergeFileInput, merge_file};

use crate::world::file_or_link::FileOrLink;

/// What `ours` becomes when what leads from `base` to `theirs` is done to it. `None` where they collide, and for what
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
    let (bytes, runs) = (
        [base, ours, theirs].map(|entry| text(entry).map(|(bytes, _)| bytes)),
        [base, ours, theirs].map(|entry| text(entry).is_some_and(|(_, runs)| runs)),
    );
    let [Some(old), Some(here), Some(there)] = bytes else {
        return None;
    };
    let input = |bytes| {
        let mut input = MergeFileInput::new();
        input.path("file").content(bytes);
        input
    };
    let merged = merge_file(&input(old), &input(here), &input(there), None).ok()?;
    let [base, ours, theirs] = runs;
    merged.is_automergeable().then(|| {
        Some(FileOrLink::File {
            bytes: merged.content().to_vec(),
            runs: if ours == base { theirs } else { ours },
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
