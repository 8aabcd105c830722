//! A line that was changed, word by word; and what a page did to the characters of the search text, undone in text that
//! is new.

use std::collections::{BTreeSet, HashMap};

use super::Place;
use super::lines::{FileLine, Line, Token, tokens, units};
use super::pairing::{Pairing, same_words};
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
    pub(super) fn of(
        place: &Place<'f>,
        search: &[Line<'_>],
        found: &[FileLine<'_>],
        replacement: &[Line<'_>],
        pairing: &Pairing,
    ) -> Self {
        // Where the replacement has the file's own text it was not damaged as the search text was.
        let mut is_healthy = vec![false; search.len()];
        for (&j, &i) in &pairing.kept {
            let (is, was) = (replacement[j].body, found[i].body);
            is_healthy[i] = is == was && was != search[i].body;
        }
        let lines = search.iter().zip(found).zip(&is_healthy);
        let lines = lines.filter(|(_, is_healthy)| !**is_healthy);
        let lines = lines.map(|((line, file), _)| (line.body, file.body));
        let beside = place.beside.iter();
        let beside = beside.map(|(search, file)| (search.as_str(), file.as_str()));
        let mut cure = Self {
            file: place.file,
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
    let gap = |tokens: &[Token], text: &'_ str, i: usize| {
        text[tokens[i - 1].end..tokens[i].start].to_owned()
    };
    let mut merged = String::new();
    for (j, token) in new.iter().enumerate() {
        let i = is_of[j];
        if j > 0 {
            let own = gap(&new, replacement, j);
            // Which gap of the search text it is.
            let before = is_of[j - 1];
            let is_put_in =
                i.is_none() && before.is_some_and(|before| is_of[j..].contains(&Some(before + 1)));
            let its = match (i, before) {
                _ if is_put_in => None,
                (Some(i), _) => Some(i),
                (None, Some(before)) => Some(before + 1),
                (None, None) => None,
            };
            match its.filter(|i| (1..searched.len()).contains(i)) {
                None => merged += &cure.apply(&own)?,
                Some(i) => {
                    let was = gap(&searched, search, i);
                    let is = gap(&found, file, i);
                    if own == was || own == is {
                        merged += &is;
                    } else if was == is || before != i.checked_sub(1) || is_of[j].is_none() {
                        // One of its neighbours is new, and so is the gap.
                        merged += &cure.apply(&own)?;
                    } else {
                        return Err(Doubt::WhiteSpace);
                    }
                }
            }
        }
        let own = &replacement[token.start..token.end];
        match i {
            None => merged += &cure.apply(own)?,
            Some(i) => {
                let was = &search[searched[i].start..searched[i].end];
                let is = &file[found[i].start..found[i].end];
                if own != was && own != is && was != is {
                    return Err(Doubt::Character(own.chars().next().unwrap_or_default()));
                }
                merged += &if own == was || own == is {
                    is.to_owned()
                } else {
                    cure.apply(own)?
                };
            }
        }
    }
    Ok(merged)
}

/// The words of the search text, where the file has them.
fn in_file(file: &str, searched: &[Token]) -> Vec<Token> {
    let mut units = units(file);
    let mut found = Vec::with_capacity(searched.len());
    for token in searched {
        let mut its = units.by_ref().take(token.plain.chars().count());
        let Some(first) = its.next() else { break };
        let end = its.last().unwrap_or(first).end;
        found.push(Token {
            plain: token.plain.clone(),
            start: first.start,
            end,
        });
    }
    found
}
