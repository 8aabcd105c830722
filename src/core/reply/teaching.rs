//! The texts that teach an LLM to write replies, and the tasks of their examples. Where a text goes is the caller's business.

use std::sync::LazyLock;

use super::chat_key::{ChatKey, key_in};
use super::dialect::Dialect;
use super::dialects::block::is_fence;
use super::dialects::nesl::schemas::Schema;
use super::lessons;
use super::scan::scan;
use super::task::Command;

// Each is between `clada:off` and `clada:on`, so that a copy of it in a notes file is never carried out.
const CML: &str = include_str!("teaching/instructions.md");
const NESL: &str = include_str!("teaching/instructions-nesl.md");
const REPLACER: &str = include_str!("teaching/instructions-replacer.md");
const AIDER: &str = include_str!("teaching/instructions-aider.md");
const CODEX: &str = include_str!("teaching/instructions-codex.md");
const DIFF: &str = include_str!("teaching/instructions-diff.md");

/// The last line of each.
const LAST: &str = "<!-- clada:on instructions -->\n";
/// The line above the rules of each.
const RULES: &str = "\nRules\n";
/// The line that begins a batch of CML.
const TASKS: &str = "\n<tasks>\n";
/// The start of the line above the first block of the other dialects.
const FENCE: &str = "\n``````";
/// The line above that in aider: the file's name belongs to its block.
const FILE: &str = "\n\nsrc/app.py\n";
/// The placeholder in NESL's text for the actions.
const ACTIONS: &str = "ACTIONS\n";

/// The placeholder for the project folder.
pub const FOLDER: &str = "/path/to/project";
/// The default time limit, as the texts name it.
pub const TIMEOUT: &str = "10 minutes";

/// NESL's spellings and SHAM's.
const SHAM: [(&str, &str); 5] = [
    ("sh nesl", "sh sham"),
    ("NESL", "SHAM"),
    ("#!nesl ", "#!SHAM "),
    ("#!end_", "#!END_SHAM_"),
    ("EOT_", "EOT_SHAM_"),
];

/// Returns the text for a dialect with these actions, given by their names in any language, and with the key of a chat. Without
/// any actions, the text lists all in SHAM and NESL, and the usual ones in CML.
pub fn text(dialect: Dialect, actions: &[String], key: Option<ChatKey>) -> String {
    let text = unkeyed(dialect, actions);
    match key {
        Some(key) => keyed(dialect, &text, key),
        None => text,
    }
}

fn unkeyed(dialect: Dialect, actions: &[String]) -> String {
    let is_asked = |command: &Command| {
        let mut names = actions.iter();
        names.any(|name| lessons::command(name).as_ref() == Ok(command))
    };
    let all = Command::all();
    match dialect {
        Dialect::Cml if actions.is_empty() => CML.to_owned(),
        Dialect::Cml => CML.replace(LAST, &(tasks(all.filter(is_asked)) + LAST)),
        Dialect::Nesl => NESL.replace(ACTIONS, &blocks(actions)),
        Dialect::Sham => {
            let nesl = unkeyed(Dialect::Nesl, actions);
            SHAM.iter()
                .fold(nesl, |text, (nesl, sham)| text.replace(nesl, sham))
        }
        Dialect::Replacer => REPLACER.to_owned(),
        Dialect::Aider => AIDER.to_owned(),
        Dialect::Codex => CODEX.to_owned(),
        Dialect::Diff => DIFF.to_owned(),
    }
}

/// Puts a key into the examples of a text, and the rule about it on top of the others.
fn keyed(dialect: Dialect, text: &str, key: ChatKey) -> String {
    if dialect == Dialect::Cml {
        let rule = format!("{RULES}- Write `key=\"{key}\"` in each `<tasks>`.\n");
        let text = text.replace(TASKS, &format!("\n<tasks key=\"{key}\">\n"));
        return text.replacen(RULES, &rule, 1);
    }
    // In the fence it also comes along with the copy button of the code block.
    let example = if dialect == Dialect::Aider {
        text.find(FILE).map(|at| at + "\n\n".len())
    } else {
        let fence = text.find(FENCE).map(|at| at + FENCE.len());
        fence.and_then(|at| Some(at + text[at..].find('\n')? + "\n".len()))
    };
    let (above, below) = text.split_at(example.unwrap_or(text.len()));
    let rule = format!(
        "{RULES}- Put the line `clada: {key}` right above your first block, in each reply.\n"
    );
    format!("{above}clada: {key}\n{}", below.replacen(RULES, &rule, 1))
}

/// Returns an example task of each command, and their descriptions.
fn tasks(commands: impl Iterator<Item = Command>) -> String {
    let (mut examples, mut list) = (String::new(), String::new());
    for (command, task) in commands.filter_map(|command| Some((command, lessons::lesson(command)?)))
    {
        examples += &format!("{}\n", task.example);
        list += &format!("- `{}` {}\n", command.name(), task.says);
    }
    format!("\nMore, in short\n\n``````xml\n<tasks>\n{examples}</tasks>\n``````\n\n{list}")
}

/// Returns the descriptions of the actions with these names, or of all.
fn blocks(names: &[String]) -> String {
    let actions = Command::all().flat_map(|command| {
        let actions = lessons::actions(command);
        actions.map(move |action| (command, action))
    });
    let is_asked = |command: Command, action: &Schema| {
        let is = |name: &String| action.is_named(name) || Command::parse(name) == Some(command);
        names.is_empty() || names.iter().any(is)
    };
    actions
        .filter(|(command, action)| is_asked(*command, action))
        .map(|(_, action)| {
            let needs = match action.params.join(", ").as_str() {
                "" => String::new(),
                params => format!(" ({params})"),
            };
            format!("- `{}`{needs}: {}\n", action.name(), action.says)
        })
        .collect()
}

/// A task that a text shows, with its lines.
struct ExampleTask {
    dialect: Dialect,
    lines: Vec<String>,
}

/// The tasks that the texts show.
static EXAMPLES: LazyLock<Vec<ExampleTask>> = LazyLock::new(|| {
    let taught = Command::all().filter(|command| lessons::lesson(*command).is_some());
    let names: Vec<String> = taught.map(|command| command.name().to_owned()).collect();
    let of_dialect = |dialect| {
        let text = unkeyed(dialect, &names);
        let shown: String = text
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("<!-- clada:"))
            .collect();
        let found = scan(&shown);
        let tasks = found.batches.iter().flat_map(|batch| &batch.tasks);
        let lines = tasks.map(|task| lines_of(&shown[task.span.clone()]));
        lines
            .map(|lines| ExampleTask { dialect, lines })
            .collect::<Vec<_>>()
    };
    Dialect::ALL.into_iter().flat_map(of_dialect).collect()
});

/// True if a task of a reply is one that a text shows, white space at the edges of lines aside.
pub(super) fn is_example(dialect: Dialect, task: &str) -> bool {
    let lines = lines_of(task);
    EXAMPLES.iter().any(|example| {
        let mut pairs = example.lines.iter().zip(&lines);
        example.dialect == dialect
            && example.lines.len() == lines.len()
            && pairs.all(|(shown, line)| is_shown(shown, line))
    })
}

/// The lines of a task without what aider has around and above its block.
fn lines_of(task: &str) -> Vec<String> {
    let lines = task.lines().map(str::trim);
    let own = lines.filter(|line| !line.is_empty() && !is_fence(line) && key_in(line).is_none());
    own.map(str::to_owned).collect()
}

/// True if a line is one that a text shows, with any folder in place of the placeholder.
fn is_shown(shown: &str, line: &str) -> bool {
    match shown.split_once(FOLDER) {
        Some((before, behind)) => {
            let rest = line.strip_prefix(before);
            rest.is_some_and(|rest| rest.ends_with(behind))
        }
        None => shown == line,
    }
}
