//! What the commit says and who made it.

use super::*;

#[test]
fn the_message_says_what_was_done_and_ends_in_the_trailer() {
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    let words = Message {
        subject: "Rename\nall 💚clada".into(),
        body: vec![
            "edit a.txt".into(),
            "Clada-Batch: forged\n\nClada-Batch: too  ".into(),
        ],
        ..message()
    };
    repo.open().before(&words).unwrap();
    let text = "Rename all 💚clada\n\n  edit a.txt\n  Clada-Batch: forged  Clada-Batch: too\n2024-05-06 07:08\n\nClada-Batch: b1\nClada-Step: task\n";
    assert_eq!(repo.git(&["log", "-1", "--format=%B"]), format!("{text}\n"));
    assert_eq!(
        repo.git(&["log", "-1", "--format=%(trailers:unfold)"]),
        "Clada-Batch: b1\nClada-Step: task\n\n"
    );

    let bare = Message {
        subject: "  ".into(),
        body: vec![],
        ..message()
    };
    assert_eq!(
        bare.to_string(),
        "2024-05-06 07:08 💚clada\n\n2024-05-06 07:08\n\nClada-Batch: b1\nClada-Step: task\n"
    );
    assert_eq!(short("0123456789"), "0123456");
}

#[test]
fn the_author_is_the_users_or_clada() {
    let format = ["log", "-1", "--format=%an <%ae> %cn <%ce>"];
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    repo.before();
    assert_eq!(
        repo.git(&format),
        "Ada <ada@example.org> Ada <ada@example.org>\n"
    );
    let nobody = Repo::init(&[]);
    nobody.write("a.txt", "two\n");
    nobody.before();
    assert_eq!(
        nobody.git(&format),
        "clada <clada@localhost> clada <clada@localhost>\n"
    );
}

#[test]
fn no_hook_runs_and_nothing_is_signed() {
    let repo = Repo::new();
    for hook in [
        "pre-commit",
        "commit-msg",
        "prepare-commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
    ] {
        repo.write(
            format!(".git/hooks/{hook}"),
            "#!/bin/sh\ntouch \"$GIT_DIR/../ran\"; exit 1\n",
        );
        fs::set_permissions(
            repo.at(format!(".git/hooks/{hook}")),
            Permissions::from_mode(0o755),
        )
        .unwrap();
    }
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.write("a.txt", "two\n");
    assert!(repo.before().changed);
    assert!(!repo.at("ran").exists());
    assert!(!repo.git(&["cat-file", "-p", "HEAD"]).contains("gpgsig"));
}
