//! Pictures of terminals for the README: drawn from what they show, and held against those in `tests/screenshots/`.
//!
//! `UPDATE_EXPECT=1 cargo test first_day` draws them anew (refused when `CI` is set).

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cases;

/// The size of a character and of what is around the text, in pixels.
const WIDTH: f32 = 8.4;
const HEIGHT: usize = 19;
const MARGIN: usize = 14;
const TITLE: usize = 32;

/// Asserts that the picture of this name shows these terminals, one below the other: their titles and
/// lines. Times and the names of commits may differ.
pub(crate) fn check(name: &str, columns: u16, windows: &[(&str, Vec<String>)]) {
    let picture = draw(columns, windows);
    let path = cases::root().join("tests/screenshots").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        assert!(
            std::env::var_os("CI").is_none(),
            "UPDATE_EXPECT is for people, not for CI"
        );
        std::fs::write(&path, &picture).expect("write");
    }
    let readme = std::fs::read_to_string(cases::root().join("README.md")).expect("README");
    assert!(
        readme.contains(&format!("](tests/screenshots/{name})")),
        "the README does not show {name}"
    );
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        without_chance(&kept),
        without_chance(&picture),
        "UPDATE_EXPECT=1 cargo test first_day draws {name} anew"
    );
}

/// A text in which all times and all names of commits are the same.
fn without_chance(text: &str) -> Vec<String> {
    let word = |word: &str| match word.len() {
        7 if word.bytes().all(|b| b.is_ascii_hexdigit()) => "COMMIT".to_owned(),
        8 if word.matches(':').count() == 2 => "TIME".to_owned(),
        _ => word.to_owned(),
    };
    let is_between = |c: char| !c.is_alphanumeric() && c != ':';
    text.split(is_between).map(word).collect()
}

fn draw(columns: u16, windows: &[(&str, Vec<String>)]) -> String {
    let width = (f32::from(columns) * WIDTH).ceil() as usize + 2 * MARGIN;
    let mut drawn = String::new();
    let mut top = 0;
    for (title, lines) in windows {
        let height = TITLE + lines.len() * HEIGHT + MARGIN;
        let _ = writeln!(
            drawn,
            r##"<rect y="{top}" width="{width}" height="{height}" rx="8" fill="#0d1117"/>
<text x="{}" y="{}" text-anchor="middle" fill="#8b949e">{}</text>"##,
            width / 2,
            top + 20,
            escaped(title)
        );
        for (number, line) in lines.iter().enumerate() {
            let spans = spans(line);
            if !spans.is_empty() {
                let y = top + TITLE + number * HEIGHT + 14;
                let _ = writeln!(drawn, r#"<text y="{y}">{spans}</text>"#);
            }
        }
        top += height + MARGIN;
    }
    let height = top - MARGIN;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"
  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace" font-size="14" fill="#c9d1d9">
{drawn}</svg>
"##
    )
}

/// The parts of a line, each where a terminal shows it: a character of double width is one of its own, as fonts do not agree
/// on how wide that is.
fn spans(line: &str) -> String {
    let mut spans = String::new();
    let (mut part, mut start, mut column) = (String::new(), 0, 0);
    for c in line.chars() {
        let width = c.width().unwrap_or(0);
        if width > 1 {
            span(&mut spans, &part, start);
            let _ = write!(spans, r#"<tspan x="{:.1}">{c}</tspan>"#, x(column));
            part.clear();
            start = column + width;
        } else {
            part.push(c);
        }
        column += width;
    }
    span(&mut spans, &part, start);
    spans
}

/// Adds a part that begins at a column, as wide as a terminal shows it whatever the font.
fn span(to: &mut String, part: &str, start: usize) {
    let text = part.trim();
    if !text.is_empty() {
        let start = start + part.len() - part.trim_start().len();
        let length = text.width() as f32 * WIDTH;
        // Pictures show several spaces as one.
        let text = escaped(text).replace("  ", "&#160; ");
        let _ = write!(
            to,
            r#"<tspan x="{:.1}" textLength="{length:.1}">{text}</tspan>"#,
            x(start)
        );
    }
}

fn x(column: usize) -> f32 {
    MARGIN as f32 + column as f32 * WIDTH
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
