//! What a command runs besides itself: the commands that it is given as arguments, and programs in its text. It never
//! judges them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::shell::{Node, Word};

/// The most commands that may stand before another in one (`sudo env timeout 5 …`).
const CHAIN: usize = 8;

/// Programs that run the command in their arguments; behind a colon their short options that take a value, and behind another
/// one that an argument comes before that command.
const WRAPPERS: &str = "builtin busybox caffeinate:tw chronic command doas:uC env:uC exec:a flock:wE:1 ionice:cnp nice:n nohup \
    pkexec setsid stdbuf:ioe strace:eopsu sudo:ugpChDrtTRU time:fo timeout:ks:1 watch:nd xargs:IEnLPsda";

/// Each of them, with what stands behind its colons: it is looked for at every command.
static WRAPPER: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let wrappers = WRAPPERS.split_whitespace().map(|it| it.split(':'));
    wrappers
        .filter_map(|mut it| Some((it.next()?, it.collect())))
        .collect()
});

/// Their long options whose value is the next word.
const LONG_WITH_VALUE: &str = "--adjustment --arg-file --chdir --class --classdata --delimiter --group --interval --kill-after \
    --max-args --max-lines --max-procs --signal --unset --user";

/// Commands, and those that they are given to run, outermost first.
pub(super) fn all(commands: Vec<Vec<Word>>) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let mut open: Vec<_> = commands.into_iter().rev().map(|words| (words, 0)).collect();
    while let Some((words, chain)) = open.pop() {
        if words.is_empty() {
            continue;
        }
        if chain < CHAIN {
            let inner = inner(&words).into_iter().rev();
            open.extend(inner.map(|words| (words, chain + 1)));
        }
        found.push(words);
    }
    found
}

/// The base name of the program.
pub(super) fn program(words: &[Word]) -> &str {
    words.first().map_or("", |word| base(&word.text))
}

/// The last name of a path.
pub(super) fn base(path: &str) -> &str {
    let slash = memchr::memrchr(b'/', path.as_bytes());
    slash.map_or(path, |slash| &path[slash + 1..])
}

/// The commands that are this one's arguments.
fn inner(words: &[Word]) -> Vec<Vec<Word>> {
    let program = program(words);
    if program == "find" {
        return found_and_run(words);
    }
    let Some(known) = WRAPPER.get(program) else {
        return Vec::new();
    };
    let with_value = known.first().copied().unwrap_or_default();
    let mut before = known.len().saturating_sub(1);
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text.starts_with("--") {
            at += 1 + usize::from(LONG_WITH_VALUE.split(' ').any(|it| it == text));
        } else if let Some(letters) = text.strip_prefix('-') {
            if program == "command" && letters.contains(['v', 'V']) {
                // It only says what would run.
                return Vec::new();
            }
            // The value is the rest of the word if there is any.
            let takes = letters.find(|letter| with_value.contains(letter));
            at += 1 + usize::from(takes == Some(letters.len().wrapping_sub(1)));
        } else if program != "exec" && is_assignment(text) {
            at += 1;
        } else if before > 0 {
            before -= 1;
            at += 1;
        } else {
            break;
        }
    }
    let mut command = words.get(at..).unwrap_or_default().to_vec();
    if program == "xargs" && !command.is_empty() {
        command.push(unknown(words.len()));
        command = of_many(command);
    }
    vec![command]
}

/// A command that is run for many files: `rm` of these is as good as `rm -r`.
fn of_many(mut command: Vec<Word>) -> Vec<Word> {
    let is_deep = |word: &Word| {
        let letters = word.text.strip_prefix('-').unwrap_or_default();
        !letters.starts_with('-') && letters.contains(['r', 'R'])
    };
    if program(&command) == "rm" && !command.iter().any(is_deep) {
        command.insert(1, Word::new("-r", true, 0));
    }
    command
}

/// An argument that nobody has written down.
fn unknown(place: usize) -> Word {
    Word::new("…", false, place)
}

fn is_assignment(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    name.len() < text.len() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The commands behind `-exec` and its kin, and `rm` for `-delete`. `{}` is what `-name` says, or else where is looked, where
/// nothing but that decides.
fn found_and_run(words: &[Word]) -> Vec<Vec<Word>> {
    let is = |word: &Word, names: &[&str]| names.contains(&word.text.as_str());
    let at = |names: &[&str]| words.iter().position(|word| is(word, names));
    let undecided = at(&["!", "-not", "-o", "-or", ","]).is_some();
    let name = at(&["-name"]).filter(|_| !undecided);
    let name = name.and_then(|at| words.get(at + 1));
    let is_place = |word: &&Word| !word.text.starts_with(['-', '(', '!']);
    let mut files: Vec<Word> = match name {
        Some(name) => vec![name.clone()],
        None => words[1..].iter().take_while(is_place).cloned().collect(),
    };
    if files.is_empty() {
        files.push(unknown(0));
    }
    let deleted = at(&["-delete"]).map(|at| {
        let rm = Word::new("rm", words[at].fixed, words[at].place);
        of_many([vec![rm], files.clone()].concat())
    });
    let mut found: Vec<Vec<Word>> = deleted.into_iter().collect();
    let mut rest = words;
    while let Some(at) = rest
        .iter()
        .position(|word| is(word, &["-exec", "-execdir", "-ok", "-okdir"]))
    {
        let behind = &rest[at + 1..];
        let end = behind.iter().position(|word| is(word, &[";", "+"]));
        let (command, behind) = behind.split_at(end.unwrap_or(behind.len()));
        let file = |word: &Word| match word.text.as_str() {
            "{}" => files.clone(),
            text => vec![Word {
                fixed: word.fixed && !text.contains("{}"),
                ..word.clone()
            }],
        };
        found.push(of_many(command.iter().flat_map(file).collect()));
        rest = behind;
    }
    found
}

/// The place from which an interpreter takes its program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProgramSource {
    Stdin,
    /// These words are the program.
    Text(Range<usize>),
    /// A file, or something else that the word names.
    Word(usize),
}

/// A command that runs a program which it reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) is_shell: bool,
    pub(super) source: ProgramSource,
}

impl Interpreter {
    /// The interpreter that this command is, if it is one.
    pub(super) fn of(words: &[Word]) -> Option<Self> {
        let name = program(words);
        let (is_shell, source) = match name {
            "sh" | "bash" | "zsh" | "dash" | "ash" | "ksh" | "fish" => {
                (true, source(words, "c", "oO", true))
            }
            "su" => match source(words, "c", "gGsw", true) {
                text @ ProgramSource::Text(_) => (true, text),
                _ => return None,
            },
            "env" => {
                let split = words.iter().position(|word| word.text == "-S")?;
                (true, ProgramSource::Text(split + 1..words.len()))
            }
            "eval" => (true, ProgramSource::Text(1..words.len())),
            "trap" => (true, ProgramSource::Text(1..words.len().min(2))),
            "source" | "." => (true, ProgramSource::Word(1)),
            "node" | "deno" | "bun" | "ruby" => (false, source(words, "ep", "rI", false)),
            "perl" | "php" => match source(words, "eEr", "I", false) {
                // Their `-e` is mostly text that is replaced by other text.
                ProgramSource::Text(text) => (false, ProgramSource::Word(text.start)),
                other => (false, other),
            },
            name if name.starts_with("python") => (false, source(words, "c", "WX", false)),
            _ => return None,
        };
        Some(Self { is_shell, source })
    }
}

/// Reads the options of an interpreter: the letters that announce a program, and those that take some other value.
fn source(words: &[Word], program: &str, with_value: &str, first_operand: bool) -> ProgramSource {
    let mut announced = false;
    let mut from_stdin = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
        if text == "--" {
            at += 1;
            break;
        }
        if matches!(text, "--eval" | "--print" | "--command") {
            announced = true;
        } else if matches!(text, "--rcfile" | "--init-file") {
            at += 1;
        } else if letters.starts_with('-') {
            // Any other long option.
        } else if letters.is_empty() {
            break;
        } else {
            announced |= letters.contains(|letter| program.contains(letter));
            from_stdin |= first_operand && letters.contains('s');
            if !first_operand && letters.contains('m') {
                return ProgramSource::Word(at);
            }
            at += usize::from(letters.ends_with(|letter| with_value.contains(letter)));
        }
        at += 1;
        // A shell's program is its first operand, wherever the `-c`; others take the next word.
        if announced && !first_operand {
            break;
        }
    }
    match words.get(at) {
        Some(_) if announced => ProgramSource::Text(at..at + 1),
        Some(word) if !from_stdin && word.text != "-" => ProgramSource::Word(at),
        _ => ProgramSource::Stdin,
    }
}

/// Returns what a command prints, where that is its own arguments or its input.
pub(super) fn printed(node: &Node) -> Option<String> {
    let words = node.words.get(1..)?;
    match program(&node.words) {
        "echo" | "printf" => Some(joined(words).replace("\\n", "\n")),
        "cat" | "tee" if !node.stdin.is_empty() => Some(node.stdin.clone()),
        _ => None,
    }
}

/// The words with a space between each.
pub(super) fn joined(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}
