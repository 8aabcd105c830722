//! What a commit says. Owns the form of the message; never decides when to commit.

use std::fmt;

/// The mark that every subject of ours ends in.
const MARK: &str = "💚clada";

/// What the caller has to say about a save.
#[derive(Debug, Clone, Default)]
pub struct Message {
    pub subject: Option<String>,
    /// The local time: the subject where there is none.
    pub time: String,
    pub body: Vec<String>,
    /// The batch's id, for the trailer by which clada finds its commits again.
    pub batch: String,
}

/// The text of the commit. Nothing that a reply says can end the subject early or pose as the trailer:
/// each part is one line, and the trailer stands alone in the last paragraph.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = one_line(self.subject.as_deref().unwrap_or_default());
        let subject = subject.strip_suffix(MARK).unwrap_or(&subject).trim_end();
        let subject = if subject.is_empty() {
            &self.time
        } else {
            subject
        };
        write!(f, "{subject} {MARK}\n\n")?;
        for line in &self.body {
            writeln!(f, "{}", one_line(line))?;
        }
        if !self.body.is_empty() {
            writeln!(f)?;
        }
        writeln!(f, "Clada-Batch: {}", one_line(&self.batch))
    }
}

fn one_line(text: &str) -> String {
    let flat = text.replace(|c: char| c.is_control(), " ");
    flat.trim_end().to_owned()
}
