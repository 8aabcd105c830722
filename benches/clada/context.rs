//! Figures of `clada context --budget` in a generated repository of 5,000 files, with and without its cache.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use crate::project::{CLADA, Project, whole};
use crate::table::{Row, ms, paired};

/// The files of the repository, and those in one folder.
const FILES: usize = 5000;
const FOLDER: usize = 25;

pub(crate) fn budget(print: &mut dyn FnMut(Row)) {
    let project = repository();
    let clada = |args: &[&str]| {
        let mut command = project.command(CLADA);
        command.arg("context").args(args);
        command
    };
    whole(clada(&["add", "crate000/file000007.rs", "--as", "outline"]));
    let cache = project.path("home/.local/state/clada/code");
    let grep = || {
        let mut command = project.command("git");
        command.args(["grep", "-c", "."]);
        whole(command)
    };
    let fits = || whole(clada(&["--budget", "60k", "--for", "load the widget"]));
    let cold = || {
        let _ = fs::remove_dir_all(&cache);
        fits()
    };
    let seconds = Duration::from_secs(2);
    let pair = paired(5, cold, grep);
    let row = |what: &str, pair: &crate::table::Pair, limit: Duration| Row {
        what: format!("60k of {FILES} files, {what}"),
        ours: ms(pair.ours),
        baseline: ("git grep -c .", ms(pair.theirs)),
        ratio: pair.ratio,
        goal: Some((format!("< {} ms", limit.as_millis()), pair.ours < limit)),
    };
    print(row("cold", &pair, seconds));
    let pair = paired(15, fits, grep);
    print(row("cached", &pair, Duration::from_millis(300)));
    let list = || whole(clada(&["list"]));
    let pair = paired(15, list, grep);
    print(Row {
        what: "list".to_owned(),
        goal: None,
        ..row("", &pair, seconds)
    });
}

/// A repository with code that refers to other code, in several languages.
fn repository() -> Project {
    let project = Project::new();
    for number in 0..FILES {
        let (ending, text) = match number % 10 {
            0..5 => ("rs", rust(number)),
            5..7 => ("py", python(number)),
            7..9 => ("ts", typescript(number)),
            _ => ("go", go(number)),
        };
        let folder = project.path(&format!("root/crate{:03}", number / FOLDER));
        fs::create_dir_all(&folder).expect("mkdir");
        fs::write(folder.join(format!("file{number:06}.{ending}")), text).expect("write");
    }
    // The file that the set has.
    fs::write(project.path("root/crate000/file000007.rs"), rust(7)).expect("write");
    project.commit();
    project
}

/// The files that a file refers to.
fn others(number: usize) -> [usize; 3] {
    [number / 2, number / 3 + 1, (number * 7 + 11) % FILES]
}

fn rust(number: usize) -> String {
    let mut text =
        format!("//! The part {number} of the program.\n\nuse std::collections::HashMap;\n\n");
    for other in others(number) {
        let _ = writeln!(text, "use crate::file{other:06}::Widget{other};");
    }
    let _ = writeln!(
        text,
        "\n/// A widget.\npub struct Widget{number} {{\n    names: HashMap<String, usize>,\n    size: usize,\n}}\n\nimpl Widget{number} {{"
    );
    for method in 0..10 {
        let other = others(number)[method % 3];
        let _ = writeln!(
            text,
            "    /// Loads step {method}.\n    pub fn load_step_{number}_{method}(&mut self, name: &str) -> Option<usize> {{\n        \
             let found = self.names.get(name).copied()?;\n        \
             if found > {method} {{\n            self.size += Widget{other}::default().load_step_{other}_{method}(name)?;\n        }}\n        \
             for index in 0..self.size {{\n            if index % 3 == {method} {{\n                return Some(index + found);\n            }}\n        }}\n        \
             Some(found)\n    }}\n"
        );
    }
    text + "}\n"
}

fn python(number: usize) -> String {
    let mut text = format!("\"\"\"The part {number} of the program.\"\"\"\n\n");
    for other in others(number) {
        let _ = writeln!(text, "from file{other:06} import Widget{other}");
    }
    let _ = writeln!(
        text,
        "\n\nclass Widget{number}:\n    def __init__(self, names):\n        self.names = names\n"
    );
    for method in 0..10 {
        let other = others(number)[method % 3];
        let _ = writeln!(
            text,
            "    def load_step_{number}_{method}(self, name):\n        \"\"\"Loads step {method}.\"\"\"\n        \
             found = self.names.get(name)\n        if found is None:\n            return Widget{other}(self.names)\n        \
             for index in range(found):\n            if index % 3 == {method}:\n                return index + found\n        return found\n"
        );
    }
    text
}

fn typescript(number: usize) -> String {
    let mut text = String::new();
    for other in others(number) {
        let _ = writeln!(text, "import {{ Widget{other} }} from './file{other:06}';");
    }
    let _ = writeln!(
        text,
        "\nexport class Widget{number} {{\n  constructor(private names: Map<string, number>) {{}}\n"
    );
    for method in 0..10 {
        let other = others(number)[method % 3];
        let _ = writeln!(
            text,
            "  /** Loads step {method}. */\n  loadStep{number}of{method}(name: string): number | undefined {{\n    \
             const found = this.names.get(name);\n    if (found === undefined) {{\n      return new Widget{other}(this.names).names.size;\n    }}\n    \
             for (let index = 0; index < found; index += 1) {{\n      if (index % 3 === {method}) {{\n        return index + found;\n      }}\n    }}\n    return found;\n  }}\n"
        );
    }
    text + "}\n"
}

fn go(number: usize) -> String {
    let mut text = format!(
        "// Package part{number} is a part of the program.\npackage part{number}\n\nimport \"fmt\"\n\ntype Widget{number} struct {{\n\tnames map[string]int\n}}\n\n"
    );
    for method in 0..10 {
        let other = others(number)[method % 3];
        let _ = writeln!(
            text,
            "// LoadStep{number}of{method} loads step {method}.\nfunc (w *Widget{number}) LoadStep{number}of{method}(name string) (int, error) {{\n\t\
             found, ok := w.names[name]\n\tif !ok {{\n\t\treturn 0, fmt.Errorf(\"no %s in Widget{other}\", name)\n\t}}\n\t\
             for index := 0; index < found; index++ {{\n\t\tif index%3 == {method} {{\n\t\t\treturn index + found, nil\n\t\t}}\n\t}}\n\treturn found, nil\n}}\n"
        );
    }
    text
}
