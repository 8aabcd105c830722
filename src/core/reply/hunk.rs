//! A part of a patch: the lines that are to be in a file, and those that go and come between them. Values only.

/// The fate of a line in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It is context: it is there, and stays.
    Kept,
    Removed,
    Added,
}

impl Sign {
    /// The sign that a line of a patch begins with.
    pub fn of(line: &str) -> Option<Self> {
        match line.as_bytes().first()? {
            b' ' => Some(Self::Kept),
            b'-' => Some(Self::Removed),
            b'+' => Some(Self::Added),
            _ => None,
        }
    }

    /// As a patch writes it.
    pub fn text(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A part of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk<'t> {
    /// The line where the patch says that it is, from 1; 0 in a file without lines.
    pub line: Option<usize>,
    /// Lines above it by which it is to be found, each behind the one before (the texts behind `@@` in the format of
    /// Codex).
    pub below: Vec<&'t str>,
    /// The line that the patch says it is below, as git names a function behind `@@`. It tells places apart and finds none.
    pub heading: Option<&'t str>,
    /// It is at the end of the file.
    pub at_end: bool,
    /// True if the file is to end in a newline, false if it is not; nothing where the patch does not say.
    pub final_newline: Option<bool>,
    /// Without their newlines; a CR at the end is part of the line.
    pub lines: Vec<(Sign, &'t str)>,
}

impl Hunk<'_> {
    /// The lines that are to be there, each with a newline.
    pub fn search(&self) -> String {
        self.without(Sign::Added)
    }

    /// The lines that are to be there afterwards, each with a newline.
    pub fn replacement(&self) -> String {
        self.without(Sign::Removed)
    }

    /// True if it asks for a change.
    pub fn changes(&self) -> bool {
        self.lines.iter().any(|(sign, _)| *sign != Sign::Kept)
    }

    fn without(&self, sign: Sign) -> String {
        let lines = self.lines.iter().filter(|(its, _)| *its != sign);
        lines.flat_map(|(_, line)| [line, "\n"]).collect()
    }
}
