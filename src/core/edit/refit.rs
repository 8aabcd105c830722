//! Indents a text that takes the place of another as a whole, as the file indents what was there. Where the way is not clear
//! there is none.

use std::collections::{BTreeSet, HashMap};

use super::carry::{Reindent, smallest_step};

/// The lines of a text that say something, each with its indentation.
struct IndentedLine<'t> {
    indent: &'t str,
    text: &'t str,
}

/// Returns a text with the indentation of the one that it replaces; both begin with the start of a line. `None` where that
/// can be done in several ways, or in none.
pub fn refitted(new: &str, old: &str, file: &str) -> Option<String> {
    let old_lines = lines(old);
    let wanted = style(&old_lines).or_else(|| style(&lines(file)));
    let respelt_new = wanted.and_then(|wanted| in_style(new, wanted));
    let new = respelt_new.as_deref().unwrap_or(new);
    let new_lines = lines(new);
    let (first, base) = (new_lines.first()?, old_lines.first()?);
    let pairs = pairs(&new_lines, &old_lines);
    let ways = Reindent::between(&pairs);
    let mut texts: BTreeSet<String> = ways.iter().filter_map(|way| respelt(new, way)).collect();
    let is_same = pairs[1..].iter().all(|(new, old)| new == old);
    if is_same && first.indent != base.indent && shows_its_own(&new_lines, base.indent) {
        let start = first.text.as_ptr() as usize - new.as_ptr() as usize;
        texts.insert(
            [
                &new[..start - first.indent.len()],
                base.indent,
                &new[start..],
            ]
            .concat(),
        );
    }
    if texts.len() > 1 {
        texts.retain(|text| closes_as_it_opens(&lines(text)));
        texts.retain(|text| style(&lines(text)) == wanted);
    }
    texts.pop_first().filter(|_| texts.is_empty())
}

/// Returns a text that is put beside others, with the indentation of these.
pub fn indented_as(new: &str, indent: &str, file: &str) -> Option<String> {
    let beside = format!("{indent}x\n");
    refitted(new, &beside, file)
}

/// True if only the first line lost its indentation: those below it are deeper than it is to be, but for the last.
fn shows_its_own(lines: &[IndentedLine<'_>], base: &str) -> bool {
    let [_, rest @ .., last] = lines else {
        return false;
    };
    let is_deeper =
        |line: &IndentedLine<'_>| line.indent.len() > base.len() && line.indent.starts_with(base);
    rest.iter().all(is_deeper) && (last.indent == base && closes(last) || is_deeper(last))
}

fn closes(line: &IndentedLine<'_>) -> bool {
    line.text.starts_with(['}', ')', ']']) || line.text == "end"
}

/// True if what the last line closes was opened in the first.
fn closes_as_it_opens(lines: &[IndentedLine<'_>]) -> bool {
    let ends = lines.first().zip(lines.last());
    ends.is_none_or(|(first, last)| !closes(last) || first.indent == last.indent)
}

fn lines(text: &str) -> Vec<IndentedLine<'_>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = |line: &'_ str| line.len() - line.trim_start().len();
    lines
        .map(|it| IndentedLine {
            indent: &it[..line(it)],
            text: it[line(it)..].trim_end(),
        })
        .collect()
}

/// The indentations of lines that are the same in both texts: the first ones, the last ones if they are, and those that each
/// has only once.
fn pairs<'t>(new: &[IndentedLine<'t>], old: &[IndentedLine<'t>]) -> Vec<(&'t str, &'t str)> {
    let only = |lines: &[IndentedLine<'t>]| {
        let mut seen: HashMap<&'t str, (usize, &'t str)> = HashMap::new();
        for line in lines {
            seen.entry(line.text).or_insert((0, line.indent)).0 += 1;
        }
        seen.retain(|_, (count, _)| *count == 1);
        seen
    };
    let first = new.first().zip(old.first());
    let last = new
        .last()
        .zip(old.last())
        .filter(|(new, old)| new.text == old.text);
    let ends = [first, last].into_iter().flatten();
    let there = only(old);
    let new_only = only(new);
    let same = new
        .iter()
        .skip(1)
        .filter(|line| new_only.contains_key(line.text));
    let same = same.filter_map(|line| Some((line.indent, there.get(line.text)?.1)));
    ends.map(|(new, old)| (new.indent, old.indent))
        .chain(same)
        .collect()
}

/// A text with each of its lines indented in this way.
fn respelt(text: &str, way: &Reindent) -> Option<String> {
    let line = |line: &str| {
        let bare = line.trim_start_matches([' ', '\t']);
        if bare.trim().is_empty() {
            return Some(line.to_owned());
        }
        let indent = way.lead(&line[..line.len() - bare.len()])?;
        Some(indent + bare)
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The characters by which lines are indented, and by how many columns more at the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndentStyle {
    has_tabs: bool,
    has_blanks: bool,
    step: usize,
}

/// The way in which lines are indented; `None` where they are all alike.
fn style(lines: &[IndentedLine<'_>]) -> Option<IndentStyle> {
    let step = smallest_step(lines.iter().map(|line| line.indent));
    let has = |c: char| lines.iter().any(|line| line.indent.contains(c));
    (step > 0).then_some(IndentStyle {
        has_tabs: has('\t'),
        has_blanks: has(' '),
        step,
    })
}

/// A text with tabs for its steps of blanks, or blanks for its tabs, where the file has only the other; `None` where it is right.
fn in_style(text: &str, wanted: IndentStyle) -> Option<String> {
    let own = style(&lines(text))?;
    let respell: Box<dyn Fn(&str) -> String> = match (wanted, own) {
        (
            IndentStyle {
                has_tabs: true,
                has_blanks: false,
                ..
            },
            IndentStyle {
                has_tabs: false,
                step,
                ..
            },
        ) => Box::new(move |indent| {
            "\t".repeat(indent.len() / step) + &" ".repeat(indent.len() % step)
        }),
        (
            IndentStyle {
                has_tabs: false,
                step,
                ..
            },
            IndentStyle {
                has_tabs: true,
                has_blanks: false,
                ..
            },
        ) => Box::new(move |indent| " ".repeat(step * indent.len())),
        _ => return None,
    };
    let line = |line: &str| {
        let bare = line.trim_start_matches([' ', '\t']);
        if bare.trim().is_empty() {
            line.to_owned()
        } else {
            respell(&line[..line.len() - bare.len()]) + bare
        }
    };
    Some(text.split_inclusive('\n').map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(new: &str, old: &str, expected: Option<&str>) {
        assert_eq!(refitted(new, old, old).as_deref(), expected, "{new}");
    }

    #[test]
    fn a_definition_takes_the_indentation_of_the_one_before() {
        let old = "    def a(self):\n        return 1\n";
        let new = Some("    def a(self):\n        return 2\n");
        check("def a(self):\n    return 2\n", old, new);
        check("    def a(self):\n        return 2\n", old, new);
        check("def a(self):\n        return 2\n", old, new);
        check("        def a(self):\n            return 2\n", old, new);
    }

    #[test]
    fn tabs_and_spaces_are_taken_for_each_other() {
        check(
            "fn a() {\n    b();\n\n    c {\n        d();\n    }\n}\n",
            "\tfn a() {\n\t\tb();\n\t}\n",
            Some("\tfn a() {\n\t\tb();\n\n\t\tc {\n\t\t\td();\n\t\t}\n\t}\n"),
        );
        check(
            "a {\n\tb\n}\n",
            "  a {\n    c\n  }\n",
            Some("  a {\n    b\n  }\n"),
        );
    }

    #[test]
    fn an_indentation_that_is_not_clear_is_none() {
        check("x:\n  c\n    b\n", "    x:\n       c\n    b\n", None);
        assert_eq!(refitted("", "a\n", "a\n"), None);
    }

    #[test]
    fn what_is_put_beside_others_is_indented_like_them() {
        let file = "impl A {\n    fn a() {\n        b();\n    }\n}\n";
        let text = "fn c() {\n    d();\n}\n";
        let expected = "    fn c() {\n        d();\n    }\n";
        assert_eq!(indented_as(text, "    ", file).as_deref(), Some(expected));
        assert_eq!(
            indented_as(expected, "    ", file).as_deref(),
            Some(expected)
        );
    }
}
