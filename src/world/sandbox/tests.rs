//! What is asked of the system, without asking it. What it then holds is tested with real scripts elsewhere.

use super::*;

#[test]
fn parents_are_held_below_what_may_be_written() {
    let trees = ["/p", "/t"].map(PathBuf::from);
    let held = |path: &'static str| held(Path::new(path), &trees).collect::<Vec<_>>();
    assert_eq!(held("/p/.git/config"), [Path::new("/p/.git")]);
    assert_eq!(
        held("/p/.config/clada/config.toml"),
        ["/p/.config/clada", "/p/.config"].map(Path::new)
    );
    assert_eq!(held("/p/clada.toml"), [] as [&Path; 0]);
    assert_eq!(held("/h/.config/clada"), [] as [&Path; 0]);
}

#[test]
fn off_is_no_fence() {
    let fence = Fence {
        level: Level::Off,
        network: false,
        temp: temp_dirs(),
        ..Fence::nothing(Path::new("/"))
    };
    assert!(fence.ready(Path::new("/")).unwrap().is_none());
}

#[test]
fn what_is_missing_stands_in_one_line() {
    let line = support().to_string();
    assert!(
        line.starts_with("exec is ") && !line.contains('\n'),
        "{line}"
    );
    if support().by.is_some() {
        assert!(line.starts_with("exec is fenced by "), "{line}");
    }
    let none = Support {
        by: None,
        lacks: vec!["no Landlock".to_owned(), "other".to_owned()],
        ..support().clone()
    };
    assert_eq!(none.to_string(), "exec is not fenced: no Landlock; other");
}
