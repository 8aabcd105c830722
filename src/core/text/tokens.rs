//! Tokens: the number of pieces that an LLM makes of a text. Owns the vocabulary that they are counted by. Always an estimate,
//! as each LLM has a vocabulary of its own.

use super::size::grouped;

/// The form of a number of tokens, for messages.
pub const FORM: &str = "a number of tokens, such as `60000` or `60k`";
/// The bytes of a token, where no vocabulary is asked.
const BYTES: u64 = 4;
/// Above this a number is shown with so many digits that count.
const EXACT: usize = 1000;

/// Counts tokens by the vocabulary `o200k_base`, where that is built in. From its first text on it holds about 30 MB, and that
/// text takes about a tenth of a second.
#[derive(Default)]
pub struct TokenCounter {
    #[cfg(feature = "tokens")]
    vocabulary: std::sync::OnceLock<tiktoken::CoreBpe>,
}

impl TokenCounter {
    /// Counts those of a text.
    #[cfg(feature = "tokens")]
    pub fn count(&self, text: &str) -> usize {
        let vocabulary = self.vocabulary.get_or_init(tiktoken::encoding::o200k_base);
        vocabulary.count(text)
    }

    /// Counts those of a text, by its bytes.
    #[cfg(not(feature = "tokens"))]
    pub fn count(&self, text: &str) -> usize {
        by_bytes(text.len() as u64)
    }
}

/// The number of tokens of a text that is not read, by its size in bytes.
pub fn by_bytes(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(BYTES)).unwrap_or(usize::MAX)
}

/// Reads a number of tokens: `60000`, `60k`, `1.5k`, `1M`. `None` where it is none, or is zero.
pub fn parse(text: &str) -> Option<usize> {
    let text = text.trim();
    let (number, zeros) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 3),
        None => match text.strip_suffix(['m', 'M']) {
            Some(number) => (number, 6),
            None => (text, 0),
        },
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_plain(whole) || !is_plain(part) || part.len() > zeros {
        return None;
    }
    let digits = format!("{whole}{part}{}", "0".repeat(zeros - part.len()));
    digits.parse().ok().filter(|tokens| *tokens > 0)
}

/// Writes a number of tokens for a person, rounded: `≈ 58,300 tokens`.
pub fn show(tokens: usize) -> String {
    let word = if tokens == 1 { "token" } else { "tokens" };
    format!("{} {word}", rounded(tokens))
}

/// Writes a number of tokens without the word: `≈ 58,300`.
pub fn rounded(tokens: usize) -> String {
    let mut unit = 1;
    while tokens / unit >= EXACT {
        unit *= 10;
    }
    let shown = tokens.saturating_add(unit / 2) / unit * unit;
    format!("≈ {}", grouped(shown as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        for (text, tokens) in [
            ("60k", Some(60_000)),
            ("60000", Some(60_000)),
            (" 1.5K ", Some(1500)),
            ("1M", Some(1_000_000)),
            ("0", None),
            ("0k", None),
            ("", None),
            ("k", None),
            (".5k", None),
            ("1.2345k", None),
            ("1.5", None),
            ("-1", None),
            ("60 k", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(parse(text), tokens, "{text}");
        }
    }

    #[test]
    fn they_are_shown_as_an_estimate() {
        for (tokens, shown) in [
            (0, "≈ 0 tokens"),
            (1, "≈ 1 token"),
            (999, "≈ 999 tokens"),
            (1004, "≈ 1,000 tokens"),
            (1005, "≈ 1,010 tokens"),
            (58_349, "≈ 58,300 tokens"),
            (58_350, "≈ 58,400 tokens"),
            (999_999, "≈ 1,000,000 tokens"),
        ] {
            assert_eq!(show(tokens), shown);
        }
    }

    /// By the vocabulary as its makers count, of Rust and of a language with other letters.
    #[cfg(feature = "tokens")]
    #[test]
    fn they_are_counted_by_a_vocabulary() {
        let counter = TokenCounter::default();
        for (text, tokens) in [
            ("", 0),
            ("hello world", 2),
            ("fn main() {\n    println!(\"hi\");\n}\n", 10),
            ("Привет, мир", 4),
        ] {
            assert_eq!(counter.count(text), tokens, "{text}");
        }
    }
}
