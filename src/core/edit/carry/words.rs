//! Merges a changed line word by word, and undoes in new text what a page did to the characters of the search text.

use std::collections::{BTreeSet, HashMap};

use super::Merge;
use super::lines::{Token, span, tokens, units};
use super::pairing::same_words;
use crate::edit::Doubt;
use crate::edit::view;

/// A typographic quotation mark.
fn is_curly(c: char) -> bool {
    matches!(c, '\u{2018}'..='\u{201F}')
}

fn is_widthless(c: char) -> bool {
    view::is_invisible(c) && !c.is_whitespace()
}

/// A space that forbids a break.
fn is_firm(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{2007}' | '\u{202F}')
}

fn is_straight(c: char) -> bool {
    matches!(c, '"' | '\'')
}

fn has_quotes(text: &str) -> bool {
    text.contains(|c| is_curly(c) || is_straight(c))
}

/// The characters that the search text has in place of the file's.
#[derive(Debug)]
pub(super) struct Cure<'f> {
    file: &'f [u8],
    /// For each typographic character of the search text, what the file has for it.
    typographic: HashMap<char, BTreeSet<String>>,
    /// The search text has quotes, so that they tell what became of them.
    has_quotes: bool,
    lost_widthless: bool,
    lost_firm: bool,
}

impl<'f> Cure<'f> {
    pub(super) fn of(merge: &Merge<'_, 'f, '_>) -> Self {
        let (search, found) = (&merge.search.lines, &merge.found.lines);
        // Where the replacement has the file's own text it was not damaged as the search text was.
        let mut is_healthy = vec![false; search.len()];
        for (&j, &i) in &merge.pairing.kept {
            let (is, was) = (merge.new.lines[j].body, found[i].body);
            is_healthy[i] = is == was && was != search[i].body;
        }
        let lines = search.iter().zip(found).zip(&is_healthy);
        let lines = lines.filter(|(_, is_healthy)| !**is_healthy);
        let lines = lines.map(|((line, file), _)| (line.body, file.body));
        let beside = merge.place.beside.iter();
        let beside = beside.map(|(search, file)| (search.as_str(), file.as_str()));
        let mut cure = Self {
            file: merge.place.file,
            typographic: HashMap::new(),
            has_quotes: search.iter().any(|line| has_quotes(line.body))
                || beside.clone().any(|(search, _)| has_quotes(search)),
            lost_widthless: false,
            lost_firm: false,
        };
        let mut kept_firm = false;
        for (search, file) in lines.chain(beside) {
            cure.learn(search, file);
            let lost = |kind: fn(char) -> bool| search.contains(kind) && !file.contains(kind);
            cure.lost_widthless |= lost(is_widthless);
            cure.lost_firm |= lost(is_firm);
            kept_firm |= search.contains(is_firm) && file.contains(is_firm);
        }
        cure.lost_firm &= !kept_firm;
        cure
    }

    fn learn(&mut self, search: &str, file: &str) {
        for (one, other) in units(search).zip(units(file)) {
            let (was, is) = (&search[one.start..one.end], &file[other.start..other.end]);
            let Some(c) = was.chars().next() else {
                continue;
            };
            if let Some(plain) = view::plain(c).filter(|plain| !plain.is_empty()) {
                let is = if is != was && plain.len() > 1 {
                    plain
                } else {
                    is
                };
                self.typographic.entry(c).or_default().insert(is.to_owned());
            }
        }
    }

    /// Returns whether a curly quote may be one that a page made of a straight one: the file has those only, and the search
    /// text has none to tell.
    fn may_be_straight(&self) -> bool {
        let Ok(file) = std::str::from_utf8(self.file) else {
            return false;
        };
        !self.has_quotes && file.contains(is_straight) && !file.contains(is_curly)
    }

    /// # Errors
    /// Where straight quotes would end each other in a line.
    pub(super) fn check(&self, line: &str) -> Result<(), Doubt> {
        match quote_in_quotes(line) {
            Some(c) if !self.typographic.is_empty() => Err(Doubt::Character(c)),
            _ => Ok(()),
        }
    }

    /// New text, as the file would have it.
    pub(super) fn apply(&self, text: &str) -> Result<String, Doubt> {
        let curly = self.typographic.iter().filter(|(c, _)| is_curly(**c));
        let mut curly = curly.flat_map(|(_, is)| is).peekable();
        // Quotes are of one kind: where some became plain, so do others.
        let are_plain = curly.peek().is_some() && !curly.any(|is| is.contains(is_curly));
        let mut cured = String::with_capacity(text.len());
        for c in text.chars() {
            if self.lost_widthless && is_widthless(c) {
                continue;
            }
            if self.lost_firm && is_firm(c) {
                cured.push(' ');
                continue;
            }
            match self.typographic.get(&c) {
                None if is_curly(c) && are_plain => {
                    cured.push_str(view::plain(c).unwrap_or_default());
                }
                None if is_curly(c) && self.may_be_straight() => return Err(Doubt::Character(c)),
                None => cured.push(c),
                Some(is) => match (is.first(), is.len()) {
                    (Some(only), 1) => cured.push_str(only),
                    _ => return Err(Doubt::Character(c)),
                },
            }
        }
        Ok(cured)
    }
}

/// A quotation mark inside quotation marks of its kind, which would end them if all were straight.
fn quote_in_quotes(text: &str) -> Option<char> {
    let (mut double, mut single) = (0_usize, 0_usize);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_in_word =
            before.is_alphanumeric() && chars.peek().is_some_and(|c| c.is_alphanumeric());
        match c {
            '\u{201C}' if double > 0 => return Some(c),
            '\u{201C}' => double += 1,
            '\u{201D}' => double = double.saturating_sub(1),
            '\u{2018}' if single > 0 => return Some(c),
            '\u{2018}' => single += 1,
            '\u{2019}' if is_in_word && single > 0 => return Some(c),
            '\u{2019}' => single = single.saturating_sub(1),
            _ => {}
        }
        before = c;
    }
    None
}

/// A line of the search text, the file's and the replacement's, as one: what the replacement left as it was in the search
/// text is the file's.
pub(super) fn merge(
    search: &str,
    file: &str,
    replacement: &str,
    cure: &Cure<'_>,
) -> Result<String, Doubt> {
    if search == replacement {
        return Ok(file.to_owned());
    }
    cure.check(replacement)?;
    let (searched, new) = (tokens(search), tokens(replacement));
    let found = in_file(file, &searched);
    let mut is_of = vec![None; new.len()];
    for (i, j) in same_words(&searched, &new) {
        is_of[j] = Some(i);
    }
    let mut merged = String::new();
    for (j, token) in new.iter().enumerate() {
        if j > 0 {
            let own = gap(replacement, &new, j);
            let there = searched_gap(&is_of, j).filter(|i| (1..searched.len()).contains(i));
            let there = there.map(|i| (gap(search, &searched, i), gap(file, &found, i)));
            let both_stay =
                is_of[j].is_some() && is_of[j - 1] == is_of[j].and_then(|i| i.checked_sub(1));
            match there {
                Some((was, is)) if own == was || own == is => merged += is,
                Some((was, is)) if was != is && both_stay => return Err(Doubt::WhiteSpace),
                // One of its neighbours is new, and so is the gap.
                _ => merged += &cure.apply(own)?,
            }
        }
        let own = &replacement[token.start..token.end];
        let there = is_of[j].map(|i| (&searched[i], &found[i]));
        let there = there.map(|(was, is)| (&search[was.start..was.end], &file[is.start..is.end]));
        match there {
            Some((was, is)) if own == was || own == is => merged += is,
            Some((was, is)) if was != is => {
                return Err(Doubt::Character(own.chars().next().unwrap_or_default()));
            }
            _ => merged += &cure.apply(own)?,
        }
    }
    Ok(merged)
}

/// The text between a word and the one before it.
fn gap<'t>(text: &'t str, words: &[Token], at: usize) -> &'t str {
    &text[words[at - 1].end..words[at].start]
}

/// The gap of the search text that stands before a word of the replacement; `is_of` are the words of the search text that
/// those of the replacement are.
fn searched_gap(is_of: &[Option<usize>], j: usize) -> Option<usize> {
    let behind = is_of[j - 1].map(|before| before + 1);
    let is_put_in = behind.is_some() && is_of[j..].contains(&behind);
    is_of[j].or(behind.filter(|_| !is_put_in))
}

/// The words of the search text, where the file has them.
fn in_file(file: &str, searched: &[Token]) -> Vec<Token> {
    let mut units = units(file);
    let found = searched.iter().map_while(|token| {
        let (start, end) = span(&mut units, token.plain.chars().count())?;
        let plain = token.plain.clone();
        Some(Token { plain, start, end })
    });
    found.collect()
}
