//! An action that is written in a dialect and read back is the same action, whichever the dialect is.

use clada::reply::dialect::Dialect;
use clada::reply::scan::scan;
use clada::reply::task::{Action, BatchState, Payload, Replacement};
use clada::reply::text::Form;
use proptest::prelude::*;

/// What can be asked for in several dialects, in plain values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Plain {
    Write(String, String),
    Append(String, String),
    Edit(String, String, String),
    ReplaceAll(String, String, String, Option<usize>),
    ReplaceLines(String, String, String),
    Move(String, String),
    Delete(String),
    MakeFolder(String),
    RemoveFolder(String),
    Read(Vec<String>, Option<String>, Option<String>),
    List(String),
    Grep(String, String, Option<String>),
    Glob(String, String),
    Exec(String, Option<String>),
}

/// The text of an action in a dialect; `None` where it has no words for it.
fn written(plain: &Plain, dialect: Dialect) -> Option<String> {
    match dialect {
        Dialect::Cml => Some(cml(plain)),
        Dialect::Sham => Some(block(plain, ("#!SHAM", "#!END_SHAM_", "EOT_SHAM_"))),
        Dialect::Nesl => Some(block(plain, ("#!nesl", "#!end_", "EOT_"))),
        Dialect::Replacer => match plain {
            Plain::Write(path, text) => Some(format!(
                "<<<FILE>>>\n{path}\n<<<OVERWRITE>>>\n{text}<<<END>>>\n"
            )),
            Plain::Edit(path, search, replace) => Some(format!(
                "<<<FILE>>>\n{path}\n<<<SEARCH>>>\n{search}<<<REPLACE>>>\n{replace}<<<END>>>\n"
            )),
            _ => None,
        },
        Dialect::Aider => match plain {
            Plain::Edit(path, search, replace) => Some(format!(
                "{path}\n```\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n"
            )),
            _ => None,
        },
        Dialect::Codex => {
            let body = match plain {
                Plain::Write(path, text) => format!("*** Add File: {path}\n{}", signed('+', text)),
                Plain::Edit(path, search, replace) => format!(
                    "*** Update File: {path}\n@@\n{}{}",
                    signed('-', search),
                    signed('+', replace)
                ),
                Plain::Move(path, to) => format!("*** Update File: {path}\n*** Move to: {to}\n"),
                Plain::Delete(path) => format!("*** Delete File: {path}\n"),
                _ => return None,
            };
            Some(format!("*** Begin Patch\n{body}*** End Patch\n"))
        }
        Dialect::Diff => {
            let count = |text: &str| text.lines().count();
            let body = match plain {
                Plain::Write(path, text) => format!(
                    "--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{}",
                    count(text),
                    signed('+', text)
                ),
                Plain::Edit(path, search, replace) => format!(
                    "--- a/{path}\n+++ b/{path}\n@@ -1,{} +1,{} @@\n{}{}",
                    count(search),
                    count(replace),
                    signed('-', search),
                    signed('+', replace)
                ),
                Plain::Move(path, to) => format!(
                    "diff --git a/{path} b/{to}\nsimilarity index 100%\nrename from {path}\nrename to {to}\n"
                ),
                _ => return None,
            };
            Some(format!("```diff\n{body}```\n"))
        }
    }
}

fn signed(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}

fn cml(plain: &Plain) -> String {
    let task = |elements: String| format!("<tasks>\n<task>\n{elements}</task>\n</tasks>\n");
    let path = |path: &str| format!("<path>{path}</path>\n");
    task(match plain {
        Plain::Write(to, text) => format!("{}<c>overwrite</c>\n<x>\n{text}</x>\n", path(to)),
        Plain::Append(to, text) => format!("{}<c>append</c>\n<x>\n{text}</x>\n", path(to)),
        Plain::Edit(to, search, replace) => format!(
            "{}<c>edit</c>\n<search>\n{search}</search>\n<replace>\n{replace}</replace>\n",
            path(to)
        ),
        Plain::ReplaceAll(to, search, replace, count) => {
            let count = count.map_or(String::new(), |count| format!(" count=\"{count}\""));
            format!(
                "{}<c{count}>replace-all</c>\n<search>{search}</search>\n<replace>{replace}</replace>\n",
                path(to)
            )
        }
        Plain::ReplaceLines(to, lines, text) => format!(
            "{}<c lines=\"{lines}\">replace-lines</c>\n<x>{text}</x>\n",
            path(to)
        ),
        Plain::Move(from, to) => {
            format!("{}<c>move</c>\n<x overwrite=\"yes\">{to}</x>\n", path(from))
        }
        Plain::Delete(at) => format!("{}<c>delete</c>\n", path(at)),
        Plain::MakeFolder(at) => format!("{}<c>mkdir</c>\n", path(at)),
        Plain::RemoveFolder(at) => format!("{}<c>rmdir</c>\n", path(at)),
        Plain::Read(paths, lines, numbers) => {
            let paths: String = paths.iter().map(|at| path(at)).collect();
            let lines = lines
                .as_ref()
                .map_or(String::new(), |lines| format!(" lines=\"{lines}\""));
            let numbers = numbers
                .as_ref()
                .map_or(String::new(), |between| format!(" delimiter=\"{between}\""));
            format!("{paths}<c{lines}{numbers}>read</c>\n")
        }
        Plain::List(at) => format!("{}<c>ls</c>\n", path(at)),
        Plain::Grep(pattern, at, include) => {
            let include = include
                .as_ref()
                .map_or(String::new(), |glob| format!(" include=\"{glob}\""));
            format!("{}<c>grep</c>\n<x{include}>\n{pattern}\n</x>\n", path(at))
        }
        Plain::Glob(pattern, at) => format!("{}<c>glob</c>\n<x>\n{pattern}\n</x>\n", path(at)),
        Plain::Exec(script, cwd) => {
            let cwd = cwd
                .as_ref()
                .map_or(String::new(), |cwd| format!(" cwd=\"{cwd}\""));
            format!("<c>exec</c>\n<x lang=\"bash\"{cwd}>{script}</x>\n")
        }
    })
}

/// A block of SHAM or NESL, its longer values as heredocs.
fn block(plain: &Plain, (head, end, heredoc): (&str, &str, &str)) -> String {
    let mut fields: Vec<(&str, String)> = Vec::new();
    let mut field = |name, value: &str| fields.push((name, value.to_owned()));
    let action = match plain {
        Plain::Write(path, text) => {
            field("path", path);
            field("content", text);
            "file_write"
        }
        Plain::Append(path, text) => {
            field("path", path);
            field("content", text);
            "file_append"
        }
        Plain::Edit(path, search, replace) => {
            field("path", path);
            field("old_text", search);
            field("new_text", replace);
            "file_replace_text"
        }
        Plain::ReplaceAll(path, search, replace, count) => {
            field("path", path);
            field("old_text", search);
            field("new_text", replace);
            if let Some(count) = count {
                field("count", &count.to_string());
            }
            "file_replace_all_text"
        }
        Plain::ReplaceLines(path, lines, text) => {
            field("path", path);
            field("lines", lines);
            field("new_content", text);
            "file_replace_lines"
        }
        Plain::Move(path, to) => {
            field("old_path", path);
            field("new_path", to);
            "file_move"
        }
        Plain::Delete(path) => {
            field("path", path);
            "file_delete"
        }
        Plain::MakeFolder(path) => {
            field("path", path);
            "dir_create"
        }
        Plain::RemoveFolder(path) => {
            field("path", path);
            "dir_delete"
        }
        Plain::Read(paths, lines, numbers) => match (paths.as_slice(), numbers) {
            ([path], Some(delimiter)) => {
                field("path", path);
                if let Some(lines) = lines {
                    field("lines", lines);
                }
                field("delimiter", delimiter);
                "file_read_numbered"
            }
            ([path], None) => {
                field("path", path);
                "file_read"
            }
            _ => {
                field("paths", &paths.join("\n"));
                "files_read"
            }
        },
        Plain::List(path) => {
            field("path", path);
            "ls"
        }
        Plain::Grep(pattern, path, include) => {
            field("pattern", pattern);
            field("path", path);
            if let Some(include) = include {
                field("include", include);
            }
            "grep"
        }
        Plain::Glob(pattern, path) => {
            field("pattern", pattern);
            field("base_path", path);
            "glob"
        }
        Plain::Exec(script, cwd) => {
            field("code", script);
            field("lang", "bash");
            if let Some(cwd) = cwd {
                field("cwd", cwd);
            }
            "exec"
        }
    };
    let mut text = format!("{head} [@three-char-SHA-256: q7z]\naction = \"{action}\"\n");
    for (name, value) in fields {
        text += &match value.contains('\n') {
            true => format!("{name} = <<'{heredoc}q7z'\n{value}\n{heredoc}q7z\n"),
            false => format!("{name} = {}\n", serde_json::Value::from(value)),
        };
    }
    text + end + "q7z\n"
}

/// What was read, in plain values; absolute paths stay as they are.
fn read(text: &str) -> Result<Plain, String> {
    let found = scan(text);
    let [batch] = found.batches.as_slice() else {
        return Err(format!(
            "{} batches, {:?}",
            found.batches.len(),
            found.problems
        ));
    };
    let is_whole = matches!(batch.state, BatchState::Complete | BatchState::Provisional);
    let [task] = batch.tasks.as_slice() else {
        return Err(format!("{} tasks, {:?}", batch.tasks.len(), batch.state));
    };
    let action = task
        .action
        .as_ref()
        .map_err(|problem| format!("{problem:?}"))?;
    if !is_whole {
        return Err(format!("{:?}", batch.state));
    }
    let text = |payload: &Payload<'_>| payload.text().into_owned();
    let owned = |value: &Option<std::borrow::Cow<'_, str>>| value.as_deref().map(str::to_owned);
    Ok(match action {
        Action::Overwrite { path, content, .. } => Plain::Write(path.to_string(), text(content)),
        Action::Append { path, content, .. } => Plain::Append(path.to_string(), text(content)),
        Action::Edit {
            path,
            change,
            to: None,
        } => {
            let (search, replace) = match change {
                Replacement::Pairs(pairs) => match pairs.as_slice() {
                    [(search, replace)] => (text(search), text(replace)),
                    pairs => return Err(format!("{} pairs", pairs.len())),
                },
                Replacement::Literal { search, replace } => {
                    (search.to_string(), replace.to_string())
                }
                Replacement::Hunks(hunks) => match hunks.as_slice() {
                    [hunk] => (hunk.search().to_string(), hunk.replacement().to_string()),
                    hunks => return Err(format!("{} hunks", hunks.len())),
                },
                other => return Err(format!("{other:?}")),
            };
            Plain::Edit(path.to_string(), search, replace)
        }
        Action::ReplaceAll {
            paths,
            search,
            replace,
            count,
        } => Plain::ReplaceAll(paths.join("\n"), text(search), text(replace), *count),
        Action::ReplaceLines {
            path,
            lines,
            content,
        } => {
            // In CML they are whole lines in either form.
            let text = text(content);
            let bare = match content.form {
                Form::Block => text.strip_suffix('\n').unwrap_or(&text).to_owned(),
                Form::Inline => text,
            };
            Plain::ReplaceLines(path.to_string(), lines.to_string(), bare)
        }
        Action::Move { path, to, .. } => Plain::Move(path.to_string(), to.to_string()),
        Action::Delete { path, .. } => Plain::Delete(path.to_string()),
        Action::MakeFolder { path } => Plain::MakeFolder(path.to_string()),
        Action::RemoveFolder { path } => Plain::RemoveFolder(path.to_string()),
        Action::Read {
            paths,
            lines,
            numbers,
            ..
        } => Plain::Read(
            paths.iter().map(ToString::to_string).collect(),
            owned(lines),
            owned(numbers),
        ),
        Action::List { path } => Plain::List(owned(path).unwrap_or_default()),
        Action::Grep {
            pattern,
            path,
            include,
            ..
        } => Plain::Grep(
            pattern.to_string(),
            owned(path).unwrap_or_default(),
            owned(include),
        ),
        Action::Glob { pattern, path } => {
            Plain::Glob(pattern.to_string(), owned(path).unwrap_or_default())
        }
        Action::Exec { script, cwd, .. } => Plain::Exec(text(script), cwd.clone()),
        other => return Err(format!("{other:?}")),
    })
}

fn path() -> impl Strategy<Value = String> {
    "/[a-z]{1,6}(/[a-zA-Zé_0-9-]{1,8}){0,2}\\.[a-z]{1,3}"
}

/// A line that is none of any dialect's own: CML in one line cannot hold its own opening tag without the closing one.
fn line() -> impl Strategy<Value = String> {
    let line = "[a-z][a-zA-Z0-9 (){}<>&$\\\\'\"=é😀-]{0,20}[a-z)]";
    line.prop_filter("a tag", |line| !line.to_ascii_lowercase().contains("<x"))
}

fn lines() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 1..5).prop_map(|lines| lines.join("\n") + "\n")
}

fn plain() -> impl Strategy<Value = Plain> {
    let range = prop_oneof!["[1-9][0-9]?", Just("3-40".to_owned())];
    let between = prop::sample::select(vec![": ", " | ", ""]).prop_map(str::to_owned);
    let glob = prop::sample::select(vec!["*.rs", "src/**/*.{ts,js}"]).prop_map(str::to_owned);
    prop_oneof![
        (path(), lines()).prop_map(|(path, text)| Plain::Write(path, text)),
        (path(), lines()).prop_map(|(path, text)| Plain::Append(path, text)),
        (path(), lines(), lines())
            .prop_map(|(path, search, replace)| Plain::Edit(path, search, replace)),
        (path(), line(), line(), prop::option::of(1_usize..9)).prop_map(
            |(path, search, replace, count)| Plain::ReplaceAll(path, search, replace, count)
        ),
        (path(), range.clone(), line())
            .prop_map(|(path, range, text)| Plain::ReplaceLines(path, range, text)),
        (path(), path()).prop_map(|(path, to)| Plain::Move(path, to)),
        path().prop_map(Plain::Delete),
        path().prop_map(Plain::MakeFolder),
        path().prop_map(Plain::RemoveFolder),
        path().prop_map(|path| Plain::Read(vec![path], None, None)),
        proptest::collection::vec(path(), 2..4).prop_map(|paths| Plain::Read(paths, None, None)),
        (path(), prop::option::of(range), between).prop_map(|(path, range, between)| Plain::Read(
            vec![path],
            range,
            Some(between)
        )),
        path().prop_map(Plain::List),
        (line(), path(), prop::option::of(glob.clone()))
            .prop_map(|(pattern, path, include)| Plain::Grep(pattern, path, include)),
        (glob, path()).prop_map(|(pattern, path)| Plain::Glob(pattern, path)),
        (line(), prop::option::of(path())).prop_map(|(script, cwd)| Plain::Exec(script, cwd)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_action_is_the_same_in_each_dialect(plain in plain()) {
        for dialect in Dialect::ALL {
            // A patch names its files without the slash that makes them absolute.
            let is_patch = matches!(dialect, Dialect::Codex | Dialect::Diff);
            let plain = if is_patch { relative(&plain) } else { plain.clone() };
            let Some(text) = written(&plain, dialect) else { continue };
            let found = scan(&text);
            prop_assert_eq!(found.batches.first().map(|batch| batch.dialect), Some(dialect), "{}", text);
            prop_assert_eq!(read(&text), Ok(plain), "{:?}:\n{}", dialect, text);
        }
    }

    /// Whatever is quoted in a payload of one dialect is never taken for a task of another.
    #[test]
    fn an_action_quoted_in_another_is_not_run(quoted in plain(), outer in prop::sample::select(Dialect::ALL.to_vec())) {
        for dialect in Dialect::ALL {
            let Some(inner) = written(&relative(&quoted), dialect) else { continue };
            // Blocks that end at their first marker cannot quote their own kind.
            if dialect == outer && !matches!(outer, Dialect::Cml | Dialect::Codex) {
                continue;
            }
            let Some(text) = written(&Plain::Write("quoted.md".to_owned(), inner.clone()), outer) else { continue };
            let found = scan(&text);
            prop_assert_eq!(found.batches.len(), 1, "{:?} in {:?}:\n{}", dialect, outer, text);
            prop_assert_eq!(found.batches[0].dialect, outer, "{:?} in {:?}:\n{}", dialect, outer, text);
            prop_assert_eq!(found.batches[0].tasks.len(), 1, "{:?} in {:?}:\n{}", dialect, outer, text);
        }
    }
}

fn relative(plain: &Plain) -> Plain {
    let cut = |path: &String| path.trim_start_matches('/').to_owned();
    match plain {
        Plain::Write(path, text) => Plain::Write(cut(path), text.clone()),
        Plain::Edit(path, search, replace) => {
            Plain::Edit(cut(path), search.clone(), replace.clone())
        }
        Plain::Move(path, to) => Plain::Move(cut(path), cut(to)),
        Plain::Delete(path) => Plain::Delete(cut(path)),
        other => other.clone(),
    }
}
