//! Addresses: `src/app.rs@@Widget@@draw` names a definition in a file. Each part is found by name, never by guess.

use std::collections::HashSet;

use super::{CodeLanguage, Definition, Outline, one_line};

/// The mark before each part of an address.
pub const MARK: &str = "@@";

/// The most names that a failure lists.
const LISTED: usize = 8;
/// The similarity from which on a name may be the one that was meant (1 is the same).
const ALIKE: f64 = 0.5;

/// A path with the names of what is meant in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// The path of the file.
    pub file: &'a str,
    /// The names, with the mark between them.
    pub names: &'a str,
}

/// A definition as a failure names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPlace {
    /// The names that lead to it, with the mark between them.
    pub names: String,
    /// Its first line, counted from 1.
    pub line: usize,
}

/// The reason why an address leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressError {
    /// A part of it is empty.
    Empty,
    /// Nothing has that name; what comes nearest, if anything does.
    Missing {
        part: String,
        /// The full name of what it was looked for in, where that is a part of the file only.
        within: Option<String>,
        nearest: Vec<FoundPlace>,
        /// There are other definitions in the file.
        has_others: bool,
    },
    /// More than one fits: the first few, and how many there are.
    Several {
        places: Vec<FoundPlace>,
        count: usize,
    },
}

/// Writes the address of a definition in a file; that of the file where there are no names.
pub fn written(file: &str, names: Option<&str>) -> String {
    match names {
        Some(names) => format!("{file}{MARK}{names}"),
        None => file.to_owned(),
    }
}

impl<'a> Address<'a> {
    /// The readings of a path as an address, that with the longest path of a file first; none where it has no mark.
    pub fn readings(path: &'a str) -> impl Iterator<Item = Self> {
        let marks = path.rmatch_indices(MARK).filter(|(at, _)| *at > 0);
        marks.map(|(at, _)| Self {
            file: path[..at].trim_end(),
            names: &path[at + MARK.len()..],
        })
    }
}

impl Outline {
    /// Returns the definition that these names lead to, by its place in the outline.
    ///
    /// One whose names are all given comes before those that are deeper in; one that has the last name before those that
    /// only add to what has it; and a class before its constructors.
    ///
    /// # Errors
    /// Where a name is empty, nothing has it, or several do.
    pub fn find(&self, names: &str) -> Result<usize, AddressError> {
        let parts: Vec<String> = names.split(MARK).map(one_line).collect();
        if parts.iter().any(String::is_empty) {
            return Err(AddressError::Empty);
        }
        match self.best(&self.fitting(&parts)).as_slice() {
            [] => Err(self.missing(&parts)),
            [at] => Ok(*at),
            same => Err(AddressError::Several {
                places: same.iter().take(LISTED).map(|at| self.place(*at)).collect(),
                count: same.len(),
            }),
        }
    }

    /// The definitions that fit these names.
    fn fitting(&self, parts: &[String]) -> Vec<(Fit, usize)> {
        let all = 0..self.definitions.len();
        all.filter_map(|at| Some((self.fit(at, parts)?, at)))
            .collect()
    }

    /// The best of these, without those that are in another of them.
    fn best(&self, fits: &[(Fit, usize)]) -> Vec<usize> {
        let best = fits.iter().map(|(fit, _)| *fit).min();
        let is_best = |(fit, _): &&(Fit, usize)| Some(*fit) == best;
        let mut same: Vec<usize> = fits.iter().filter(is_best).map(|(_, at)| *at).collect();
        if same.len() > 1 {
            let names = same.iter().map(|at| self.names(*at)).collect();
            same.retain(|at| !self.is_in(*at, &names));
        }
        same
    }

    /// True if a definition is in one with one of these full names: it stands there, or its own name says so.
    fn is_in(&self, at: usize, names: &HashSet<String>) -> bool {
        let own = self.names(at);
        let mut outer = own.match_indices(MARK).map(|(end, _)| &own[..end]);
        outer.any(|outer| names.contains(outer))
    }

    /// The names that lead to a definition and to no other, with the mark between them.
    pub fn names(&self, at: usize) -> String {
        let names: Vec<String> = self
            .chain(at)
            .into_iter()
            .map(|at| self.own_name(at))
            .collect();
        names.join(MARK)
    }

    /// The fewest names that lead to a definition, with the mark between them, as a suggestion: without what it is in, or with the type
    /// that this adds to, where these lead to it too.
    pub fn short_names(&self, at: usize) -> String {
        let chain = self.chain(at).into_iter();
        let parts: Vec<NamePart<'_>> = chain.flat_map(|outer| self.name_parts(outer)).collect();
        let mut names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let is_section =
            self.language == CodeLanguage::Markdown && self.definitions[at].number.is_none();
        let mut place = 0;
        // The last one is the name of the definition itself.
        for part in &parts[..parts.len() - 1] {
            let part_name = names.remove(place);
            // A name alone says little, and a number counts those beside it: so what it is in is named too.
            let is_told = !is_section && place + 1 == names.len();
            if !is_told && self.leads(&names, at) {
                continue;
            }
            names.insert(place, part_name);
            let others = part.others.iter().copied();
            for name in others.chain([part.name.as_str()]) {
                name.clone_into(&mut names[place]);
                if self.leads(&names, at) {
                    break;
                }
            }
            place += 1;
        }
        names.join(MARK)
    }

    /// The parts that the name of a definition has in an address.
    fn name_parts(&self, at: usize) -> Vec<NamePart<'_>> {
        let own = self.own_name(at);
        let part = |name: &str| NamePart {
            name: one_line(name),
            others: Vec::new(),
        };
        let mut parts: Vec<NamePart<'_>> = own.split(MARK).map(part).collect();
        if let Some(last) = parts.last_mut() {
            let definition = &self.definitions[at];
            last.others.extend(definition.adds_to.as_deref());
            last.others.push(definition.last_name());
        }
        parts
    }

    /// True if these names lead to this definition and to no other.
    fn leads(&self, names: &[String], at: usize) -> bool {
        self.best(&self.fitting(names)) == [at]
    }

    /// The name of a definition among those beside it: with a number where several have it.
    fn own_name(&self, at: usize) -> String {
        let definition = &self.definitions[at];
        match definition.number {
            None => definition.name.clone(),
            Some(number) => format!("{}#{number}", definition.name),
        }
    }

    fn place(&self, at: usize) -> FoundPlace {
        FoundPlace {
            names: self.short_names(at),
            line: self.definitions[at].first_line,
        }
    }

    /// The way in which a definition fits these names, if it does: its own is the last of them, and the others are of what it is
    /// in, from the outermost on.
    fn fit(&self, at: usize, parts: &[String]) -> Option<Fit> {
        let own = self.definitions[at].ends(parts)?;
        let (mut left, mut fit) = (own.left, own.fit);
        let mut outer = self.definitions[at].parent;
        while let Some(at) = outer {
            let definition = &self.definitions[at];
            outer = definition.parent;
            match definition.ends(left) {
                Some(name) => {
                    left = name.left;
                    fit.is_deeper |= name.fit.is_deeper;
                    fit.adds |= name.fit.adds;
                    fit.is_alias |= name.fit.is_alias;
                }
                None => fit.is_deeper = true,
            }
        }
        left.is_empty().then_some(fit)
    }

    /// Tells which of these names is not there, and what is.
    fn missing(&self, parts: &[String]) -> AddressError {
        // The longest start of the names that leads somewhere.
        let found = (1..parts.len()).rev().find_map(|count| {
            let fits = self.fitting(&parts[..count]);
            (!fits.is_empty()).then_some((count, fits))
        });
        let (count, fits) = found.unwrap_or_default();
        let part = &parts[count];
        let wanted = parts[count..].join(self.language.separator());
        let around: HashSet<String> = fits.iter().map(|(_, at)| self.names(*at)).collect();
        let mut near: Vec<(f64, usize)> = Vec::new();
        for at in 0..self.definitions.len() {
            let likeness = self.likeness(at, part, &wanted);
            let is_inside = || around.is_empty() || self.is_in(at, &around);
            // Elsewhere in the file it must have that very name.
            if likeness >= 1.0 || likeness >= ALIKE && is_inside() {
                near.push((likeness, at));
            }
        }
        near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let within = match self.best(&fits).as_slice() {
            [only] => Some(self.full_name(*only)),
            _ => None,
        };
        AddressError::Missing {
            part: part.clone(),
            within,
            nearest: near.iter().take(3).map(|(_, at)| self.place(*at)).collect(),
            has_others: !self.definitions.is_empty(),
        }
    }

    /// The likeness of a definition to a name, or to all names from that on as the language writes them.
    fn likeness(&self, at: usize, part: &str, wanted: &str) -> f64 {
        let full_name = self.full_name(at);
        let full = [part, wanted].iter().any(|written| {
            full_name == *written
                || full_name.ends_with(&format!("{}{written}", self.language.separator()))
        });
        if full {
            return 1.0;
        }
        let bare = part.trim_end_matches("()");
        let definition = &self.definitions[at];
        let names = definition.own_names().map(|name| alike(&name, bare));
        // One whose name holds the mark may stand in a file that lacks what it belongs to.
        let parts = if definition.name.contains(MARK) {
            alike(definition.last_name(), bare).max(alike(&full_name, wanted))
        } else {
            0.0
        };
        names.fold(parts, f64::max)
    }
}

/// The likeness of two names, from 0 to 1.
fn alike(name: &str, wanted: &str) -> f64 {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    if plain(name) == plain(wanted) {
        return 1.0;
    }
    // No measure calls these alike, and a long key takes long to compare.
    let (short, long) = (name.len().min(wanted.len()), name.len().max(wanted.len()));
    if short * 12 < long {
        return 0.0;
    }
    let letters = strsim::normalized_damerau_levenshtein(name, wanted);
    letters.max(strsim::sorensen_dice(name, wanted)).min(0.99)
}

/// A part of the names that lead to a definition.
struct NamePart<'o> {
    name: String,
    /// The names that may lead there too.
    others: Vec<&'o str>,
}

impl Definition {
    /// The names that are its own.
    fn own_names(&self) -> impl Iterator<Item = String> {
        let with_keyword =
            (!self.keyword.is_empty()).then(|| format!("{} {}", self.keyword, self.name));
        let own = std::iter::once(self.name.clone());
        own.chain(self.aliases.iter().cloned()).chain(with_keyword)
    }

    /// The way in which its name ends these, if it does. A whole name comes before a part of one.
    fn ends<'p>(&self, parts: &'p [String]) -> Option<NameEnd<'p>> {
        let own = self.own_names().enumerate().filter_map(|(nth, name)| {
            let mut end = NameEnd::of(&name, self.number, parts)?;
            end.fit.is_alias = nth > 0 && !end.fit.is_deeper;
            Some(end)
        });
        if let Some(end) = own.min_by_key(|end| end.fit.is_deeper) {
            return Some(end);
        }
        let mut end = NameEnd::of(self.adds_to.as_deref()?, None, parts)?;
        end.fit.last = NameFit::AddsTo;
        end.fit.adds = true;
        Some(end)
    }
}

/// A name at the end of others, and those before it.
struct NameEnd<'p> {
    fit: Fit,
    left: &'p [String],
}

impl<'p> NameEnd<'p> {
    /// Takes a name off the end of these. One that holds the mark says what it is in, so its first parts may be left out.
    fn of(name: &str, number: Option<usize>, parts: &'p [String]) -> Option<Self> {
        let (last, mut left) = parts.split_last()?;
        let mut own = name.rsplit(MARK).map(str::trim);
        let rest = last.strip_prefix(own.next()?)?;
        let is_number = |rest: &str| {
            let asked = rest.strip_prefix('#').and_then(|rest| rest.parse().ok());
            asked.is_some_and(|asked: usize| Some(asked) == number)
        };
        if !rest.is_empty() && !is_number(rest) {
            return None;
        }
        let mut is_deeper = false;
        for outer in own {
            match left.split_last() {
                Some((last, rest)) if last == outer => left = rest,
                _ => is_deeper = true,
            }
        }
        Some(Self {
            fit: Fit {
                last: NameFit::Own,
                is_deeper,
                adds: false,
                is_alias: false,
            },
            left,
        })
    }
}

/// The way in which a definition fits names; the better comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    last: NameFit,
    /// Not all that it is in is named.
    is_deeper: bool,
    /// A name is that of a type which something that it is in adds to.
    adds: bool,
    /// A name is not the first one that a definition has.
    is_alias: bool,
}

/// The way in which a definition has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameFit {
    Own,
    AddsTo,
}
