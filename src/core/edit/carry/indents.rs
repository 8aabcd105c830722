//! Works out how deep the lines of a replacement are indented in the file.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::lines::PayloadLine;
use super::reindent::{self, Reindent, TAB};
use super::style::{Style, opens};
use super::{Matched, Merge, agreed};
use crate::edit::Doubt;
use crate::edit::lines as file_lines;

/// The indentations of the search text and the file's for the same lines, and what follows from them for others.
#[derive(Debug)]
pub(super) struct Indents {
    /// Of each line that begins a line of the file, too.
    pairs: Vec<(String, String)>,
    /// The first line alone has lost its indentation: it speaks for the replacement's first line only.
    pub(super) first: Option<(String, String)>,
    /// The replacement is indented as the file is, the search text is not.
    pub(super) is_literal: bool,
    /// Lines that the search text indents alike are not alike in the file.
    pub(super) is_unsure: bool,
    /// The ways that explain all lines.
    pub(super) ways: Vec<Reindent>,
    /// The file's indentation for each of the search text, where it is the same in all lines.
    seen: HashMap<String, Option<String>>,
    /// The indentation of the file's line that the place begins inside, where no other line says anything.
    within: Option<String>,
}

/// The indentations of a line that the replacement has as well. A long one says more: braces are easily taken for others.
#[derive(Debug)]
struct KeptIndent<'m> {
    search: &'m str,
    file: &'m str,
    new: String,
    weight: usize,
}

impl Indents {
    /// # Errors
    /// Where the replacement may be meant to indent the lines otherwise.
    pub(super) fn of(merge: &Merge<'_, '_, '_>) -> Result<Self, Doubt> {
        let (place, replacement) = (merge.place, &merge.new.lines);
        let (search, found) = (&merge.search.lines, &merge.found.lines);
        let begins = |i: usize| found[i].glue.is_none() && place.says_indentation(&search[i]);
        let pairs = (0..search.len()).filter(|i| begins(*i));
        let pairs: Vec<(String, String)> = pairs
            .map(|i| {
                let (search, file) = (search[i].indent, found[i].indent);
                let is_same = search == file;
                let search = if is_same {
                    file.to_owned()
                } else {
                    plain(search)
                };
                (search, file.to_owned())
            })
            .collect();
        let mut indents = Self {
            ways: Reindent::between(&pairs),
            pairs,
            first: None,
            is_literal: false,
            is_unsure: false,
            seen: HashMap::new(),
            within: None,
        };
        if place.is_inside && indents.pairs.is_empty() {
            let start = file_lines::start_of(place.file, place.range.start);
            let own = file_lines::indentation(place.file, start);
            indents.within = Some(own.to_owned());
        }
        indents.let_first_alone();
        indents.let_only_alone(place, replacement)?;
        if indents.ways.is_empty() && place.copied.start > 0 {
            indents.trust_head(place, search, begins);
        }
        let new = replacement.iter().map(|line| plain(line.indent));
        indents.choose(place, &new.collect::<Vec<_>>());
        indents.is_unsure = indents.ways.is_empty() && !indents.is_function();
        indents.seen = agreed(indents.pairs.iter().cloned());
        if indents.first.is_none() && indents.ways != [Reindent::Same] {
            indents.compare(merge, begins)?;
        }
        Ok(indents)
    }

    /// Lets the other lines say how those below are indented, where only the first line lost its indentation.
    fn let_first_alone(&mut self) {
        let [(search, file), rest @ ..] = self.pairs.as_slice() else {
            return;
        };
        let lost = search.is_empty()
            && !file.is_empty()
            && rest.iter().any(|(search, _)| !search.is_empty());
        let is_odd = !self.ways.iter().any(Reindent::is_plain);
        if is_odd && lost && rest.iter().all(|(search, file)| search == file) {
            self.set_first_apart();
        }
    }

    /// Takes the first line for the only one that has lost its indentation.
    fn set_first_apart(&mut self) {
        self.first = Some(self.pairs.remove(0));
        self.ways = vec![Reindent::Same];
    }

    /// A line that is searched for alone may have lost its indentation alone, too: the other lines of the replacement have
    /// theirs, and would else be far too deep.
    fn let_only_alone(
        &mut self,
        place: &Matched<'_>,
        replacement: &[PayloadLine<'_>],
    ) -> Result<(), Doubt> {
        let ([(search, file)], [first, next, ..]) = (self.pairs.as_slice(), replacement) else {
            return Ok(());
        };
        let is_lost = search.is_empty() && !file.is_empty() && first.indent.is_empty();
        if !is_lost || replacement.iter().all(|line| line.indent.is_empty()) {
            return Ok(());
        }
        let style = Style::of(place.file);
        let own = replacement
            .iter()
            .map(|line| (plain(line.indent), line.body));
        let shifted: Vec<_> = own
            .clone()
            .map(|(own, body)| (file.clone() + &own, body))
            .collect();
        let mut alone: Vec<_> = own.collect();
        alone[0].0.clone_from(file);
        match style.oddities(&shifted).cmp(&style.oddities(&alone)) {
            Ordering::Greater => {
                self.set_first_apart();
                Ok(())
            }
            Ordering::Equal if !next.indent.is_empty() && !opens(first.body) => {
                Err(Doubt::Indentation)
            }
            Ordering::Equal | Ordering::Less => Ok(()),
        }
    }

    /// Follows the head where the tail is indented otherwise: it is short, and has lost its indentation.
    fn trust_head(
        &mut self,
        place: &Matched<'_>,
        search: &[PayloadLine<'_>],
        begins: impl Fn(usize) -> bool,
    ) {
        let counted = (0..search.len()).filter(|i| begins(*i));
        let heads = counted
            .filter(|i| search[*i].number < place.copied.start)
            .count();
        let ways = Reindent::between(&self.pairs[..heads]);
        if heads > 0 && !ways.is_empty() {
            self.pairs.truncate(heads);
            self.ways = ways;
        }
    }

    /// Leaves of several ways that lead to different places those that lead somewhere for all lines of the replacement,
    /// and by which these grow as the file's lines do.
    fn choose(&mut self, place: &Matched<'_>, replacement: &[String]) {
        let leads = |way: &Reindent| {
            let indents = replacement.iter();
            indents.map(|r| way.lead(r)).collect::<Option<Vec<_>>>()
        };
        let differ = |ways: &[Reindent]| {
            let all: HashSet<_> = ways.iter().map(leads).collect();
            all.len() > 1
        };
        let leave = |ways: &mut Vec<Reindent>, is_good: &dyn Fn(&Reindent) -> bool| {
            if differ(ways) && ways.iter().any(is_good) {
                ways.retain(is_good);
            }
        };
        leave(&mut self.ways, &|way| leads(way).is_some());
        if !differ(&self.ways) {
            return;
        }
        let file = self.pairs.iter().map(|(_, file)| file.as_str());
        let file: Vec<&str> = file.collect();
        let step = Style::of(place.file).step_near(&file);
        let grows = |way: &Reindent| {
            let led = leads(way).unwrap_or_default();
            let all = file.iter().copied().chain(led.iter().map(String::as_str));
            step.is_none_or(|step| smallest_step(all) == step)
        };
        // Where a tab of the usual width explains the lines and the file's step speaks against it, nobody knows.
        let usual = |way: &&Reindent| {
            matches!(
                way,
                Reindent::Tabs {
                    width: TAB,
                    more: 0
                }
            )
        };
        let usual = self.ways.iter().find(usual).cloned();
        leave(&mut self.ways, &grows);
        if let Some(usual) = usual.filter(|usual| !self.ways.contains(usual)) {
            self.ways.push(usual);
            return;
        }
        let mixes = |way: &Reindent| {
            let led = leads(way).unwrap_or_default();
            led.iter()
                .any(|indent| indent.contains('\t') && indent.ends_with(' '))
        };
        let is_mixed = file
            .iter()
            .any(|indent| indent.contains('\t') && indent.ends_with(' '));
        leave(&mut self.ways, &|way| is_mixed || !mixes(way));
        leave(&mut self.ways, &Reindent::is_plain);
    }

    /// Returns whether lines that the search text indents alike are alike in the file.
    fn is_function(&self) -> bool {
        let distinct: HashSet<_> = self.pairs.iter().collect();
        let searched: HashSet<_> = self.pairs.iter().map(|(search, _)| search).collect();
        distinct.len() == searched.len()
    }

    /// Decides about a replacement that may have been written with the file's indentation where the search text was not.
    fn compare(
        &mut self,
        merge: &Merge<'_, '_, '_>,
        begins: impl Fn(usize) -> bool,
    ) -> Result<(), Doubt> {
        let (place, replacement) = (merge.place, &merge.new.lines);
        let only = merge.search.lines.len() == 1;
        let kept = kept_indents(merge, begins);
        let mut indents: Vec<String> = replacement.iter().map(|line| plain(line.indent)).collect();
        let shallowest = |lengths: &mut dyn Iterator<Item = usize>| lengths.min().unwrap_or(0);
        let low = shallowest(&mut indents.iter().map(String::len));
        let searched = shallowest(&mut self.pairs.iter().map(|(search, _)| search.len()));
        let of_file = shallowest(&mut self.pairs.iter().map(|(_, file)| file.len()));
        let weight = |is: fn(&KeptIndent<'_>) -> bool| -> usize {
            let lines = kept.iter().filter(|line| is(line));
            lines.map(|line| line.weight).sum()
        };
        let as_file = weight(|line| line.new == line.file);
        let as_search = weight(|line| line.new == line.search);
        if as_file > as_search && low >= of_file {
            let depths: HashSet<_> = kept.iter().map(|line| line.file).collect();
            let is_own = kept.iter().all(|line| line.new == line.file)
                && (only || self.is_unsure && depths.len() > 1);
            if low != searched && !is_own {
                return Err(Doubt::Moved);
            }
            let is_literal =
                low != searched || low == of_file && self.is_better_as_it_is(place, &indents)?;
            if is_literal {
                (self.is_literal, self.is_unsure) = (true, false);
            }
            return Ok(());
        }
        // A line without its indentation says nothing of a first one that has some.
        let first = replacement.first().map_or("", |line| line.indent);
        let mut pairs = self.pairs.iter();
        let is_bare = pairs.all(|(search, file)| search.is_empty() && !file.is_empty());
        let is_other_line = only && is_bare && !first.is_empty();
        // Lines are wrapped by one that stays where they were; all of them deeper is another spelling. So is a replacement
        // that is as shallow as the file, and not as the search text.
        let is_deeper = !only && !kept.is_empty() && low > searched && as_search == 0;
        let is_odd = self.is_better_as_it_is(place, &indents) == Ok(true);
        indents.sort_by_key(String::len);
        let lowest = indents.first().map_or("", String::as_str);
        let is_as_shallow = (as_file > 0 || kept.is_empty())
            && low != searched
            && low == of_file
            && self.pairs.iter().any(|(_, file)| file == lowest);
        if is_other_line || is_deeper || is_as_shallow || is_odd {
            Err(Doubt::Moved)
        } else {
            Ok(())
        }
    }

    /// Returns whether the replacement grows as the file does where it stands as it is, and not where it is led. Where both
    /// do, or neither does, nobody knows.
    fn is_better_as_it_is(&self, place: &Matched<'_>, as_it_is: &[String]) -> Result<bool, Doubt> {
        let led = as_it_is.iter().map(|indent| self.lead(indent, false));
        let Ok(led) = led.collect::<Result<Vec<_>, _>>() else {
            return Err(Doubt::Indentation);
        };
        let Some(step) = Style::of(place.file).step_near(&[]) else {
            return Err(Doubt::Moved);
        };
        let odd = |indents: &[String]| {
            let widths = indents
                .iter()
                .filter_map(|indent| reindent::columns(indent, TAB));
            let widths: Vec<usize> = widths.collect();
            let pairs = widths.windows(2);
            pairs
                .filter(|pair| pair[1] > pair[0] && pair[1] - pair[0] != step)
                .count()
        };
        match odd(as_it_is).cmp(&odd(&led)) {
            Ordering::Less => Ok(true),
            Ordering::Greater => Ok(false),
            Ordering::Equal => Err(Doubt::Moved),
        }
    }

    /// The indentation in the file of a line that the replacement indents like this. `is_first`: it is the replacement's
    /// first.
    pub(super) fn lead(&self, indent: &str, is_first: bool) -> Result<String, Doubt> {
        let indent = plain(indent);
        if let Some(within) = &self.within {
            // Lines that are added inside a line are as deep as it, or nobody knows how deep.
            let is_as_deep = indent.starts_with(within.as_str());
            return is_as_deep.then_some(indent).ok_or(Doubt::Indentation);
        }
        if self.is_literal {
            return Ok(indent);
        }
        if let (true, Some((search, file))) = (is_first, &self.first) {
            let is_its = indent == *search || indent == *file;
            return Ok(if is_its { file.clone() } else { indent });
        }
        let seen = self.seen.get(&indent).and_then(Option::as_ref);
        if let Some(file) = seen.filter(|_| !self.is_unsure) {
            return Ok(file.clone());
        }
        let led = self.ways.iter().filter_map(|way| way.lead(&indent));
        let mut led = led.collect::<HashSet<_>>().into_iter();
        match (led.next(), led.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(Doubt::Indentation),
        }
    }
}

/// The indentations, other than in the search text, of lines that the replacement has as well.
fn kept_indents<'m>(
    merge: &'m Merge<'_, '_, '_>,
    begins: impl Fn(usize) -> bool,
) -> Vec<KeptIndent<'m>> {
    let (search, found, new) = (&merge.search.lines, &merge.found.lines, &merge.new.lines);
    let only = search.len() == 1;
    let mut pairs = merge.pairing.in_order();
    pairs.retain(|(j, i)| begins(*i) && (only || search[*i].key == new[*j].key));
    if only && begins(0) && !new.is_empty() && merge.pairing.line_of(0).is_none() {
        pairs.push((0, 0));
    }
    let kept = pairs.into_iter().map(|(j, i)| KeptIndent {
        search: search[i].indent,
        file: found[i].indent,
        new: plain(new[j].indent),
        weight: search[i].key.chars().take(12).count(),
    });
    kept.filter(|line| line.search != line.file).collect()
}

/// Makes spaces of what a page put in their place.
fn plain(indent: &str) -> String {
    let visible = indent.chars().filter(|c| c.is_whitespace());
    visible.map(|c| if c == '\t' { c } else { ' ' }).collect()
}

/// The smallest step between indentations of different depths.
pub(in crate::edit) fn smallest_step<'t>(indents: impl Iterator<Item = &'t str>) -> usize {
    let mut widths: Vec<usize> = indents
        .filter_map(|indent| reindent::columns(indent, TAB))
        .collect();
    widths.sort_unstable();
    widths.dedup();
    let steps = widths.windows(2).map(|pair| pair[1] - pair[0]);
    steps.min().unwrap_or(0)
}
