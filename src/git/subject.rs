//! The words of a commit's subject, made of the reasons that tasks give. Never adds clada's mark or says what kind of
//! commit it is.

use std::collections::HashSet;

/// The number of characters that the words of several texts, or of a long one, may take.
const LIMIT: usize = 72;

/// The separator of the words of two texts.
const BETWEEN: &str = "; ";

/// Joins the words of several texts, in their order and each once. Those that do not fit are counted: `One; two (+2 more)`.
/// A first one that is too long by itself is cut. Empty where there are no words.
pub fn joined<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = texts.into_iter().map(words).collect();
    // A text may be such a subject itself, which has others.
    let shown = texts.iter().map(|text| counted(text).0);
    let mut known: HashSet<&str> = shown
        .filter(|text| text.contains(BETWEEN))
        .flat_map(|text| text.split(BETWEEN))
        .collect();
    let mut parts: Vec<&str> = Vec::new();
    let mut hidden = 0;
    for (words, more) in texts.iter().map(|text| counted(text)) {
        if !words.is_empty() && known.insert(words) {
            parts.push(words);
            hidden += more;
        }
    }
    let more = |shown: usize| match parts.len() - shown + hidden {
        0 => String::new(),
        more => format!(" (+{more} more)"),
    };
    // Each takes up one character at least.
    let mut fitting = (1..=parts.len().min(LIMIT)).rev();
    let best = fitting.find_map(|shown| {
        let text = parts[..shown].join(BETWEEN) + &more(shown);
        (text.chars().count() <= LIMIT).then_some(text)
    });
    let cut_first = || {
        let (first, more) = (parts.first()?, more(1));
        Some(cut(first, LIMIT - more.len()) + &more)
    };
    best.or_else(cut_first).unwrap_or_default()
}

/// The subject of several commits, of what each of them says: what they all say is said as it is.
pub fn summed<'t>(subjects: impl IntoIterator<Item = &'t str>) -> String {
    let mut subjects: Vec<&str> = subjects.into_iter().collect();
    subjects.dedup();
    match subjects[..] {
        [only] => only.to_owned(),
        _ => joined(subjects),
    }
}

/// The words of a batch, of the subjects of its commits: a task without a reason of its own has those of the batch already.
pub fn of_batch<'t>(subjects: impl IntoIterator<Item = &'t str>) -> String {
    let subjects: Vec<&str> = subjects.into_iter().collect();
    let is_whole = |subject: &&&str| counted(subject).1 > 0;
    if let Some(whole) = subjects.iter().find(is_whole) {
        return (*whole).to_owned();
    }
    summed(subjects)
}

/// The words that are shown, and how many more there were.
fn counted(subject: &str) -> (&str, usize) {
    let parts = || {
        let (words, more) = subject.strip_suffix(" more)")?.rsplit_once(" (+")?;
        Some((words, usize::from(more.parse::<u16>().ok()?)))
    };
    parts().unwrap_or((subject, 0))
}

/// The first words of a text that fit into so many characters, with the sign that it goes on.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit - 1).collect();
    let is_between = text[kept.len()..].starts_with([' ', ',', ';', ':', '.']);
    let words = match kept.rfind(' ') {
        Some(end) if !is_between => &kept[..end],
        _ => &kept,
    };
    words
        .trim_end_matches([' ', ',', ';', ':', '-', '–'])
        .to_owned()
        + "…"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_joined_fits_and_is_one_line(
            texts in prop::collection::vec("[aä \\n;,.]{0,90}( \\(\\+[0-9]{1,22} more\\))?", 0..6)
        ) {
            let got = joined(texts.iter().map(String::as_str));
            prop_assert!(got.chars().count() <= LIMIT, "{got}");
            prop_assert!(!got.contains('\n'));
            let has_words = texts.iter().any(|text| !counted(text.trim()).0.trim().is_empty());
            prop_assert!(!has_words || !got.is_empty());
            summed(texts.iter().map(String::as_str));
            of_batch(texts.iter().map(String::as_str));
        }
    }
}
