//! Pictures of terminals for the README: drawn from what they show, and held against those in `tests/screenshots/`.
//!
//! `UPDATE_EXPECT=1 cargo test first_day` draws them anew (refused when `CI` is set).

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use crate::cases;

/// The size of a character and of what is around the text, in pixels.
const WIDTH: f32 = 8.4;
const HEIGHT: usize = 19;
const MARGIN: usize = 14;
const TITLE: usize = 32;

const COLOURS: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#c9d1d9",
    "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
];

/// Asserts that the picture of this name shows these terminals, one below the other: titles, and lines with escape sequences.
/// Times and the names of commits may differ.
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
  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace" font-size="14" fill="#c9d1d9" xml:space="preserve">
{drawn}</svg>
"##
    )
}

/// The parts of a line, each where a terminal shows it: those of one colour, but a character of double width alone, as fonts
/// do not agree on how wide that is.
fn spans(line: &str) -> String {
    let mut spans = String::new();
    let mut style = Style::default();
    let (mut part, mut start, mut column) = (String::new(), 0, 0);
    let mut rest = line;
    loop {
        let next = rest.chars().next();
        let sequence = rest.strip_prefix("\u{1b}[").and_then(|s| s.split_once('m'));
        let width = next.and_then(|c| c.width()).unwrap_or(0);
        if next.is_none() || sequence.is_some() || width > 1 {
            style.span(&mut spans, &part, start, column - start);
            part.clear();
            start = column;
        }
        match (sequence, next) {
            (Some((codes, behind)), _) => {
                style.change(codes);
                rest = behind;
            }
            (None, Some(c)) => {
                part.push(c);
                column += width;
                rest = &rest[c.len_utf8()..];
                if width > 1 {
                    style.span(&mut spans, &part, start, 0);
                    part.clear();
                    start = column;
                }
            }
            (None, None) => return spans,
        }
    }
}

/// One of a terminal's 256 colours: the 16, a cube with six steps a side, and greys.
fn colour(number: usize) -> String {
    let step = |n: usize| if n == 0 { 0 } else { 55 + 40 * n };
    let [red, green, blue] = match number {
        0..16 => return COLOURS[number].to_owned(),
        16..232 => [(number - 16) / 36, (number - 16) / 6 % 6, (number - 16) % 6].map(step),
        _ => [8 + 10 * (number - 232); 3],
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// What the codes from 1 on do to a text.
const MARKS: [&str; 4] = [
    r#"font-weight="bold""#,
    r#"opacity="0.6""#,
    r#"font-style="italic""#,
    r#"text-decoration="underline""#,
];

#[derive(Default)]
struct Style {
    colour: Option<String>,
    marks: [bool; MARKS.len()],
}

impl Style {
    fn change(&mut self, codes: &str) {
        let mut codes = codes.split(';').map(|code| code.parse().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1..=4 => self.marks[code - 1] = true,
                22 => self.marks[..2].fill(false),
                23 | 24 => self.marks[code - 21] = false,
                30..=37 => self.colour = Some(COLOURS[code - 30].to_owned()),
                90..=97 => self.colour = Some(COLOURS[code - 90 + 8].to_owned()),
                38 if codes.next() == Some(5) => self.colour = codes.next().map(colour),
                39 => self.colour = None,
                _ => panic!("nobody has said how to draw {code}"),
            }
        }
    }

    /// Adds a part that begins at a column; made to fill so many, if not 0.
    fn span(&self, to: &mut String, part: &str, start: usize, columns: usize) {
        if part.trim().is_empty() {
            return;
        }
        let at = |column: usize| format!("{:.1}", column as f32 * WIDTH);
        let x = MARGIN as f32 + start as f32 * WIDTH;
        let _ = write!(to, r#"<tspan x="{x:.1}""#);
        if columns > 0 {
            let _ = write!(to, r#" textLength="{}""#, at(columns));
        }
        if let Some(colour) = &self.colour {
            let _ = write!(to, r#" fill="{colour}""#);
        }
        for (mark, _) in MARKS.iter().zip(self.marks).filter(|(_, on)| *on) {
            let _ = write!(to, " {mark}");
        }
        let _ = write!(to, ">{}</tspan>", escaped(part));
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
