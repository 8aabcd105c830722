//! The policy over scripts: the cases of `test-data/policy`, and what holds for any text at all.

use std::hint::black_box;
use std::sync::LazyLock;

use clada::policy::{Policy, Verdict};
use clada::settings::DEFAULTS;
use clada::text::language::Language;
use proptest::prelude::*;

use crate::cases::{self, Case};
use crate::growth::assert_linear;

#[test]
fn cases() {
    cases::run("policy", check);
}

fn check(case: &Case, verdict: &mut cases::Verdict) {
    let lines = |kind: &str| -> Option<Vec<String>> {
        let text = case.one(kind)?.string();
        Some(text.lines().map(str::to_owned).collect())
    };
    let (deny, ask) = (lines("deny"), lines("ask"));
    let ask = match (&deny, ask) {
        (_, Some(ask)) => ask,
        (None, None) => defaults(),
        (Some(_), None) => Vec::new(),
    };
    let expected = case.one("verdict").expect("a `verdict` block");
    let policy = match Policy::new(&deny.unwrap_or_default(), &ask) {
        Ok(policy) => policy,
        Err(error) => return verdict.expect(expected, format!("{error}\n").as_bytes()),
    };
    let mut got = String::new();
    for script in case.all("script") {
        let lang = match script.arg.as_str() {
            "" | "escaped" => Language::Bash,
            name => Language::parse(name).expect("a language"),
        };
        got += &said(&policy.judge(&script.string(), lang));
    }
    for scripts in case.all("scripts") {
        for script in scripts.string().lines() {
            let line = said(&policy.judge(script, Language::Bash));
            let short = line.split(':').next().unwrap_or_default().trim();
            if short != expected.string().trim() {
                verdict.wrong(format!("`{script}`: {line}"));
            }
        }
    }
    if case.all("script").next().is_some() {
        verdict.expect(expected, got.as_bytes());
    }
}

fn said(verdict: &Verdict<'_>) -> String {
    match verdict {
        Verdict::Allowed => "allowed\n".to_owned(),
        Verdict::Ask(all) => {
            let lines = all
                .iter()
                .map(|it| format!("ask {}: {}\n", brief(it.pattern), it.command));
            lines.collect()
        }
        Verdict::Denied(it) => format!("denied {}: {}\n", brief(it.pattern), it.command),
    }
}

/// The long patterns among the defaults by their first words.
fn brief(pattern: &str) -> String {
    let spaced = |default: &String| default.split_whitespace().collect::<Vec<_>>().join(" ");
    if defaults()
        .iter()
        .map(spaced)
        .any(|default| default == pattern)
    {
        let end = pattern.find(" !").or(pattern.find(",wget} |"));
        pattern[..end.unwrap_or(pattern.len())].replace('{', "")
    } else {
        pattern.to_owned()
    }
}

fn defaults() -> Vec<String> {
    let defaults: toml::Table = toml::from_str(DEFAULTS).expect("the defaults");
    let ask = defaults["exec"]["ask"].as_array().expect("a list");
    let pattern = |value: &toml::Value| value.as_str().expect("a pattern").to_owned();
    ask.iter().map(pattern).collect()
}

static POLICY: LazyLock<Policy> =
    LazyLock::new(|| Policy::new(&[], &defaults()).expect("the defaults are patterns"));

proptest! {
    #[test]
    fn any_text_is_judged(script in any::<String>()) {
        for lang in Language::ALL {
            let _ = POLICY.judge(&script, lang);
        }
    }

    #[test]
    fn anything_like_a_script_is_judged(
        parts in proptest::collection::vec(proptest::sample::select(PARTS), 0..40),
    ) {
        for lang in [Language::Bash, Language::Python] {
            let _ = POLICY.judge(&parts.concat(), lang);
        }
    }

    #[test]
    fn a_command_on_a_line_of_its_own_is_found(
        before in "[a-z ]{0,20}", quoted in "[a-z ;|&$]{0,20}", after in any::<String>(),
    ) {
        let script = format!("echo {before}\necho 'x {quoted}'\ngit push\n{after}");
        let policy = Policy::new(&[], &["git push".to_owned()]).expect("a pattern");
        prop_assert_ne!(policy.judge(&script, Language::Bash), Verdict::Allowed);
    }

    #[test]
    fn a_quoted_word_is_no_command(text in "[^']*") {
        let script = format!("echo '{text}'\ncat <<'-- end --'\n{text}\n-- end --\n");
        prop_assert_eq!(POLICY.judge(&script, Language::Bash), Verdict::Allowed);
    }
}

const PARTS: &[&str] = &[
    "$(",
    ")",
    "(",
    "((",
    "))",
    "`",
    "\"",
    "'",
    "$'",
    "${",
    "}",
    "{ ",
    ";",
    ";;",
    "\n",
    "|",
    "&",
    "&&",
    "<<E",
    "\nE\n",
    "<(",
    "<<<",
    ">",
    "case x in ",
    "a) ",
    "esac",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "while ",
    "do ",
    "done",
    "[[ ",
    "]]",
    "f() ",
    "x=(",
    "\\",
    "#",
    "git push",
    "sudo ",
    "eval ",
    "bash -c ",
    "bash ",
    "curl x",
    "rm -rf ",
    "target ",
    "find . -exec ",
    "xargs ",
    "env ",
    "ä",
    "$x",
    " ",
    " ",
    " ",
];

/// Reading anything twice for each time it occurs would take hours.
#[test]
fn large_scripts_take_no_time_to_speak_of() {
    let ordinary = "cargo build --release && echo \"done $(date)\" | tee x.log\n";
    let ordinary = |size: usize| vec![ordinary.repeat(size / ordinary.len())];
    assert_linear(1 << 20, ordinary, |script| {
        black_box(POLICY.judge(script, Language::Bash));
    });
    let of_parts = |size: usize| {
        let parts = PARTS.iter().chain(LARGE);
        let scripts = parts.map(|part| part.repeat(size / part.len()));
        let of_both = |script: String| {
            [Language::Bash, Language::Python].map(|language| (language, script.clone()))
        };
        scripts.flat_map(of_both).collect()
    };
    assert_linear(1 << 16, of_parts, |(language, script)| {
        black_box(POLICY.judge(script, *language));
    });
}

/// Reading it recursively would end the process: that this test ends is the assertion.
#[test]
fn a_deep_script_is_read() {
    let nested = "$(a ".repeat(20_000) + &")".repeat(20_000);
    assert_eq!(POLICY.judge(&nested, Language::Bash), Verdict::Allowed);
}

const LARGE: &[&str] = &[
    "$((",
    "\"$(",
    "${x:-",
    "x | ",
    "a&&",
    "<<E ",
    "cat <<E\n",
    "{ a|",
    "((a) ",
    "eval eval ",
    "sudo env ",
    "x=(a ",
    "if x; then ",
    "echo hi | sh\n",
    "curl x | ( ",
    "curl x | tee y\n",
    "bash -c 'x' ",
    "find -exec x ';' ",
    "bash <<E\n",
    "rm -rf a/b/c ",
    "(( ( ",
    "!(",
    "a[",
    "$'\\",
    "git ",
    "\0",
];
