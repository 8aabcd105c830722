//! Outlines and addresses of real files in each language: `test-data/code/` has the files, `test-data/outline/` what is expected.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clada::code::{
    AddressError, CodeLanguage, FoundPlace, MOST_DEFINITIONS, Outline, OutlineStyle,
};
use clada::world::syntax;

use crate::cases::{self, Case, Verdict};

#[test]
fn cases() {
    cases::run("outline", check);
}

/// `outline PATH`, with the flag `public` for what others can use; `addresses PATH`: `NAMES: FIRST-LAST`, the lines with the lead;
/// `ends PATH`: `NAMES: LINE: TEXT`, the line in which a text is appended, up to there.
fn check(case: &Case, verdict: &mut Verdict) {
    for block in &case.blocks {
        let path = folder().join(&block.arg);
        let text = fs::read_to_string(&path).expect("a file of test-data/code");
        let Some(outline) = outline(&path, &text) else {
            continue;
        };
        let got = match block.kind.as_str() {
            "outline" => outline.text(OutlineStyle {
                only_public: block.has("public"),
            }),
            "addresses" => addresses(&outline, &text, &block.string()),
            "ends" => ends(&outline, &text, &block.string()),
            kind => panic!("{}: no kind of block: {kind}", case.name),
        };
        verdict.expect(block, got.as_bytes());
    }
}

/// What each of these addresses leads to.
fn addresses(outline: &Outline, text: &str, asked: &str) -> String {
    let mut got = String::new();
    for line in asked.lines() {
        let (names, _) = line.split_once(": ").unwrap_or((line, ""));
        let found = match outline.find(names) {
            Ok(at) => lines(outline, at, text),
            Err(AddressError::Empty) => "empty".to_owned(),
            Err(AddressError::Missing {
                part,
                within,
                nearest,
                ..
            }) => {
                let within = within.map_or(String::new(), |within| format!(" in {within}"));
                let nearest = if nearest.is_empty() {
                    String::new()
                } else {
                    format!(", but {}", listed(&nearest))
                };
                format!("no {part}{within}{nearest}")
            }
            Err(AddressError::Several { places, .. }) => listed(&places),
        };
        let _ = writeln!(got, "{names}: {found}");
    }
    got
}

/// The places where a text is appended to each of these.
fn ends(outline: &Outline, text: &str, asked: &str) -> String {
    let mut got = String::new();
    for line in asked.lines() {
        let (names, _) = line.split_once(": ").unwrap_or((line, ""));
        let at = outline.find(names).expect("a definition");
        let end = outline.definitions[at].inside_end.map_or_else(
            || "nowhere".to_owned(),
            |end| {
                let before = &text[..end];
                let line = before.matches('\n').count() + 1;
                format!(
                    "{line}: {}",
                    before.lines().last().unwrap_or_default().trim()
                )
            },
        );
        let _ = writeln!(got, "{names}: {end}");
    }
    got
}

fn listed(places: &[FoundPlace]) -> String {
    let places: Vec<String> = places
        .iter()
        .map(|place| format!("{} ({})", place.names, place.line))
        .collect();
    places.join(", ")
}

/// The lines of a definition with its lead.
fn lines(outline: &Outline, at: usize, text: &str) -> String {
    let scope = outline.scope(at, text.as_bytes());
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let last = line(scope.end) - usize::from(text[..scope.end].ends_with('\n'));
    format!("{}-{last}", line(scope.start))
}

/// The outlines of all files of `test-data/code` and of our own, with their texts.
fn all() -> Vec<(PathBuf, String, Outline)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths = [
        folder(),
        own.join("src"),
        own.join("docs"),
        own.join("Cargo.toml"),
    ];
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        let outline = outline(&path, &text)?;
        Some((path, text, outline))
    };
    let paths = paths.iter().flat_map(|path| files(path));
    paths.filter_map(read).collect()
}

/// Every outline is sound.
#[test]
fn every_name_of_an_outline_leads_back() {
    let mut seen = BTreeMap::<CodeLanguage, usize>::new();
    for (path, text, outline) in all() {
        is_sound(&outline, &text, &path);
        for at in 0..outline.definitions.len() {
            let (names, short) = (outline.names(at), outline.short_names(at));
            assert_eq!(outline.find(&short), Ok(at), "{}@@{short}", path.display());
            assert!(short.len() <= names.len(), "{names}: {short}");
        }
        *seen.entry(outline.language).or_default() += outline.definitions.len();
    }
    for language in CodeLanguage::ALL
        .into_iter()
        .filter(|it| syntax::is_built(*it))
    {
        assert!(
            seen.get(&language).is_some_and(|count| *count >= 20),
            "too little of {}: {seen:?}",
            language.name()
        );
    }
}

/// Each definition has an address of its own, stands in what it is in, overlaps none beside it, and holds its own parts.
fn is_sound(outline: &Outline, text: &str, path: &Path) {
    for (at, it) in outline.definitions.iter().enumerate() {
        let names = outline.names(at);
        let place = format!("{}@@{names}", path.display());
        assert_eq!(outline.find(&names), Ok(at), "{place}");
        let (start, span) = (it.start(), &it.span);
        let scope = outline.scope(at, text.as_bytes());
        assert!(scope.start <= start && span.end <= scope.end, "{place}");
        let within = it.parent.map_or(0..text.len(), |outer| {
            assert!(outer < at, "{place}");
            outline.definitions[outer].span.clone()
        });
        assert!(
            within.start <= start && span.end <= within.end,
            "{place} is not in {within:?}"
        );
        let mut before = outline.definitions[..at].iter().rev();
        if let Some(before) = before.find(|other| other.parent == it.parent) {
            assert!(before.span.end <= start, "{place} overlaps");
        }
        let mut lead = it.lead.iter().map(|part| part.span.end);
        assert!(lead.all(|end| end <= span.start), "{place}");
        assert!(span.start < span.end, "{place}");
        let ends = [start, span.start, span.end].into_iter();
        assert!(
            ends.chain(it.inside_end)
                .all(|end| text.is_char_boundary(end)),
            "{place}"
        );
        if let Some(body) = &it.body {
            assert!(span.start < body.start && body.end <= span.end, "{place}");
            assert!(body.start <= body.end, "{place}");
        }
        let is_inside = |at: usize| span.start < at && at <= span.end;
        assert!(it.inside_end.is_none_or(is_inside), "{place}");
        let lines = it.first_line..=it.last_line;
        assert!(lines.contains(&it.header_line), "{place}");
        assert!(
            !it.header.is_empty() && !it.header.contains('\n'),
            "{place}"
        );
    }
}

/// A file that ends anywhere, or that lacks a part, has an outline that is as sound.
#[test]
fn a_damaged_file_has_a_sound_outline() {
    for path in files(&folder()) {
        let text = fs::read_to_string(&path).expect("a text");
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let step = (ends.len() / 30).max(1);
        for cut in ends.iter().step_by(step) {
            let end = (cut + 40..).find(|at| text.is_char_boundary(*at) || *at > text.len());
            let rest = end.and_then(|end| text.get(end..)).unwrap_or_default();
            for damaged in [text[..*cut].to_owned(), format!("{}{rest}", &text[..*cut])] {
                if let Some(outline) = outline(&path, &damaged) {
                    is_sound(&outline, &damaged, &path);
                }
            }
        }
    }
}

/// The ends of lines say nothing of definitions: a file of Windows has the same outline and addresses.
#[test]
fn line_ends_change_no_outline() {
    for path in files(&folder()) {
        let text = fs::read_to_string(&path)
            .expect("a text")
            .replace("\r\n", "\n");
        let windows = text.replace('\n', "\r\n");
        let (Some(here), Some(there)) = (outline(&path, &text), outline(&path, &windows)) else {
            continue;
        };
        let style = OutlineStyle::default();
        assert_eq!(here.text(style), there.text(style), "{}", path.display());
        for at in 0..here.definitions.len() {
            let place = format!("{}@@{}", path.display(), here.names(at));
            assert_eq!(
                lines(&here, at, &text),
                lines(&there, at, &windows),
                "{place}"
            );
        }
    }
}

/// A file with more keys than are known is told as such, and nothing goes through all of them for each of them: in a debug build
/// that would take minutes.
#[test]
fn a_file_with_very_many_keys_is_cut_and_read_in_time() {
    if !syntax::is_built(CodeLanguage::Json) {
        return;
    }
    let start = Instant::now();
    for (before, key, between) in [
        ("{", "key", ",\n"),
        ("{", "same", ", "),
        ("{\"a\": {", "in", ","),
    ] {
        let keys: Vec<String> = (0..100_000)
            .map(|at| match key {
                "same" => format!("\"{key}\": {at}"),
                _ => format!("\"{key}{at}\": {at}"),
            })
            .collect();
        let close = "}".repeat(before.matches('{').count());
        let text = format!("{before}{}{close}", keys.join(between));
        let outline = syntax::parse_here(CodeLanguage::Json, &text)
            .expect("it parses")
            .outline;
        assert!(outline.is_cut);
        assert_eq!(outline.definitions.len(), MOST_DEFINITIONS);
        for only_public in [false, true] {
            let shown = outline.text(OutlineStyle { only_public });
            assert!(shown.ends_with(
                "\n// incomplete: only the first 20000 definitions are known, and none deeper than 64 levels\n"
            ));
        }
        let names: HashSet<String> = (0..MOST_DEFINITIONS).map(|at| outline.names(at)).collect();
        assert_eq!(names.len(), MOST_DEFINITIONS);
        let found = outline.find(&outline.names(MOST_DEFINITIONS - 1));
        assert_eq!(found, Ok(MOST_DEFINITIONS - 1));
        assert!(outline.find("kez19999").is_err());
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// A lock file has an outline that is of use: one line for each of its parts.
#[test]
fn the_outline_of_many_keys_shows_one_level() {
    if !syntax::is_built(CodeLanguage::Toml) {
        return;
    }
    for (count, lines) in [(100, 300), (101, 101)] {
        let text = "[[package]]\nname = \"a\"\nversion = \"1\"\n\n".repeat(count);
        let outline = syntax::parse_here(CodeLanguage::Toml, &text)
            .expect("it parses")
            .outline;
        let shown = outline.text(OutlineStyle::default());
        assert_eq!(shown.lines().count(), lines, "{shown}");
        assert!(outline.find("package#2@@name").is_ok());
    }
}

/// What is deeper than is known is told too.
#[test]
fn what_is_too_deep_is_told() {
    if !syntax::is_built(CodeLanguage::Json) {
        return;
    }
    for (depth, is_cut) in [(64, false), (65, true)] {
        let text = format!("{}1{}", "{\"a\":\n".repeat(depth), "}".repeat(depth));
        let outline = syntax::parse_here(CodeLanguage::Json, &text)
            .expect("it parses")
            .outline;
        assert_eq!(outline.definitions.len(), 64);
        assert_eq!(outline.is_cut, is_cut);
    }
}

#[cfg(feature = "grammars")]
/// The text of a definition that stands outermost is by itself that definition, but in JSON, which has braces around all.
#[test]
fn a_definition_by_itself_is_the_same() {
    let mut seen = 0;
    let of_keys = CodeLanguage::Json;
    for (path, text, outline) in all().into_iter().filter(|it| it.2.language != of_keys) {
        let outermost =
            (0..outline.definitions.len()).filter(|at| outline.definitions[*at].parent.is_none());
        for at in outermost {
            let it = &outline.definitions[at];
            let scope = outline.scope(at, text.as_bytes());
            let alone = syntax::parse_here(outline.language, &text[scope]).expect("it parses");
            let Some(first) = alone.outline.definitions.first() else {
                continue;
            };
            let place = format!("{}@@{}", path.display(), outline.names(at));
            assert_eq!(first.name, it.name, "{place}");
            assert_eq!(
                first.last_line - first.first_line,
                it.last_line - it.first_line,
                "{place}"
            );
            assert!(it.has_error || alone.outline.errors.is_empty(), "{place}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

/// The outline of a file; `None` where it is in no language, or its grammar was not built in.
fn outline(path: &Path, text: &str) -> Option<Outline> {
    let language = CodeLanguage::of(&path.to_string_lossy(), text)?;
    let parsed = syntax::is_built(language).then(|| syntax::parse_here(language, text))?;
    Some(parsed.expect("it parses").outline)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/code")
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .flat_map(|entry| files(&entry.expect("an entry").path()))
        .collect();
    files.sort();
    files
}
