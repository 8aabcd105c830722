//! The pages of `docs/` that are references name all that exists: every command, dialect and section of the settings.

use clada::reply::dialect::Dialect;
use clada::reply::task::Command;
use clada::settings::DEFAULTS;

use crate::cases;

fn page(name: &str) -> String {
    let path = cases::root().join("docs").join(name).with_extension("md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_page_about_cml_names_every_command() {
    let page = page("cml");
    let lacks = Command::all()
        .flat_map(Command::names)
        .filter(|name| !page.contains(&format!("`{name}`")));
    assert_eq!(lacks.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn the_page_about_dialects_names_each_of_them() {
    let page = page("dialects");
    let others = Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Cml);
    for dialect in others {
        let name = dialect.name();
        assert!(page.contains(&format!("[`{name}`](#")), "{name}");
    }
}

#[test]
fn the_page_about_settings_names_every_section() {
    let page = page("settings");
    let sections = DEFAULTS.lines().filter(|line| line.starts_with('['));
    let sections: Vec<&str> = sections.filter(|line| !line.contains('.')).collect();
    assert!(sections.len() > 10, "{sections:?}");
    for section in sections {
        assert!(page.contains(&format!("| `{section}` |")), "{section}");
    }
}
