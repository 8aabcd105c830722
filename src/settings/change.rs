//! Changes one setting of the user's own file, and leaves every other byte of it as it is. Never changes a project's.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table};

use super::file::{File, parse};
use super::{Folders, Settings, SettingsError, USER};
use crate::world::state;

/// The section and the key of the setting.
const SECTION: &str = "clipboard";
const KEY: &str = "watch";

impl Settings {
    /// Turns on the watching of the clipboard, and returns the user's file that says so. A link to it stays one.
    ///
    /// # Errors
    /// Where the file cannot be read or written; it is then as it was.
    pub fn watch_clipboard(folders: &Folders) -> Result<PathBuf, SettingsError> {
        let file = File::read_own(&folders.config.join(USER))?;
        let path = file.path.canonicalize().unwrap_or(file.path);
        let changed = turned_on(&file.text, &file.table);
        let Some(text) = changed else {
            return Err(SettingsError::NotSet(path));
        };
        if text != file.text {
            write(&path, &text).map_err(|error| SettingsError::Write {
                path: path.clone(),
                error,
            })?;
        }
        Ok(path)
    }
}

/// Returns the text with the setting turned on; `None` where nothing that was tried comes to that and changes nothing else.
fn turned_on(text: &str, table: &Table) -> Option<String> {
    let mut wanted = table.clone();
    let section = wanted.entry(SECTION).or_insert(Table::new().into());
    section.as_table_mut()?.insert(KEY.to_owned(), true.into());
    let is_wanted = |text: &String| parse(text).is_ok_and(|table| table == wanted);
    candidates(text).into_iter().find(is_wanted)
}

/// Returns the texts that may say so, the most fitting first.
fn candidates(text: &str) -> Vec<String> {
    let all = DeTable::parse(text).ok();
    let section = all
        .as_ref()
        .and_then(|all| all.get_ref().get_key_value(SECTION));
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some((name, section)) = section else {
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => end,
            _ => &end.repeat(2),
        };
        return vec![format!("{text}{gap}[{SECTION}]{end}{KEY} = true{end}")];
    };
    if let Some(value) = value(section) {
        let mut changed = text.to_owned();
        changed.replace_range(value, "true");
        return vec![changed];
    }
    let put = |at: usize, new: &str| format!("{}{new}{}", &text[..at], &text[at..]);
    let name = name.span().start;
    let line = text[..name].rfind('\n').map_or(0, |at| at + 1);
    let below = match text[name..].find('\n') {
        Some(at) => put(name + at + 1, &format!("{KEY} = true{end}")),
        None => format!("{text}{end}{KEY} = true{end}"),
    };
    let beside = put(line, &format!("{SECTION}.{KEY} = true{end}"));
    // Between the braces of a table on one line.
    let brace = section.span().start + 1;
    let within = text.get(..brace).map_or(Vec::new(), |_| {
        vec![
            put(brace, &format!(" {KEY} = true ")),
            put(brace, &format!(" {KEY} = true,")),
        ]
    });
    [vec![below, beside], within].concat()
}

/// The place of the value, where there is one.
fn value(section: &Spanned<DeValue<'_>>) -> Option<std::ops::Range<usize>> {
    match section.get_ref() {
        DeValue::Table(keys) => keys.get(KEY).map(Spanned::span),
        _ => None,
    }
}

/// Replaces the file as a whole. One that is there keeps its mode.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let _lock = state::lock(folder)?;
    let old = fs::metadata(path).ok();
    state::replace(path, &path.with_extension("toml.new"), |file| {
        if let Some(old) = &old {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the changed text.
    #[track_caller]
    fn check(text: &str, changed: &str) {
        let table = parse(text).expect(text);
        let found = turned_on(text, &table).expect(text);
        assert_eq!(found, changed);
        let on = parse(&found).expect(changed);
        assert_eq!(on[SECTION][KEY], toml::Value::Boolean(true));
    }

    #[test]
    fn one_setting_is_changed_and_nothing_else() {
        check("", "[clipboard]\nwatch = true\n");
        check("# mine", "# mine\n\n[clipboard]\nwatch = true\n");
        check(
            "[exec]\ntimeout = '5m' # long\n# end\n",
            "[exec]\ntimeout = '5m' # long\n# end\n\n[clipboard]\nwatch = true\n",
        );
        check(
            "[exec]\r\ntimeout = '5m'\r\n",
            "[exec]\r\ntimeout = '5m'\r\n\r\n[clipboard]\r\nwatch = true\r\n",
        );
        // A section that is there.
        check(
            "  [ clipboard ]  # copied\nenabled = false\n\n[log]\n",
            "  [ clipboard ]  # copied\nwatch = true\nenabled = false\n\n[log]\n",
        );
        check("[clipboard]", "[clipboard]\nwatch = true\n");
        check(
            "[\"clipboard\"]\r\nlimit = '9 KB'",
            "[\"clipboard\"]\r\nwatch = true\r\nlimit = '9 KB'",
        );
        check(
            "# a\nclipboard.limit = '9 KB'\n[log]\n",
            "# a\nclipboard.watch = true\nclipboard.limit = '9 KB'\n[log]\n",
        );
        check(
            "clipboard = { enabled = false }\n",
            "clipboard = { watch = true, enabled = false }\n",
        );
        check("clipboard = {}\n", "clipboard = { watch = true }\n");
        // The value is there.
        for (before, after) in [
            (
                "[clipboard]\nwatch   =  false # no\n",
                "[clipboard]\nwatch   =  true # no\n",
            ),
            ("clipboard.watch = false\n", "clipboard.watch = true\n"),
            (
                "clipboard = { watch = false }",
                "clipboard = { watch = true }",
            ),
            ("[clipboard]\nwatch = true", "[clipboard]\nwatch = true"),
        ] {
            check(before, after);
        }
        // What looks like the section is not always one.
        let quoted = "[[hooks.after]]\nrun = '''\n[clipboard]\n'''\n";
        check(quoted, &format!("{quoted}\n[clipboard]\nwatch = true\n"));
    }
}
