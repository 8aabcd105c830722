//! A page laid out in lines of a width, for a terminal or a pipe. Writes nothing.

use unicode_width::UnicodeWidthStr;

use super::{Face, Passage, Span, plain, text_of};

/// The indentation of all but the headings.
const BODY: &str = "  ";
/// The indentation of code and of the text about a term.
const INDENT: &str = "    ";
/// The gap between the columns of a table.
const GAP: usize = 2;
/// The longest command that is never wrapped.
const UNBROKEN: usize = 40;

/// A line of some spans.
type Laid = Vec<Span>;

/// Lays out a page.
pub(in crate::cli) fn lines(page: &[Passage], width: usize) -> Vec<Vec<Span>> {
    let inside = width.saturating_sub(BODY.len());
    stacked(page, |passage| match passage {
        Passage::Heading(..) => laid_out(passage, width),
        passage => indented(laid_out(passage, inside), BODY, BODY),
    })
}

/// Text with its literals as a terminal shows them.
fn literal(spans: &[Span]) -> Vec<Span> {
    let show = |Span { face, text }: &Span| match face {
        Face::Code => Span::new(Face::Code, format!("`{text}`")),
        Face::Page => Span::new(Face::Code, format!("`clada help {text}`")),
        face => Span::new(*face, text.as_str()),
    };
    spans.iter().map(show).collect()
}

/// The lines of some blocks, with an empty one between two.
fn stacked(page: &[Passage], lay_out: impl Fn(&Passage) -> Vec<Laid>) -> Vec<Laid> {
    let mut lines: Vec<Laid> = Vec::new();
    for passage in page {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.extend(lay_out(passage));
    }
    lines
}

fn laid_out(passage: &Passage, width: usize) -> Vec<Laid> {
    match passage {
        Passage::Heading(_, spans) => wrapped(&all_bold(spans), width),
        Passage::Paragraph(spans) => wrapped(spans, width),
        Passage::Code(code) => {
            let line = |line: &str| {
                let is_blank = line.is_empty();
                let line = (!is_blank).then(|| plain(format!("{INDENT}{line}")));
                line.into_iter().collect()
            };
            code.lines().map(line).collect()
        }
        Passage::List(first, items) => list(*first, items, width),
        Passage::Table(head, rows) => table(head, rows, width),
        Passage::Quote(passages) => {
            let inside = width.saturating_sub(GAP);
            let lines = stacked(passages, |passage| laid_out(passage, inside));
            indented(lines, "  ", "  ")
        }
    }
}

fn list(first: Option<u64>, items: &[Vec<Passage>], width: usize) -> Vec<Laid> {
    let is_short = |item: &Vec<Passage>| {
        let mut passages = item.iter();
        matches!(passages.next(), Some(Passage::Paragraph(_)))
            && passages.all(|passage| matches!(passage, Passage::List(..)))
    };
    let are_short = items.iter().all(is_short);
    let mut all = Vec::new();
    for (number, item) in (first.unwrap_or_default()..).zip(items) {
        let mark = first.map_or("- ".to_owned(), |_| format!("{number}. "));
        let inside = width.saturating_sub(mark.len());
        let mut lines = stacked(item, |passage| laid_out(passage, inside));
        if are_short {
            lines.retain(|line| !line.is_empty());
        } else if !all.is_empty() {
            all.push(Vec::new());
        }
        all.extend(indented(lines, &mark, &" ".repeat(mark.len())));
    }
    all
}

/// A table in columns, where those fit; otherwise each row as a term with what is said of it below.
fn table(head: &[Vec<Span>], rows: &[Vec<Vec<Span>>], width: usize) -> Vec<Laid> {
    let bold = head.iter().map(|cell| all_bold(cell)).collect();
    let cells = rows.iter();
    let cells = cells.map(|row| row.iter().map(|cell| literal(cell)).collect());
    let mut lines: Vec<Vec<Laid>> = std::iter::once(bold).chain(cells).collect();
    let widths = (0..head.len()).map(|at| {
        let cells = lines.iter().filter_map(|row| row.get(at));
        cells.map(|cell| width_of(cell)).max().unwrap_or_default()
    });
    let widths: Vec<usize> = widths.collect();
    let whole = widths.iter().sum::<usize>() + GAP * head.len().saturating_sub(1);
    if whole > width {
        return terms(head, rows, width);
    }
    let rule = widths.iter().map(|width| vec![plain("─".repeat(*width))]);
    lines.insert(1, rule.collect());
    lines.iter().map(|row| in_columns(row, &widths)).collect()
}

fn in_columns(row: &[Vec<Span>], widths: &[usize]) -> Laid {
    let mut line = Vec::new();
    let mut blank = 0;
    for (cell, width) in row.iter().zip(widths) {
        if !cell.is_empty() {
            line.push(plain(" ".repeat(blank)));
            blank = 0;
        }
        blank += GAP + width - width_of(cell);
        line.extend_from_slice(cell);
    }
    line
}

fn terms(head: &[Vec<Span>], rows: &[Vec<Vec<Span>>], width: usize) -> Vec<Laid> {
    let inside = width.saturating_sub(INDENT.len());
    let mut all = Vec::new();
    for row in rows {
        if !all.is_empty() {
            all.push(Vec::new());
        }
        let Some((term, cells)) = row.split_first() else {
            continue;
        };
        all.extend(wrapped(&all_bold(term), width));
        for (name, cell) in head.iter().skip(1).zip(cells) {
            let lines = wrapped(&named(&literal(name), cell, head.len() > 2), inside);
            all.extend(indented(lines, INDENT, INDENT));
        }
    }
    all
}

/// A cell below its term, with its column's name where there are several.
pub(in crate::cli) fn named(name: &[Span], cell: &[Span], is_one_of_several: bool) -> Vec<Span> {
    let name = text_of(name);
    if !is_one_of_several || name.is_empty() || cell.is_empty() {
        return cell.to_vec();
    }
    let mut named = vec![plain(format!("{name}: "))];
    named.extend_from_slice(cell);
    named
}

/// Makes text bold.
fn all_bold(spans: &[Span]) -> Vec<Span> {
    let bold = |span: Span| Span::new(Face::Bold, span.text);
    literal(spans).into_iter().map(bold).collect()
}

fn width_of(spans: &[Span]) -> usize {
    text_of(spans).width()
}

fn indented(lines: Vec<Laid>, first: &str, rest: &str) -> Vec<Laid> {
    let indent = |(at, line): (usize, Laid)| {
        if line.is_empty() {
            return line;
        }
        let by = if at == 0 { first } else { rest };
        std::iter::once(plain(by)).chain(line).collect()
    };
    lines.into_iter().enumerate().map(indent).collect()
}

/// Wraps text at its blanks.
fn wrapped(spans: &[Span], width: usize) -> Vec<Laid> {
    let mut lines = Vec::new();
    let mut line: Laid = Vec::new();
    let mut used = 0;
    for word in words(&literal(spans)) {
        let long = width_of(&word);
        if used > 0 && used + 1 + long > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(plain(" "));
            used += 1;
        }
        used += long;
        line.extend(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of a text, of which each may have several faces.
fn words(spans: &[Span]) -> Vec<Laid> {
    let mut words: Vec<Laid> = Vec::new();
    let mut word: Laid = Vec::new();
    for span in spans {
        if span.face == Face::Code && span.text.width() <= UNBROKEN {
            word.push(span.clone());
            continue;
        }
        for (at, piece) in span.text.split(char::is_whitespace).enumerate() {
            if at > 0 && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if !piece.is_empty() {
                word.push(Span::new(span.face, piece));
            }
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::document::parse;

    /// The lines of a page without their faces.
    fn shown(page: &str, width: usize) -> Vec<String> {
        let lines = lines(&parse(page), width);
        lines.iter().map(|line| text_of(line)).collect()
    }

    #[test]
    fn text_is_wrapped_with_its_literals_whole() {
        let page = "# Title\n\nOne **two** three\nfour `five six seven`, and *eight*.\n\n## Next\n\n\
                    1. first of two\n2. second, which is long\n   - inside\n";
        assert_eq!(
            shown(page, 22),
            [
                "Title",
                "",
                "  One two three four",
                "  `five six seven`,",
                "  and eight.",
                "",
                "Next",
                "",
                "  1. first of two",
                "  2. second, which is",
                "     long",
                "     - inside",
            ]
        );
    }

    #[test]
    fn headings_and_strong_words_are_bold() {
        let lines = lines(&parse("# A `b`\n\n**c** d\n"), 80);
        let bold: Vec<&str> = lines
            .iter()
            .flatten()
            .filter(|span| span.face == Face::Bold)
            .map(|span| span.text.as_str())
            .collect();
        assert_eq!(bold, ["A", "`b`", "c"]);
    }

    #[test]
    fn code_is_indented_and_never_wrapped() {
        let page = "```sh\necho one two three\n\n  four\n```\n";
        let expected = ["      echo one two three", "", "        four"];
        assert_eq!(shown(page, 10), expected);
    }

    #[test]
    fn a_table_has_columns_where_they_fit_and_terms_where_not() {
        let page = "| you | `clada` |\n| --- | --- |\n| save | runs *nothing* |\n| ✅ it | runs \\| ends |\n";
        assert_eq!(
            shown(page, 30),
            [
                "  you    `clada`",
                "  ─────  ────────────",
                "  save   runs nothing",
                "  ✅ it  runs | ends",
            ]
        );
        assert_eq!(
            shown(page, 18),
            [
                "  save",
                "      runs nothing",
                "",
                "  ✅ it",
                "      runs | ends",
            ]
        );
        let page = "| a | b | c |\n| --- | --- | --- |\n| one | two | three |\n";
        assert_eq!(
            shown(page, 12),
            ["  one", "      b: two", "      c:", "      three"]
        );
    }

    #[test]
    fn links_say_where_they_lead_and_comments_are_left_out() {
        let page = "See [undo](git.md#undo), [above](#title), [Rust](https://rust-lang.org),\n\
                    <https://rust-lang.org> and [a file](../SECURITY.md).\n\n<!-- run\n\nsecret\n-->\n\n\
                    ![a picture](a.svg)\n\n<details>\n<summary>More</summary>\n\ntext\n\n</details>\n";
        assert_eq!(
            shown(page, 200),
            [
                "  See undo (`clada help git`), above, Rust (https://rust-lang.org), https://rust-lang.org and a file.",
                "",
                "  More",
                "",
                "  text",
            ]
        );
    }
}
