//! Owns the way onto the clipboard of the machine that the user's terminal is on: the sequence OSC 52. Nothing answers to it.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// What terminals take at least, by the widest-known limit of 100,000 bytes for the whole sequence.
pub(super) const MOST: usize = 74_994;

/// Writes it at once, so that it does not get mixed up with what is shown meanwhile. A tmux takes it for itself if its
/// `set-clipboard` is on, and passes it on if `allow-passthrough` is.
pub(super) fn write(text: &str, terminal: &Path, tmux: Option<&OsStr>) -> io::Result<()> {
    let plain = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    let all = match tmux {
        Some(_) => format!(
            "{plain}\x1bPtmux;{}\x1b\\",
            plain.replace('\x1b', "\x1b\x1b")
        ),
        None => plain,
    };
    let mut terminal = OpenOptions::new().write(true).open(terminal)?;
    terminal.write_all(all.as_bytes())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            text.push(match digit <= three.len() {
                true => char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_in_rfc_4648() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}🌍?", "w7/wn4yNPw=="),
        ];
        for (text, coded) in vectors {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn tmux_gets_it_for_itself_and_for_the_terminal_around() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write("f", file.path(), Some(OsStr::new("/tmp/tmux"))).unwrap();
        let written = std::fs::read_to_string(file.path()).unwrap();
        let plain = "\x1b]52;c;Zg==\x07";
        assert_eq!(written, format!("{plain}\x1bPtmux;\x1b{plain}\x1b\\"));
    }
}
