//! The settings that hold, each with where it comes from, and what does not hold, for a person or a program to read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, json};
use toml::{Table, Value};

use super::file::{File, joined};
use super::{Folders, SettingsError, SettingsLayers, not_trusted};

/// The longest list that is written on one line.
const LINE: usize = 80;

/// The settings in effect for a root, and those that are not.
pub struct Effective {
    /// The user's file and the project's.
    files: [PathBuf; 2],
    holds: Vec<Setting>,
    /// The settings of the project's file that nobody has trusted.
    untrusted: Vec<Setting>,
}

/// One setting.
struct Setting {
    path: String,
    value: Value,
    /// `default`, or whose file says it.
    from: &'static str,
    place: Option<(PathBuf, usize)>,
}

impl Effective {
    /// Reads what holds for a root, given by its canonical path, and what is wrong. Of a wrong file it is what can be read.
    pub fn load(folders: &Folders, root: &Path) -> (Self, Vec<SettingsError>) {
        let (layers, wrong, _) = SettingsLayers::readable(folders, root);
        let [user, project, trusted] =
            [&layers.user, &layers.project, &layers.trusted].map(|file| {
                let (leaves, lines) = (leaves(&file.table), file.lines());
                Layer {
                    file,
                    leaves,
                    lines,
                }
            });
        let asked = leaves(&layers.asked);
        let setting = |(path, value): (String, &Value)| {
            let (from, place) = if trusted.has(&path) {
                // The copy is named where the file says something else by now.
                let is_there = asked
                    .iter()
                    .any(|(key, said)| *key == path && *said == value);
                let layer = if is_there { &project } else { &trusted };
                ("trusted", layer.place(&path))
            } else if project.has(&path) {
                ("project", project.place(&path))
            } else if user.has(&path) {
                ("user", user.place(&path))
            } else {
                ("default", None)
            };
            Setting {
                path,
                value: value.clone(),
                from,
                place,
            }
        };
        let all = layers.all();
        let holds = leaves(&all).into_iter().map(setting).collect();
        let names: Vec<&str> = not_trusted(&layers.asked, &layers.trusted.table).collect();
        let is_of = |path: &str, name: &str| {
            path.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let waits = |(path, value): &(String, &Value)| {
            let is_held = trusted
                .leaves
                .iter()
                .any(|(key, held)| key == path && held == value);
            !is_held && names.iter().any(|name| is_of(path, name))
        };
        let untrusted = asked.iter().filter(|leaf| waits(leaf));
        let untrusted = untrusted.map(|(path, value)| Setting {
            path: path.clone(),
            value: (*value).clone(),
            from: "project",
            place: project.place(path),
        });
        let untrusted = untrusted.collect();
        let effective = Self {
            files: [layers.user.path, layers.project.path],
            holds,
            untrusted,
        };
        (effective, wrong)
    }

    /// As a file of settings that says all of it, with where it comes from in comments.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (whose, file) in ["Yours:       ", "The project's:"].iter().zip(&self.files) {
            let missing = if file.exists() {
                ""
            } else {
                " (does not exist)"
            };
            let _ = writeln!(text, "# {whose:14} {}{missing}", file.display());
        }
        let mut last = "";
        for setting in &self.holds {
            let section = setting.section();
            if section != std::mem::replace(&mut last, section) {
                let _ = write!(text, "\n[{section}]\n");
            }
            text += &setting.line();
        }
        if !self.untrusted.is_empty() {
            text += "\n# Not in effect until you run `clada trust`:\n";
        }
        for setting in &self.untrusted {
            for line in setting.whole_line().lines() {
                let _ = writeln!(text, "#   {line}");
            }
        }
        text
    }

    /// As one JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        let all = |settings: &[Setting]| {
            let all = settings.iter().map(|setting| {
                let (file, line) = setting.place.as_ref().map_or((None, None), |(file, line)| {
                    (Some(file.display().to_string()), Some(*line))
                });
                let about = json!({
                    "value": setting.value,
                    "from": setting.from,
                    "file": file,
                    "line": line,
                });
                (setting.path.clone(), about)
            });
            all.collect::<Map<_, _>>()
        };
        let [user, project] = self.files.each_ref().map(|file| file.display().to_string());
        json!({
            "user": user,
            "project": project,
            "settings": all(&self.holds),
            "untrusted": all(&self.untrusted),
        })
    }
}

impl Setting {
    /// Empty for what stands above all sections.
    fn section(&self) -> &str {
        let empty = matches!(&self.value, Value::Table(_));
        match self.path.split_once('.') {
            Some((section, _)) => section,
            None if empty => &self.path,
            None => "",
        }
    }

    /// Below its section.
    fn line(&self) -> String {
        match self.path.strip_prefix(self.section()) {
            // An empty section.
            Some("") => String::new(),
            Some(key) => self.line_of(key.trim_start_matches('.')),
            None => self.whole_line(),
        }
    }

    fn whole_line(&self) -> String {
        self.line_of(&self.path)
    }

    fn line_of(&self, key: &str) -> String {
        let whose = match self.from {
            "trusted" => ", trusted",
            _ => "",
        };
        let from = match &self.place {
            Some((file, line)) => format!("{}:{line}{whose}", file.display()),
            None => self.from.to_owned(),
        };
        let short = self.value.to_string();
        match &self.value {
            Value::Array(values) if short.len() > LINE || short.contains('\n') => {
                let values = values.iter().map(|value| format!("    {value},\n"));
                format!("{key} = [  # {from}\n{}]\n", values.collect::<String>())
            }
            _ => format!("{key} = {short}  # {from}\n"),
        }
    }
}

/// One file, and what it says.
struct Layer<'l> {
    file: &'l File,
    leaves: Vec<(String, &'l Value)>,
    lines: Vec<(String, usize)>,
}

impl Layer<'_> {
    fn has(&self, path: &str) -> bool {
        self.leaves.iter().any(|(known, _)| known == path)
    }

    fn place(&self, path: &str) -> Option<(PathBuf, usize)> {
        let (_, line) = self.lines.iter().find(|(known, _)| known == path)?;
        Some((self.file.path.clone(), *line))
    }
}

/// Returns the values of a table, each with its path. An empty table counts as a value.
pub(super) fn leaves(table: &Table) -> Vec<(String, &Value)> {
    fn collect<'t>(table: &'t Table, prefix: &str, into: &mut Vec<(String, &'t Value)>) {
        for (key, value) in table {
            let path = joined(prefix, key);
            match value {
                Value::Table(table) if !table.is_empty() => collect(table, &path, into),
                _ => into.push((path, value)),
            }
        }
    }
    let mut found = Vec::new();
    collect(table, "", &mut found);
    found
}
