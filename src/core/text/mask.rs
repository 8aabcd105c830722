//! Takes the values of secret variables out of text, whole or as it comes. Never looks for what only looks like a secret.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;

use memchr::memmem::Finder;
use serde_json::Value;

use super::plain::plain;

/// A shorter value is no secret: it would hit ordinary text.
const SHORTEST: usize = 8;

/// The secrets, and what stands in the place of each.
///
/// - A value of several lines is masked line by line, white space at the ends of its lines aside. A value, or a line of
///   it, of under 8 bytes is left as it is: `true` or `12345` would hit ordinary text.
/// - Where several secrets match, the leftmost is masked, and of those that start there the longest.
/// - Text is taken to be what [`plain`] gives. A secret that a program prints in another form, as base64 or in parts, is
///   not seen.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    secrets: Vec<Secret>,
}

/// One value, by a searcher of its own: as fast as the search for all at once in a crate's automaton where there are
/// few, and much faster with most sets of several.
#[derive(Debug, Clone)]
struct Secret {
    finder: Finder<'static>,
    replacement: String,
}

impl Mask {
    /// Returns the mask for the values of the variables whose names match one of the patterns. In these `*` stands for any
    /// characters and `?` for one; letter case does not matter.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        vars: impl Iterator<Item = (N, V)>,
        patterns: &[impl AsRef<str>],
    ) -> Self {
        // By value, each with the first of its names: the order of an environment means nothing.
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in vars {
            let name = name.as_ref();
            if !patterns
                .iter()
                .any(|pattern| matches(pattern.as_ref(), name))
            {
                continue;
            }
            let value = plain(value.as_ref().as_bytes());
            for line in value
                .lines()
                .map(str::trim)
                .filter(|line| line.len() >= SHORTEST)
            {
                names
                    .entry(line.to_owned())
                    .and_modify(|known| {
                        if name < known.as_str() {
                            *known = name.to_owned();
                        }
                    })
                    .or_insert_with(|| name.to_owned());
            }
        }
        let secrets = names.into_iter().map(|(value, name)| Secret {
            finder: Finder::new(&value).into_owned(),
            replacement: format!("[masked: {name}]"),
        });
        Self {
            secrets: secrets.collect(),
        }
    }

    /// Returns true if there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// A value with every text in it masked.
    pub fn value(&self, mut value: Value) -> Value {
        match &mut value {
            _ if self.is_empty() => {}
            Value::String(text) => *text = self.text(text).into_owned(),
            Value::Array(values) => values.iter_mut().for_each(|it| *it = self.value(it.take())),
            Value::Object(values) => values
                .values_mut()
                .for_each(|it| *it = self.value(it.take())),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        value
    }

    /// Returns the text with every secret in it masked.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut search = SecretSearch::new(self, text.as_bytes());
        let mut out = String::new();
        let mut at = 0;
        while let Some((start, secret)) = search.next(at) {
            out.push_str(&text[at..start]);
            out.push_str(&secret.replacement);
            at = start + secret.value().len();
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// Returns where the first secret starts that more text could complete, at `from` or later; the end if there is none.
    fn unfinished(&self, text: &[u8], from: usize) -> usize {
        if self.is_empty() {
            return text.len();
        }
        let values = || self.secrets.iter().map(Secret::value);
        let longest = values().map(<[u8]>::len).max().unwrap_or_default();
        let earliest = from.max((text.len() + 1).saturating_sub(longest));
        // No secret goes over the end of a line.
        let line =
            memchr::memrchr(b'\n', &text[earliest..]).map_or(earliest, |at| earliest + at + 1);
        (line..text.len())
            .find(|at| {
                let rest = &text[*at..];
                values().any(|value| rest.len() < value.len() && value.starts_with(rest))
            })
            .unwrap_or(text.len())
    }
}

impl Secret {
    fn value(&self) -> &[u8] {
        self.finder.needle()
    }
}

/// Finds the secrets of one text, from its start to its end.
struct SecretSearch<'m, 't> {
    text: &'t [u8],
    /// Each with the place where it is next; `None` if it comes no more.
    next: Vec<(&'m Secret, Option<usize>)>,
}

impl<'m, 't> SecretSearch<'m, 't> {
    fn new(mask: &'m Mask, text: &'t [u8]) -> Self {
        let secrets = mask.secrets.iter();
        let next = secrets.map(|secret| (secret, secret.finder.find(text)));
        Self {
            text,
            next: next.collect(),
        }
    }

    /// Returns the first secret at this place or after it, the longest of those that start there.
    fn next(&mut self, from: usize) -> Option<(usize, &'m Secret)> {
        for (secret, next) in &mut self.next {
            if next.is_some_and(|next| next < from) {
                *next = secret.finder.find(&self.text[from..]).map(|at| from + at);
            }
        }
        let found = self.next.iter();
        let found = found.filter_map(|(secret, next)| Some(((*next)?, *secret)));
        found.min_by_key(|(at, secret)| (*at, Reverse(secret.value().len())))
    }
}

/// Masks text that comes in chunks. What it gives out does not depend on where they are cut.
///
/// It holds back only what may still become a secret: the start of one at the very end of a chunk, so never a line that
/// is complete. Where the chunks are valid UTF-8, so is each piece that is given out.
#[derive(Debug)]
pub struct Masking<'m> {
    mask: &'m Mask,
    /// The start of a secret, perhaps.
    held: Vec<u8>,
}

impl<'m> Masking<'m> {
    pub fn new(mask: &'m Mask) -> Self {
        Self {
            mask,
            held: Vec::new(),
        }
    }

    /// Reads a chunk and appends what can no longer become part of a secret to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.held.is_empty() {
            let done = self.pass(bytes, out);
            self.held.extend_from_slice(&bytes[done..]);
        } else {
            let mut text = mem::take(&mut self.held);
            text.extend_from_slice(bytes);
            let done = self.pass(&text, out);
            text.drain(..done);
            self.held = text;
        }
    }

    /// Appends what was held back, since nothing more comes. It is then as new.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let held = mem::take(&mut self.held);
        self.give(&held, held.len(), out);
    }

    /// Appends what is certain, and returns how much of the text that is.
    fn pass(&self, text: &[u8], out: &mut Vec<u8>) -> usize {
        self.give(text, self.mask.unfinished(text, 0), out)
    }

    /// Appends the text up to a secret that may not be complete, and returns where that starts.
    fn give(&self, text: &[u8], mut unfinished: usize, out: &mut Vec<u8>) -> usize {
        let mut search = SecretSearch::new(self.mask, text);
        let mut at = 0;
        // A match behind the start of an unfinished one may still be overlapped by that, and one at the same place may
        // still be outdone by a longer one.
        while let Some((start, secret)) = search.next(at).filter(|(at, _)| *at < unfinished) {
            out.extend_from_slice(&text[at..start]);
            out.extend_from_slice(secret.replacement.as_bytes());
            at = start + secret.value().len();
            if unfinished < at {
                unfinished = self.mask.unfinished(text, at);
            }
        }
        out.extend_from_slice(&text[at..unfinished]);
        unfinished
    }
}

/// Returns whether a name matches a pattern with `*` and `?`, in any letter case.
pub fn matches(pattern: &str, name: &str) -> bool {
    is_like(&fold(pattern), &fold(name))
}

/// The characters of a text, without their letter case.
pub fn fold(text: &str) -> Vec<char> {
    text.to_lowercase().chars().collect()
}

/// Does the same as [`matches`] for texts that are folded already.
pub fn is_like(pattern: &[char], name: &[char]) -> bool {
    // Most names differ from `*.pem` at their end.
    if let (Some(last), Some(end)) = (pattern.last(), name.last())
        && !matches!(last, '*' | '?')
        && last != end
    {
        return false;
    }
    let (mut p, mut n) = (0, 0);
    // The last star, and where what stands for it ends so far.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, end)) = star else { return false };
                star = Some((at, end + 1));
                p = at + 1;
                n = end + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATTERNS: [&str; 4] = ["*_TOKEN", "*_SECRET", "*_KEY", "*PASSWORD*"];

    fn mask(vars: &[(&str, &str)]) -> Mask {
        Mask::new(vars.iter().copied(), &PATTERNS)
    }

    #[track_caller]
    fn check(vars: &[(&str, &str)], text: &str, expect: &str) {
        let mask = mask(vars);
        assert_eq!(mask.text(text), expect);
        let bytewise = text.as_bytes().chunks(1);
        assert_eq!(
            String::from_utf8(pushed(&mask, bytewise)).unwrap(),
            expect,
            "byte by byte"
        );
    }

    fn pushed<'a>(mask: &Mask, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut masking = Masking::new(mask);
        let mut out = Vec::new();
        for chunk in chunks {
            masking.push(chunk, &mut out);
        }
        masking.finish(&mut out);
        out
    }

    #[test]
    fn a_secret_is_replaced_by_its_name() {
        let vars = [("GH_TOKEN", "ghp_0123456789"), ("HOME", "ghp_0123456789")];
        check(
            &vars,
            "a ghp_0123456789 b ghp_0123456789",
            "a [masked: GH_TOKEN] b [masked: GH_TOKEN]",
        );
        check(&vars, "ghp_012345678", "ghp_012345678");
        check(&vars, "ghp_ghp_0123456789", "ghp_[masked: GH_TOKEN]");
        check(&vars, "", "");
    }

    #[test]
    fn names_are_matched_in_any_case() {
        let masked = |name: &str| !mask(&[(name, "0123456789")]).is_empty();
        for name in [
            "GH_TOKEN",
            "gh_token",
            "_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "PASSWORD",
            "MyPassword2",
        ] {
            assert!(masked(name), "{name}");
        }
        for name in [
            "TOKEN", "TOKENS", "MONKEY", "KEY", "PATH", "", "A_KEY_ID", "PASSWOR",
        ] {
            assert!(!masked(name), "{name}");
        }
        assert!(matches("a?c*e*", "abcdefe") && matches("*", "") && matches("É*", "éa"));
        assert!(!matches("a?c", "ac") && !matches("", "a") && !matches("*a*b", "ba"));
    }

    #[test]
    fn what_is_short_is_left() {
        check(&[("A_KEY", "1234567")], "1234567", "1234567");
        check(&[("A_KEY", "12345678")], "12345678", "[masked: A_KEY]");
        assert!(mask(&[("A_KEY", ""), ("B_KEY", " \n ")]).is_empty());
    }

    #[test]
    fn several_lines_are_masked_one_by_one() {
        let vars = [("A_KEY", "-----BEGIN-----\r\nabcdefghijkl\nxyz==\n")];
        check(&vars, "abcdefghijkl\nxyz==\n", "[masked: A_KEY]\nxyz==\n");
        check(&vars, "  abcdefghijkl  ", "  [masked: A_KEY]  ");
    }

    #[test]
    fn the_longest_of_the_leftmost() {
        let vars = [
            ("A_KEY", "abcdefgh"),
            ("B_KEY", "abcdefghij"),
            ("C_KEY", "cdefghijklm"),
        ];
        check(&vars, "abcdefghi", "[masked: A_KEY]i");
        check(&vars, "abcdefghij", "[masked: B_KEY]");
        check(&vars, "abcdefghijklm", "[masked: B_KEY]klm");
        check(&vars, "bcdefghijklm", "b[masked: C_KEY]");
        check(
            &vars,
            "abcdefghiabcdefgh",
            "[masked: A_KEY]i[masked: A_KEY]",
        );
    }

    #[test]
    fn one_value_has_the_first_of_its_names() {
        let vars = [
            ("B_TOKEN", "0123456789"),
            ("A_TOKEN", "0123456789"),
            ("C_TOKEN", "0123456789"),
        ];
        check(&vars, "0123456789", "[masked: A_TOKEN]");
    }

    #[test]
    fn only_what_may_become_a_secret_is_held_back() {
        let mask = mask(&[("A_KEY", "secret-é-value"), ("B_KEY", "value-of-b")]);
        let mut masking = Masking::new(&mask);
        let mut given = |text: &str| {
            let mut out = Vec::new();
            masking.push(text.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            given("a line\nand the start: secret-"),
            "a line\nand the start: "
        );
        assert_eq!(given("é"), "");
        assert_eq!(given("-value-o"), "[masked: A_KEY]-o");
        assert_eq!(given("\nsecre"), "\n");
        assert_eq!(given("\n"), "secre\n");
        assert_eq!(given("secret-é-val\n"), "secret-é-val\n");
    }

    #[test]
    fn without_secrets_nothing_is_copied_or_held() {
        let mask = mask(&[("HOME", "0123456789")]);
        assert!(mask.is_empty());
        assert!(matches!(mask.text("0123456789"), Cow::Borrowed(_)));
        assert_eq!(
            pushed(&mask, [&b"01234"[..], b"56789"].into_iter()),
            b"0123456789"
        );
    }

    /// Text of few letters, so that parts of secrets meet each other.
    fn text() -> impl Strategy<Value = String> {
        "[abé\n]{0,60}"
    }

    proptest! {
        #[test]
        fn where_chunks_are_cut_does_not_matter(
            values in proptest::collection::vec("[abé]{4,12}", 0..6),
            pieces in proptest::collection::vec(prop_oneof![text().boxed(), any::<prop::sample::Index>().prop_map(|i| format!("#{}", i.index(6))).boxed()], 0..12),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            // `#2` stands for the third value.
            let whole: String = pieces.iter().map(|piece| match piece.strip_prefix('#') {
                Some(number) => values.get(number.parse::<usize>().unwrap()).cloned().unwrap_or_default(),
                None => piece.clone(),
            }).collect();
            let vars = values.iter().enumerate().map(|(index, value)| (format!("V{index}_KEY"), value));
            let mask = Mask::new(vars, &PATTERNS);
            let expect = mask.text(&whole);

            let mut cuts: Vec<usize> = cuts.iter().map(|cut| whole.floor_char_boundary(cut.index(whole.len() + 1))).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let longest = values.iter().map(String::len).max().unwrap_or_default();
            let mut masking = Masking::new(&mask);
            let mut out = Vec::new();
            for pair in cuts.windows(2) {
                let mut piece = Vec::new();
                masking.push(&whole.as_bytes()[pair[0]..pair[1]], &mut piece);
                prop_assert!(str::from_utf8(&piece).is_ok());
                prop_assert!(!masking.held.contains(&b'\n'), "a complete line is held");
                prop_assert!(masking.held.len() < longest.max(1));
                out.append(&mut piece);
            }
            masking.finish(&mut out);
            prop_assert_eq!(str::from_utf8(&out).unwrap(), &*expect);
            prop_assert_eq!(&pushed(&mask, whole.as_bytes().chunks(1)), expect.as_bytes());
        }

        #[test]
        fn the_leftmost_longest_is_what_a_plain_search_finds(
            values in proptest::collection::vec("[ab]{8,10}", 1..5),
            text in "[ab]{0,40}",
        ) {
            let vars = values.iter().enumerate().map(|(index, value)| (format!("V{index}_KEY"), value));
            let mask = Mask::new(vars, &PATTERNS);
            let (mut expect, mut rest) = (String::new(), &*text);
            while let Some(first) = rest.chars().next() {
                let longest = values.iter().filter(|value| rest.starts_with(value.as_str())).max_by_key(|value| value.len());
                match longest {
                    Some(value) => {
                        let name = values.iter().position(|other| other == value).unwrap();
                        expect += &format!("[masked: V{name}_KEY]");
                        rest = &rest[value.len()..];
                    }
                    None => {
                        expect.push(first);
                        rest = &rest[1..];
                    }
                }
            }
            prop_assert_eq!(mask.text(&text), expect);
        }
    }

    /// `cargo test --release --lib mask_speed -- --ignored --nocapture`
    #[test]
    #[ignore = "a measurement"]
    #[allow(clippy::print_stderr, reason = "it is what the measurement is for")]
    fn mask_speed() {
        let mut text = String::new();
        for number in 0.. {
            if text.len() > 64 << 20 {
                break;
            }
            text += &format!(
                "   Compiling crate-{number} v0.{}.{} (the quick brown fox: src/module_{number}/file.rs:{number})\n",
                number % 97,
                number % 13
            );
        }
        for count in [0, 1, 4, 10, 30, 100] {
            let vars = (0..count).map(|n: usize| {
                (
                    format!("V{n}_KEY"),
                    format!(
                        "{}{:032x}",
                        ["ghp_", "sk-", "AKIA", "eyJ", "x", ""][n % 6],
                        (n as u128 + 1) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835 % (1 << 120)
                    ),
                )
            });
            let mask = Mask::new(vars, &PATTERNS);
            let mut best = f64::MAX;
            for _ in 0..3 {
                let clock = std::time::Instant::now();
                let mut masking = Masking::new(&mask);
                let mut out = Vec::with_capacity(70 << 10);
                for chunk in text.as_bytes().chunks(64 << 10) {
                    out.clear();
                    masking.push(chunk, &mut out);
                    std::hint::black_box(&out);
                }
                best = best.min(clock.elapsed().as_secs_f64());
            }
            eprintln!(
                "{count} secrets: {:.2} GB/s",
                text.len() as f64 / best / 1e9
            );
        }
    }
}
