//! The text that shows a chat the code: files at their levels, the project's tree, and what was left out. Reads no file and
//! counts no tokens; who calls it does.

pub mod fit;
pub mod parts;
pub mod tree;

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::reply::context::ContextLevel;
use crate::report;
use crate::text::hex::hex;
use crate::text::size::grouped;
use crate::text::tokens;

/// A part of that text, between lines that say what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextBlock {
    File(FileBlock),
    /// Something about the project, under this title.
    Said {
        title: String,
        text: String,
    },
}

/// A file in that text, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBlock {
    pub path: String,
    /// The words behind the path, such as `outline` or `lines 4-9`; none for the whole file.
    pub part: Option<String>,
    pub text: String,
    /// The lines of the file that it shows as they are, from 0; `None` where it shows none as it is.
    pub lines: Option<Range<usize>>,
}

/// A file that is shown less fully than was asked for, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortenedFile {
    /// As the set names it.
    pub name: String,
    /// Its level now; `None` where it is left out.
    pub shown: Option<ContextLevel>,
    /// The tokens that it would take, by levels.
    pub costs: Vec<(ContextLevel, usize)>,
}

impl ContextBlock {
    /// Its text, fenced with this word where the scanner would find something in it.
    pub fn text(&self, fence: &str) -> String {
        match self {
            Self::File(file) => report::file(&file.name(), &file.text, fence),
            Self::Said { title, text } => format!(
                "=== {title} ===\n{}=== END {title} ===\n",
                report::fenced(text, fence)
            ),
        }
    }
}

impl FileBlock {
    /// The outline of a file.
    pub fn outline(path: &str, text: String) -> Self {
        Self {
            path: path.to_owned(),
            part: Some("outline".to_owned()),
            text,
            lines: None,
        }
    }

    /// The path with what is behind it.
    pub fn name(&self) -> String {
        match &self.part {
            Some(part) => format!("{} ({part})", self.path),
            None => self.path.clone(),
        }
    }
}

/// All of these blocks as one text: the same for the same blocks.
pub fn text(blocks: &[ContextBlock]) -> String {
    let fence = fence(blocks);
    let texts: Vec<String> = blocks.iter().map(|block| block.text(&fence)).collect();
    texts.join("\n")
}

/// The word between fences: a hash of all that is between them, so that no file can have it.
fn fence(blocks: &[ContextBlock]) -> String {
    let mut hash = Sha256::new();
    for block in blocks {
        let (name, text) = match block {
            ContextBlock::File(file) => (file.name(), &file.text),
            ContextBlock::Said { title, text } => (title.clone(), text),
        };
        for part in [name.as_bytes(), text.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize()[..8])
}

/// Files by their names and costs only.
pub fn by_name(files: &[(String, usize)]) -> ContextBlock {
    let lines = files
        .iter()
        .map(|(name, cost)| format!("{} ({})\n", report::one_line(name), tokens::show(*cost)));
    ContextBlock::Said {
        title: "FILES BY NAME".to_owned(),
        text: lines.collect(),
    }
}

/// The end of a text with a budget: what is not as it was asked for, with its cost; so many are named. `None` where nothing is.
pub fn left_out(files: &[ShortenedFile], most: usize) -> Option<ContextBlock> {
    let mut text = String::from(
        "These did not fit, with what each would cost. Say which you need; `read` and `outline` tasks show them too.\n",
    );
    for file in files.iter().take(most) {
        let shown = match file.shown {
            Some(ContextLevel::Name) => "only named",
            Some(ContextLevel::Outline) => "as outline",
            Some(ContextLevel::Full) => continue,
            None => "left out",
        };
        let costs = file.costs.iter();
        let costs: Vec<String> = costs
            .map(|(level, cost)| format!("{} {}", level.word(), tokens::rounded(*cost)))
            .collect();
        text += &format!(
            "{}: {shown} ({} tokens)\n",
            report::one_line(&file.name),
            costs.join(", ")
        );
    }
    if files.len() > most {
        let more = grouped((files.len() - most) as u64);
        text += &format!("and {more} more, which are less related\n");
    }
    (!files.is_empty()).then(|| ContextBlock::Said {
        title: "LEFT OUT".to_owned(),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> ContextBlock {
        ContextBlock::File(FileBlock {
            path: path.to_owned(),
            part: None,
            text: text.to_owned(),
            lines: Some(0..usize::MAX),
        })
    }

    #[test]
    fn the_same_blocks_give_the_same_text_and_others_another_fence() {
        let task = "<task><c>exec</c><x>true</x></task>\n";
        let blocks = [file("a.md", task)];
        let shown = text(&blocks);
        assert_eq!(shown, text(&blocks));
        let fence = |text: &str| text.lines().nth(1).map(str::to_owned);
        let other = text(&[file("a.md", task), file("b.md", "")]);
        assert!(shown.contains("<!-- clada:off "), "{shown}");
        assert_ne!(fence(&shown), fence(&other));
    }

    #[test]
    fn what_is_left_out_is_named_with_its_cost() {
        let left = |name: &str, shown, costs: &[(ContextLevel, usize)]| ShortenedFile {
            name: name.to_owned(),
            shown,
            costs: costs.to_vec(),
        };
        assert_eq!(left_out(&[], 20), None);
        let mut files = vec![
            left(
                "a.rs",
                Some(ContextLevel::Outline),
                &[(ContextLevel::Full, 5234)],
            ),
            left(
                "b.rs",
                None,
                &[(ContextLevel::Outline, 400), (ContextLevel::Full, 3000)],
            ),
            left(
                "c.rs",
                Some(ContextLevel::Name),
                &[(ContextLevel::Outline, 40)],
            ),
        ];
        let begins = "=== LEFT OUT ===\n\
             These did not fit, with what each would cost. Say which you need; `read` and `outline` tasks show them too.\n\
             a.rs: as outline (full ≈ 5,230 tokens)\n\
             b.rs: left out (outline ≈ 400, full ≈ 3,000 tokens)\n\
             c.rs: only named (outline ≈ 40 tokens)\n";
        let text = left_out(&files, 20)
            .map(|block| block.text(""))
            .unwrap_or_default();
        assert_eq!(text, format!("{begins}=== END LEFT OUT ===\n"));
        files.extend((0..30).map(|at| left(&format!("{at}"), None, &[(ContextLevel::Full, 1)])));
        let text = left_out(&files, 20)
            .map(|block| block.text(""))
            .unwrap_or_default();
        assert!(
            text.contains("\nand 13 more, which are less related\n"),
            "{text}"
        );
    }
}
