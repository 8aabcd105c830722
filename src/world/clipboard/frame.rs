//! Owns the form in which clada and its clipboard owner speak with each other, over a pair of sockets. Knows neither of the two.

use std::io::{self, ErrorKind, Read, Write};

use super::{CopyId, MOST};

/// The meanings of frames, each by its number.
const KINDS: [FrameKind; 12] = [
    FrameKind::Text,
    FrameKind::TextAfter,
    FrameKind::Watch,
    FrameKind::Unwatch,
    FrameKind::Done,
    FrameKind::CopiedSince,
    FrameKind::Refused,
    FrameKind::Unreachable,
    FrameKind::Unwatchable,
    FrameKind::Watching,
    FrameKind::Copied,
    FrameKind::Lost,
];
/// The length of what comes before the text: kind, two numbers and the length of the text.
const HEAD: usize = 1 + 3 * 8;

/// The meaning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameKind {
    /// To the owner: copy this text.
    Text,
    /// To the owner: copy this text unless something was copied since.
    TextAfter,
    /// To the owner: watch what others copy, under this number.
    Watch,
    /// To the owner: watch no longer.
    Unwatch,
    /// Answers that it is done.
    Done,
    /// Answers that something was copied since.
    CopiedSince,
    /// Answers that the display does not take the text, with the cause.
    Refused,
    /// Answers that there is no display, with the cause.
    Unreachable,
    /// Answers that the display cannot be watched, with the cause.
    Unwatchable,
    /// Answers that it watches, and by which way.
    Watching,
    /// Tells a text that somebody copied.
    Copied,
    /// Tells that it watches no longer, with the cause.
    Lost,
}

/// A message of one of the two to the other.
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) copy: CopyId,
    pub(super) text: String,
}

impl Frame {
    /// Writes one.
    pub(super) fn send(
        to: &mut dyn Write,
        kind: FrameKind,
        copy: CopyId,
        text: &str,
    ) -> io::Result<()> {
        let mut head = vec![kind as u8];
        for number in [copy.watch, copy.generation, text.len() as u64] {
            head.extend(number.to_le_bytes());
        }
        to.write_all(&head)?;
        to.write_all(text.as_bytes())
    }

    /// Reads the next; `None` at the end.
    pub(super) fn next(from: &mut dyn Read) -> io::Result<Option<Self>> {
        let mut head = [0; HEAD];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let number = |at: usize| {
            let bytes = head.iter().skip(1 + at * 8).take(8).rev();
            bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let kind = KINDS.get(usize::from(head[0])).copied();
        let size = usize::try_from(number(2)).unwrap_or(usize::MAX);
        let (Some(kind), true) = (kind, size <= MOST) else {
            return Err(ErrorKind::InvalidData.into());
        };
        let mut text = vec![0; size];
        from.read_exact(&mut text)?;
        Ok(Some(Self {
            kind,
            copy: CopyId {
                watch: number(0),
                generation: number(1),
            },
            text: String::from_utf8(text).map_err(io::Error::other)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut line = Vec::new();
        let copy = CopyId {
            watch: 7,
            generation: u64::MAX - 1,
        };
        for kind in KINDS {
            Frame::send(&mut line, kind, copy, "text 🌍").unwrap();
        }
        let mut line = line.as_slice();
        for kind in KINDS {
            let frame = Frame::next(&mut line).unwrap().unwrap();
            assert_eq!((frame.kind, frame.copy), (kind, copy));
            assert_eq!(frame.text, "text 🌍");
        }
        assert!(Frame::next(&mut line).unwrap().is_none());
        let unknown = [KINDS.len() as u8; HEAD];
        assert!(Frame::next(&mut unknown.as_slice()).is_err());
    }
}
