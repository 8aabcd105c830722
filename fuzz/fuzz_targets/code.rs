//! Texts in every language whose definitions are known; the first byte says which one. Whatever the text is, the outline of it
//! is sound: what it names is in the text, and each name leads back.

#![no_main]

use clada::code::{CodeLanguage, OutlineStyle};
use clada::world::syntax::parse_here;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else {
        return;
    };
    let language = CodeLanguage::ALL[usize::from(*first) % CodeLanguage::ALL.len()];
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(parsed) = parse_here(language, text) else {
        return;
    };
    let outline = parsed.outline;
    for (at, definition) in outline.definitions.iter().enumerate() {
        assert!(definition.parent.is_none_or(|outer| outer < at));
        assert!(text.is_char_boundary(definition.start()));
        assert!(text.is_char_boundary(definition.span.end));
        let scope = outline.scope(at, bytes);
        assert!(scope.start <= definition.start() && definition.span.end <= scope.end);
        let _ = (outline.names(at), outline.short_names(at));
    }
    let _ = outline.text(OutlineStyle::default());
});
