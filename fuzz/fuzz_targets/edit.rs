//! Edits of any file: what an edit leaves is the file with the places it names replaced, and it never panics. The parts of
//! the input are divided by a byte that no UTF-8 has: file, search, replacement, and so on in pairs.

#![no_main]

use clada::edit::{Edit, apply};
use clada::reply::text::{Form, Text};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut parts = data.split(|byte| *byte == 0xff);
    let file = parts.next().unwrap_or_default();
    let texts: Vec<String> = parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    let block = |text: &String| match text.as_str() {
        text if text.is_empty() || text.ends_with('\n') => text.to_owned(),
        text => format!("{text}\n"),
    };
    let lines: Vec<String> = texts.iter().map(block).collect();
    for (texts, form) in [(&lines, Form::Block), (&texts, Form::Inline)] {
        let text = |text| Text {
            form,
            text,
            is_whole: false,
        };
        let pairs: Vec<_> = texts
            .chunks_exact(2)
            .map(|pair| (text(&pair[0]), text(&pair[1])))
            .collect();
        if !pairs.is_empty()
            && let Ok(edited) = apply(file, &Edit::Pairs(pairs.clone()))
        {
            assert_eq!(edited.places.len(), pairs.len());
        }
        if let [head, tail, replace, ..] = texts.as_slice() {
            let (head, tail, replace) = (text(head), text(tail), text(replace));
            let _ = apply(
                file,
                &Edit::Stretch {
                    head,
                    tail,
                    replace,
                },
            );
        }
    }
});
