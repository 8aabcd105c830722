//! What pages, terminals and habits of models do to a search text and its replacement, each as a pure function.
//!
//! Damage can lose what nobody can know again. So each kind says of the edit before it is damaged what it would lose:
//!
//! - A kind whose damaged form can be told from the file (curly for straight quotes, tabs shown as spaces) loses what the
//!   damaged form had already stood for: where a line has curly quotes already, nobody knows which are the page's.
//! - A kind that forgets (blanks collapsed to one) loses what it takes from a line that search text and replacement do
//!   not both have, for the file shows only what both have.
//! - Blank lines are lost where they come, go, or stand beside what changes.
//! - Indentation is lost where nothing is left of it in an indented place, and where only one side is damaged.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::edits::{Edit, Payload, joined};
use crate::chance::Chance;

/// A kind of damage.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The order in which two of them happen; two that are the same habit never happen together.
    pub(crate) stage: Stage,
    /// Which payloads have it.
    pub(crate) side: Side,
    damage: Damage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    LeftOut,
    Wrapping,
    BlankLines,
    Inside,
    Quotes,
    Dashes,
    Dots,
    ZeroWidth,
    Trailing,
    Tabs,
    Unit,
    Indentation,
    FirstLine,
    NoBreakIndentation,
    Escapes,
    Entities,
    Numbers,
    Fence,
    LineEnds,
    Form,
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Both,
    /// The replacement is as it should be.
    Search,
    /// The lines that only the replacement has are as they should be.
    Kept,
}

/// Changes one line; nothing where it cannot.
type Line = fn(&str) -> Option<String>;
/// Whether a line is so.
type Is = fn(&str) -> bool;

#[derive(Clone, Copy)]
enum Damage {
    /// Line by line. Loses something where a line that is damaged is so already.
    Told(Line, Is),
    /// Line by line. Loses what it takes from a line that is not in both.
    Forgets(Line),
    /// Indentation, line by line. Loses something where a line is so already.
    Indents(Line, Is),
    Whole(fn(&Edit, &mut Chance) -> Option<(Edit, Lost)>),
}

/// What cannot be known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lost {
    /// White space or typography of lines that the replacement brings.
    pub(crate) spelling: bool,
    /// Where blank lines are.
    pub(crate) blank_lines: bool,
    /// Indentation: what is written must be right all the same, or refused.
    pub(crate) indentation: bool,
}

impl Lost {
    const NOTHING: Self = Self {
        spelling: false,
        blank_lines: false,
        indentation: false,
    };

    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            spelling: self.spelling || other.spelling,
            blank_lines: self.blank_lines || other.blank_lines,
            indentation: self.indentation || other.indentation,
        }
    }

    fn spelling(spelling: bool) -> Self {
        Self {
            spelling,
            ..Self::NOTHING
        }
    }

    fn indentation(indentation: bool) -> Self {
        Self {
            indentation,
            ..Self::NOTHING
        }
    }

    fn blank_lines(blank_lines: bool) -> Self {
        Self {
            blank_lines,
            ..Self::NOTHING
        }
    }
}

impl Kind {
    /// The edit damaged, and what is lost; nothing where this changes nothing of the search text, for then the reply is
    /// another edit.
    pub(crate) fn damage(&self, edit: &Edit, chance: &mut Chance) -> Option<(Edit, Lost)> {
        let (mut damaged, lost) = match self.damage {
            Damage::Told(line, already) => {
                let mut lines = edit.search.text.lines().chain(edit.replace.text.lines());
                let lost = match self.side {
                    Side::Both => lines.any(already),
                    // What is meant on a new line looks like the damage of the others.
                    Side::Kept => {
                        let known: Vec<&str> = edit.search.lines();
                        let new = edit
                            .replace
                            .text
                            .lines()
                            .filter(|line| !known.contains(line));
                        new.into_iter().any(already)
                    }
                    Side::Search => false,
                };
                (self.by_line(edit, line)?, Lost::spelling(lost))
            }
            Damage::Forgets(line) => {
                let lost = own_lines(edit, self.side)
                    .iter()
                    .any(|own| line(own).is_none_or(|damaged| damaged != **own));
                (self.by_line(edit, line)?, Lost::spelling(lost))
            }
            Damage::Indents(line, already) => {
                let mut lines = edit.search.text.lines().chain(edit.replace.text.lines());
                let lost = self.side == Side::Search || lines.any(already);
                (self.by_line(edit, line)?, Lost::indentation(lost))
            }
            Damage::Whole(damage) => damage(edit, chance)?,
        };
        let mut lost = lost;
        if self.side == Side::Search {
            damaged.replace = edit.replace.clone();
            // A block that is to be moved looks alike.
            lost.indentation |= (Stage::Tabs..=Stage::FirstLine).contains(&self.stage);
        }
        let changed = damaged.search != edit.search || damaged.file != edit.file;
        (changed && !damaged.search.text.trim().is_empty()).then_some((damaged, lost))
    }

    fn by_line(&self, edit: &Edit, line: Line) -> Option<Edit> {
        let known: Vec<&str> = edit.search.lines();
        let each = |text: &str, all: bool| -> Option<String> {
            text.lines()
                .map(|own| match all || known.contains(&own) {
                    true => line(own).map(|damaged| damaged + "\n"),
                    false => Some(format!("{own}\n")),
                })
                .collect()
        };
        let mut damaged = edit.clone();
        damaged.search.text = each(&edit.search.text, true)?;
        damaged.replace.text = each(&edit.replace.text, self.side != Side::Kept)?;
        Some(damaged)
    }
}

/// The lines that search text and replacement do not both have, but for those that the damage leaves alone.
fn own_lines(edit: &Edit, side: Side) -> Vec<&str> {
    let (search, replace) = (edit.search.lines(), edit.replace.lines());
    let gone = search.iter().filter(|line| !replace.contains(line));
    let new = replace.iter().filter(|line| !search.contains(line));
    match side {
        Side::Both => gone.chain(new).copied().collect(),
        Side::Search | Side::Kept => gone.copied().collect(),
    }
}

/// Every kind.
pub(crate) fn all() -> Vec<Kind> {
    use Damage::{Forgets, Indents, Told, Whole};
    use Stage as S;
    let both = |name, stage, damage| Kind {
        name,
        stage,
        side: Side::Both,
        damage,
    };
    let mut kinds = vec![
        both("left out by ...", S::LeftOut, Whole(left_out_by_dots)),
        both(
            "left out by a comment",
            S::LeftOut,
            Whole(left_out_by_words),
        ),
        both("wrapped at a comma", S::Wrapping, Whole(wrapped)),
        both("joined at a comma", S::Wrapping, Whole(unwrapped)),
        both("blank lines removed", S::BlankLines, Whole(no_blank_lines)),
        both("blank lines doubled", S::BlankLines, Whole(two_blank_lines)),
        both("blank lines around", S::BlankLines, Whole(blank_edges)),
        both("blanks collapsed", S::Inside, Forgets(collapsed)),
        both(
            "NBSP inside",
            S::Inside,
            Told(no_break_inside, has_no_break),
        ),
        both("curly for straight", S::Quotes, Told(curly, has_curly)),
        both("straight for curly", S::Quotes, Forgets(straight)),
        both("en dash for hyphen", S::Dashes, Told(en_dashes, has_dash)),
        both("em dash for hyphen", S::Dashes, Told(em_dashes, has_dash)),
        both("hyphen for dash", S::Dashes, Forgets(hyphens)),
        both("ellipsis for dots", S::Dots, Told(ellipsis, has_ellipsis)),
        both("dots for ellipsis", S::Dots, Forgets(three_dots)),
        both(
            "zero-width put in",
            S::ZeroWidth,
            Told(zero_width, has_zero_width),
        ),
        both(
            "trailing on all lines",
            S::Trailing,
            Told(trailing, has_trailing),
        ),
        both(
            "trailing on some lines",
            S::Trailing,
            Told(some_trailing, has_trailing),
        ),
        both("trailing lost", S::Trailing, Forgets(no_trailing)),
        both("tabs to 8", S::Tabs, Indents(spaces::<8>, is_aligned::<8>)),
        both("tabs to 4", S::Tabs, Indents(spaces::<4>, is_aligned::<4>)),
        both("tabs to 2", S::Tabs, Indents(spaces::<2>, is_aligned::<2>)),
        both("8 to tabs", S::Tabs, Indents(tabs::<8>, starts_with_tab)),
        both("4 to tabs", S::Tabs, Indents(tabs::<4>, starts_with_tab)),
        both("2 to tabs", S::Tabs, Indents(tabs::<2>, starts_with_tab)),
        both("unit 4 to 2", S::Unit, Indents(halved, never)),
        both("unit 2 to 4", S::Unit, Indents(doubled, never)),
        both("dedented", S::Indentation, Whole(dedented)),
        both("shifted by 2", S::Indentation, Indents(shifted::<2>, never)),
        both("shifted by 4", S::Indentation, Indents(shifted::<4>, never)),
        both("shifted by 8", S::Indentation, Indents(shifted::<8>, never)),
        both("indentation lost", S::Indentation, Whole(flat)),
        both("first line's lost", S::FirstLine, Whole(first_line)),
        both(
            "NBSP as indentation",
            S::NoBreakIndentation,
            Told(no_break_indentation, has_no_break),
        ),
        both("CRLF payload", S::LineEnds, Whole(crlf_payload)),
        both("JSON escapes", S::Escapes, Whole(escapes)),
        both("JSON escapes inline", S::Escapes, Whole(inline_escapes)),
        both("entities", S::Entities, Whole(entities)),
        both(
            "entities but quotes",
            S::Entities,
            Whole(entities_but_quotes),
        ),
        both(
            "numbers with a colon",
            S::Numbers,
            Whole(|e, c| numbered(e, c, ": ")),
        ),
        both(
            "numbers with a bar",
            S::Numbers,
            Whole(|e, c| numbered(e, c, " | ")),
        ),
        both(
            "numbers with a tab",
            S::Numbers,
            Whole(|e, c| numbered(e, c, "\t")),
        ),
        both("fence", S::Fence, Whole(|e, _| fenced(e, ""))),
        both(
            "fence with a word",
            S::Fence,
            Whole(|e, _| fenced(e, "text")),
        ),
        both("inline", S::Form, Whole(inline)),
        both("CRLF file", S::File, Whole(crlf_file)),
    ];
    let one_sided = [
        S::BlankLines,
        S::Inside,
        S::Quotes,
        S::Dashes,
        S::Dots,
        S::ZeroWidth,
        S::Trailing,
        S::Tabs,
        S::Unit,
        S::Indentation,
        S::FirstLine,
        S::NoBreakIndentation,
        S::LineEnds,
        S::Escapes,
        S::Entities,
        S::Numbers,
        S::Fence,
        S::Form,
    ];
    let of_lines = [
        S::Inside,
        S::Quotes,
        S::Dashes,
        S::Dots,
        S::ZeroWidth,
        S::Trailing,
        S::Tabs,
        S::NoBreakIndentation,
    ];
    for (side, stages) in [(Side::Search, &one_sided[..]), (Side::Kept, &of_lines)] {
        let again: Vec<Kind> = kinds
            .iter()
            .filter(|kind| kind.side == Side::Both && stages.contains(&kind.stage))
            // A blank line there that the file has, too, would be one to remove.
            .filter(|kind| kind.name != "blank lines around")
            .map(|kind| Kind { side, ..*kind })
            .collect();
        kinds.extend(again);
    }
    kinds
}

// ------------------------------------------------------------------ left-out lines

fn left_out_by_dots(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    left_out(edit, "...")
}

fn left_out_by_words(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let hash = [".py", "akefile", ".yml", ".sh", ".toml"];
    let path = edit.name.split(':').next().unwrap_or_default();
    let mark = match hash.iter().any(|end| path.ends_with(end)) {
        true => "#",
        false => "//",
    };
    left_out(edit, &format!("{mark} ... existing code ..."))
}

/// A line from further up in the file, then what stands for the lines up to the search text.
fn left_out(edit: &Edit, line: &str) -> Option<(Edit, Lost)> {
    const UP: usize = 6;
    let at = edit.file.find(&edit.search.text)?;
    let above: Vec<&str> = edit.file[..at].lines().collect();
    let first = above.iter().rev().nth(UP)?;
    let has_dots = |text: &str| text.contains("...") || text.contains('…');
    if first.trim().is_empty() || has_dots(&edit.search.text) || has_dots(&edit.replace.text) {
        return None;
    }
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        payload.text = format!("{first}\n{line}\n{}", payload.text);
    }
    Some((damaged, Lost::NOTHING))
}

// ------------------------------------------------------------------ lines wrapped and joined

fn wrapped(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let (search, replace) = (edit.search.lines(), edit.replace.lines());
    let once = |lines: &[&str], line| lines.iter().filter(|other| **other == line).count() == 1;
    let line = kept_runs(edit).into_iter().flatten().find_map(|number| {
        let line = search[number];
        (line.contains(", ") && once(&search, line) && once(&replace, line)).then_some(line)
    })?;
    let (head, tail) = line.rsplit_once(", ")?;
    if head.trim().is_empty() || tail.trim().is_empty() {
        return None;
    }
    let broken = format!("{head},\n{}    {tail}", indentation(line));
    Some((in_both(edit, line, &broken), Lost::NOTHING))
}

fn unwrapped(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let lines = edit.search.lines();
    let pair = kept_runs(edit).into_iter().find_map(|run| {
        run.clone().skip(1).find_map(|n| {
            let (first, second) = (lines[n - 1], lines[n]);
            let fits = first.ends_with(',') && !second.trim().is_empty();
            fits.then(|| {
                (
                    format!("{first}\n{second}"),
                    format!("{first} {}", second.trim_start()),
                )
            })
        })
    });
    let (two, one) = pair?;
    let once = |text: &str| format!("\n{text}").matches(&format!("\n{two}\n")).count() == 1;
    (once(&edit.search.text) && once(&edit.replace.text))
        .then(|| (in_both(edit, &two, &one), Lost::NOTHING))
}

/// The edit with other whole lines for these.
fn in_both(edit: &Edit, lines: &str, others: &str) -> Edit {
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        let text = format!("\n{}", payload.text);
        payload.text =
            text.replacen(&format!("\n{lines}\n"), &format!("\n{others}\n"), 1)[1..].to_owned();
    }
    damaged
}

/// The lines of the search text that stay, as runs of their numbers.
fn kept_runs(edit: &Edit) -> Vec<std::ops::Range<usize>> {
    let runs = changes(edit).into_iter().filter_map(|change| match change {
        DiffOp::Equal { old_index, len, .. } => Some(old_index..old_index + len),
        _ => None,
    });
    runs.collect()
}

fn changes(edit: &Edit) -> Vec<DiffOp> {
    capture_diff_slices(
        Algorithm::Myers,
        &edit.search.lines(),
        &edit.replace.lines(),
    )
}

// ------------------------------------------------------------------ blank lines

fn no_blank_lines(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let (search, replace) = (edit.search.lines(), edit.replace.lines());
    let blank = |line: &&str| line.trim().is_empty();
    // Beside what changes, too: which side of a new line a blank one was on is gone.
    let around = |range: std::ops::Range<usize>, lines: &[&str]| {
        let from = range.start.saturating_sub(1);
        lines[from..(range.end + 1).min(lines.len())]
            .iter()
            .any(blank)
    };
    let lost = changes(edit).into_iter().any(|change| {
        !matches!(change, DiffOp::Equal { .. })
            && (around(change.old_range(), &search) || around(change.new_range(), &replace))
    });
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        let lines: Vec<&str> = payload.text.lines().filter(|line| !blank(line)).collect();
        payload.text = joined(&lines);
    }
    Some((damaged, Lost::blank_lines(lost)))
}

fn two_blank_lines(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let blank = |line: &&&str| line.trim().is_empty();
    let (search, replace) = (edit.search.lines(), edit.replace.lines());
    let more = search.iter().filter(blank).count() != replace.iter().filter(blank).count();
    let new = changes(edit).into_iter().any(|change| {
        !matches!(change, DiffOp::Equal { .. })
            && replace[change.new_range()].iter().any(|line| blank(&line))
    });
    let lost = more || new;
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        let lines = payload.text.lines();
        payload.text = lines
            .map(|line| match line.trim().is_empty() {
                true => format!("{line}\n{line}\n"),
                false => format!("{line}\n"),
            })
            .collect();
    }
    Some((damaged, Lost::blank_lines(lost)))
}

fn blank_edges(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        payload.text = format!("\n{}\n", payload.text);
    }
    Some((damaged, Lost::NOTHING))
}

// ------------------------------------------------------------------ inside lines

/// The indentation of a line, what it says, and the white space behind that.
fn cut(line: &str) -> (&str, &str, &str) {
    let body = line.trim_start();
    let (indentation, said) = (&line[..line.len() - body.len()], body.trim_end());
    (indentation, said, &body[said.len()..])
}

fn indentation(line: &str) -> &str {
    cut(line).0
}

fn inside(line: &str, change: impl FnOnce(&str) -> String) -> Option<String> {
    let (indentation, said, trailing) = cut(line);
    Some(format!("{indentation}{}{trailing}", change(said)))
}

fn collapsed(line: &str) -> Option<String> {
    inside(line, |said| {
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

fn no_break_inside(line: &str) -> Option<String> {
    inside(line, |said| said.replace(' ', "\u{A0}"))
}

fn curly(line: &str) -> Option<String> {
    let mut before = ' ';
    let mut turn = |c: char| {
        let opens = before.is_whitespace() || "([{<=".contains(before);
        before = c;
        match (c, opens) {
            ('"', true) => '“',
            ('"', false) => '”',
            ('\'', true) => '‘',
            ('\'', false) => '’',
            (c, _) => c,
        }
    };
    Some(line.chars().map(&mut turn).collect())
}

fn straight(line: &str) -> Option<String> {
    Some(line.replace(['“', '”'], "\"").replace(['‘', '’'], "'"))
}

fn en_dashes(line: &str) -> Option<String> {
    Some(line.replace('-', "–"))
}

fn em_dashes(line: &str) -> Option<String> {
    Some(line.replace('-', "—"))
}

fn hyphens(line: &str) -> Option<String> {
    Some(line.replace(['–', '—'], "-"))
}

fn ellipsis(line: &str) -> Option<String> {
    Some(line.replace("...", "…"))
}

fn three_dots(line: &str) -> Option<String> {
    Some(line.replace('…', "..."))
}

/// One behind the first letter of every other line, and one behind each comma.
fn zero_width(line: &str) -> Option<String> {
    inside(line, |said| {
        let first = said.chars().next().map_or(0, char::len_utf8);
        let mark = if said.len() % 2 == 0 && first > 0 {
            "\u{200B}"
        } else {
            ""
        };
        format!(
            "{}{mark}{}",
            &said[..first],
            said[first..].replace(',', ",\u{200B}")
        )
    })
}

fn trailing(line: &str) -> Option<String> {
    Some(format!("{line}  "))
}

fn some_trailing(line: &str) -> Option<String> {
    Some(match line.len() % 2 {
        0 => line.to_owned(),
        _ => format!("{line} "),
    })
}

fn no_trailing(line: &str) -> Option<String> {
    Some(line.trim_end().to_owned())
}

fn has_no_break(line: &str) -> bool {
    line.contains('\u{A0}')
}

fn has_curly(line: &str) -> bool {
    line.contains(['“', '”', '‘', '’'])
}

fn has_dash(line: &str) -> bool {
    line.contains(['–', '—'])
}

fn has_ellipsis(line: &str) -> bool {
    line.contains('…')
}

fn has_zero_width(line: &str) -> bool {
    line.contains('\u{200B}')
}

fn has_trailing(line: &str) -> bool {
    line.ends_with(char::is_whitespace)
}

fn never(_: &str) -> bool {
    false
}

// ------------------------------------------------------------------ indentation

fn reindented(line: &str, change: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let (indentation, said, trailing) = cut(line);
    if said.is_empty() {
        return Some(line.to_owned());
    }
    Some(change(indentation)? + said + trailing)
}

fn spaces<const WIDTH: usize>(line: &str) -> Option<String> {
    reindented(line, |own| Some(own.replace('\t', &" ".repeat(WIDTH))))
}

/// Each so many spaces from the left a tab.
fn tabs<const WIDTH: usize>(line: &str) -> Option<String> {
    reindented(line, |own| Some(own.replace(&" ".repeat(WIDTH), "\t")))
}

/// Spaces that would be tabs if tabs were that wide.
fn is_aligned<const WIDTH: usize>(line: &str) -> bool {
    let there_and_back = spaces::<WIDTH>(line).and_then(|line| tabs::<WIDTH>(&line));
    there_and_back.is_none_or(|back| back != line)
}

fn starts_with_tab(line: &str) -> bool {
    indentation(line).contains('\t')
}

fn halved(line: &str) -> Option<String> {
    reindented(line, |own| {
        let fits = own.len() % 4 == 0 && !own.contains('\t');
        fits.then(|| " ".repeat(own.len() / 2))
    })
}

fn doubled(line: &str) -> Option<String> {
    reindented(line, |own| {
        let fits = own.len() % 2 == 0 && !own.contains('\t');
        fits.then(|| " ".repeat(own.len() * 2))
    })
}

fn shifted<const BY: usize>(line: &str) -> Option<String> {
    reindented(line, |own| Some(" ".repeat(BY) + own))
}

fn no_break_indentation(line: &str) -> Option<String> {
    reindented(line, |own| Some(own.replace(' ', "\u{A0}")))
}

fn dedented(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let mut lines = edit.search.lines();
    lines.extend(edit.replace.lines());
    lines.retain(|line| !line.trim().is_empty());
    let first = indentation(lines.first()?);
    let least = lines.iter().fold(first, |least, line| {
        let same = least.bytes().zip(line.bytes()).take_while(|(a, b)| a == b);
        &least[..same.count()]
    });
    let without = |payload: &Payload| -> Payload {
        let lines = payload.text.lines();
        let each = lines.map(|line| format!("{}\n", line.strip_prefix(least).unwrap_or_default()));
        Payload::block(each.collect())
    };
    let mut damaged = edit.clone();
    damaged.search = without(&edit.search);
    damaged.replace = without(&edit.replace);
    // One depth and no indentation: so looks a text that lost all of it.
    let mut left = damaged
        .search
        .text
        .lines()
        .chain(damaged.replace.text.lines());
    let lost = !left.any(|line| !indentation(line).is_empty());
    Some((damaged, Lost::indentation(lost)))
}

fn flat(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        let lines = payload.text.lines();
        payload.text = lines
            .map(|line| format!("{}\n", line.trim_start()))
            .collect();
    }
    Some((damaged, Lost::indentation(true)))
}

fn first_line(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let (search, replace) = (edit.search.lines(), edit.replace.lines());
    let lost = indentation(search.first()?) != indentation(replace.first()?);
    let mut damaged = edit.clone();
    for payload in [&mut damaged.search, &mut damaged.replace] {
        payload.text = payload.text.trim_start_matches([' ', '\t']).to_owned();
    }
    Some((damaged, Lost::indentation(lost)))
}

// ------------------------------------------------------------------ the payload as a whole

fn crlf_payload(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    on_both(edit, |payload| {
        let text = payload.text.replace('\n', "\r\n");
        Some(Payload { text, ..*payload })
    })
}

fn escapes(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    on_both(edit, |payload| {
        Some(Payload::block(escaped(&payload.text)? + "\n"))
    })
}

fn inline_escapes(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    // A text without anything to escape is found as it is.
    let body = edit.search.text.strip_suffix('\n')?;
    if escaped(&edit.search.text)? == body {
        return None;
    }
    let (damaged, lost) = on_both(edit, |payload| {
        let text = escaped(&payload.text)?;
        Some(Payload { text, inline: true })
    })?;
    // White space at the end of inline text is none at the end of a line.
    Some((damaged, lost.or(Lost::spelling(has_trailing(body)))))
}

/// The lines in one, as in a string of JSON.
fn escaped(text: &str) -> Option<String> {
    let text = text.strip_suffix('\n')?;
    let quoted = serde_json::Value::from(text).to_string();
    let within = quoted.strip_prefix('"')?.strip_suffix('"')?;
    Some(within.to_owned())
}

fn entities(edit: &Edit, chance: &mut Chance) -> Option<(Edit, Lost)> {
    let (mut damaged, lost) = entities_but_quotes(edit, chance)?;
    for payload in [&mut damaged.search, &mut damaged.replace] {
        payload.text = payload.text.replace('"', "&quot;").replace('\'', "&#39;");
    }
    Some((damaged, lost))
}

fn entities_but_quotes(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    on_both(edit, |payload| {
        let text = payload.text.replace('&', "&amp;");
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        Some(Payload { text, ..*payload })
    })
}

fn numbered(edit: &Edit, chance: &mut Chance, mark: &str) -> Option<(Edit, Lost)> {
    let first = 1 + chance.below(400);
    on_both(edit, |payload| {
        let lines = (first..).zip(payload.text.lines());
        let text = lines.map(|(number, line)| format!("{number}{mark}{line}\n"));
        (!payload.inline).then(|| Payload::block(text.collect()))
    })
}

fn fenced(edit: &Edit, word: &str) -> Option<(Edit, Lost)> {
    on_both(edit, |payload| {
        let text = format!("```{word}\n{}```\n", payload.text);
        (!payload.inline).then(|| Payload::block(text))
    })
}

fn inline(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    on_both(edit, |payload| {
        let text = payload.text.strip_suffix('\n')?;
        let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
        Some(Payload { text, inline: true })
    })
}

/// Without an empty payload, which says nothing that could be damaged.
fn on_both(edit: &Edit, damage: impl Fn(&Payload) -> Option<Payload>) -> Option<(Edit, Lost)> {
    if edit.replace.text.trim().is_empty() {
        return None;
    }
    let mut damaged = edit.clone();
    damaged.search = damage(&edit.search)?;
    damaged.replace = damage(&edit.replace)?;
    Some((damaged, Lost::NOTHING))
}

// ------------------------------------------------------------------ the file

fn crlf_file(edit: &Edit, _: &mut Chance) -> Option<(Edit, Lost)> {
    let mut damaged = edit.clone();
    for text in [&mut damaged.file, &mut damaged.wanted] {
        *text = text.replace('\n', "\r\n");
    }
    Some((damaged, Lost::NOTHING))
}
