//! Commits beside the branch: `git.target = "side"` leaves HEAD, index and branch as they are, whatever the user does.

use super::{exec, overwrite};
use crate::harness::Project;

/// A repository with a commit, whose batches are saved beside the branch.
fn beside() -> Project {
    let project = Project::begun();
    project.configure("[git]\ntarget = \"side\"\n");
    project
}

/// All that is the user's: HEAD, branches, index (to the byte), reflogs, what is changed.
fn users(project: &Project) -> (String, String, Vec<u8>) {
    let refs = project.git(["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]);
    let head = std::fs::read_to_string(project.path(".git/HEAD")).unwrap();
    let index = std::fs::read(project.path(".git/index")).unwrap();
    (refs, head + &project.git(["reflog", "--all"]), index)
}

fn at(project: &Project, revision: &str, path: &str) -> String {
    project.git(["show", &format!("{revision}:{path}")])
}

#[test]
fn nothing_of_the_users_is_touched() {
    let project = beside();
    project.write("a.txt", "mine\n");
    project.write("staged.txt", "staged\n");
    project.git(["add", "staged.txt"]);
    project.write("new.txt", "new\n");
    let before = users(&project);
    let reply =
        overwrite("b.txt", "b") + &exec("echo c > c.txt; rm a.txt") + &overwrite("d.txt", "d");
    project.runs(&reply);
    assert_eq!(users(&project), before);
    let status = project.git(["status", "--porcelain"]);
    assert_eq!(
        status,
        " D a.txt\nA  staged.txt\n?? b.txt\n?? c.txt\n?? d.txt\n?? new.txt\n"
    );
    assert_eq!(project.subjects("HEAD..refs/clada/main").len(), 5);
    assert_eq!(project.id("refs/clada/main~5"), project.id("HEAD"));
    assert_eq!(at(&project, "refs/clada/main~4", "staged.txt"), "staged\n");
    assert_eq!(at(&project, "refs/clada/main~3", "a.txt"), "mine\n");
    let files = project.git(["ls-tree", "-r", "--name-only", "refs/clada/main"]);
    assert_eq!(files, "b.txt\nc.txt\nd.txt\nstaged.txt\n");
    project.git(["gc", "-q", "--prune=now"]);
    project.runs(&overwrite("b.txt", "again"));
    project.is_sound();
}

#[test]
fn the_user_goes_on_as_usual() {
    let project = beside();
    project.runs(&overwrite("b.txt", "b"));
    let check = |does: &str, number: u32| {
        let head = project.id("HEAD");
        let name = project.git(["rev-parse", "--abbrev-ref", "HEAD"]);
        let side = format!("refs/clada/{}", name.trim());
        let text = number.to_string();
        let before = users(&project);
        project.runs(&overwrite("b.txt", &text));
        assert_eq!(users(&project), before, "{does}");
        assert_eq!(at(&project, &side, "b.txt"), text + "\n", "{does}");
        // What the user committed is part of that history.
        project.git(["merge-base", "--is-ancestor", &head, &side]);
        let differs = project.git(["diff", "--name-only", &side]);
        assert_eq!(differs, "", "{does}: the history is not what is there");
        project.git(["gc", "-q", "--prune=now"]);
        project.is_sound();
    };
    project.commit("mine");
    check("commits", 1);
    project.git(["commit", "-qam", "again"]);
    project.git(["commit", "-q", "--amend", "-m", "amended"]);
    check("amends", 2);
    project.git(["stash", "-q"]);
    project.git(["checkout", "-qb", "topic", "HEAD~1"]);
    check("switches branches", 3);
    project.write("t.txt", "topic\n");
    project.commit("topic");
    project.git(["rebase", "-q", "main", "-X", "theirs"]);
    check("rebases", 4);
    project.git(["checkout", "-q", "-f", "main"]);
    project.git(["branch", "-qD", "topic"]);
    check("deletes the branch", 5);
    // Another branch of that name goes on with the old history.
    let old = project.id("refs/clada/topic");
    project.git(["checkout", "-q", "-f", "-b", "topic"]);
    check("begins it anew", 6);
    project.git(["merge-base", "--is-ancestor", &old, "refs/clada/topic"]);
    project.git(["checkout", "-q", "-f", "--detach"]);
    check("is on no branch", 7);
    project.git(["checkout", "-q", "-f", "--orphan", "fresh"]);
    project.runs(&overwrite("b.txt", "8"));
    assert_eq!(at(&project, "refs/clada/fresh", "b.txt"), "8\n");
    project.is_sound();
}

#[test]
fn names_of_branches_may_be_in_each_others_way() {
    let project = beside();
    for (at, name) in ["a/b", "a", "a/b/c"].into_iter().enumerate() {
        project.git(["checkout", "-q", "-f", "-b", name]);
        project.runs(&overwrite("b.txt", name));
        project.git(["checkout", "-q", "-f", "main"]);
        project.git(["branch", "-qD", name]);
        let side = format!("refs/clada/{name}");
        assert_eq!(
            project.git(["show", &format!("{side}:b.txt")]),
            format!("{name}\n")
        );
        // Those that gave way are still there.
        let gone = project.git(["for-each-ref", "refs/clada-gone"]);
        assert_eq!(gone.lines().count(), at, "{gone}");
    }
    project.is_sound();
}

#[test]
fn linked_work_trees_have_histories_of_their_own() {
    let project = beside();
    project.git(["worktree", "add", "-q", "--detach", "../linked"]);
    project.git(["checkout", "-q", "--detach"]);
    let linked = project.root().parent().unwrap().join("linked");
    let root = linked.display().to_string();
    project
        .clada_with(["run", "--root", &root], &overwrite("b.txt", "linked"))
        .exits(0);
    project.runs(&overwrite("b.txt", "main"));
    assert_eq!(at(&project, "refs/clada/HEAD@linked", "b.txt"), "linked\n");
    assert_eq!(at(&project, "refs/clada/HEAD", "b.txt"), "main\n");
    project.is_sound();
}

#[test]
fn its_own_index_may_be_missing_damaged_or_old() {
    let project = beside();
    let own = project.path(".git/clada-index");
    let users = project.path(".git/index");
    project.runs(&overwrite("b.txt", "0"));
    let damage: [(&str, &dyn Fn()); 5] = [
        ("missing", &|| std::fs::remove_file(&own).unwrap()),
        ("empty", &|| std::fs::write(&own, "").unwrap()),
        ("damaged", &|| {
            let mut bytes = std::fs::read(&own).unwrap();
            bytes[40] ^= 1;
            std::fs::write(&own, bytes).unwrap();
        }),
        ("the user's too", &|| {
            std::fs::remove_file(&own).unwrap();
            std::fs::remove_file(&users).unwrap();
        }),
        ("of content that is gone", &|| {
            project.write("b.txt", "gone");
            let mut add = project.command("git");
            add.args(["add", "b.txt"]).env("GIT_INDEX_FILE", &own);
            assert!(add.status().unwrap().success());
            let id = project.git(["hash-object", "b.txt"]);
            let (folder, name) = id.trim().split_at(2);
            std::fs::remove_file(project.path(".git/objects").join(folder).join(name)).unwrap();
        }),
    ];
    for (number, (what, does)) in damage.into_iter().enumerate() {
        does();
        let text = (number + 1).to_string();
        let said = project.runs(&overwrite("c.txt", &text)).out;
        assert!(!said.contains('⚠'), "{what}: {said}");
        assert_eq!(
            at(&project, "refs/clada/main", "c.txt"),
            text + "\n",
            "{what}"
        );
        project.is_sound();
    }
    assert_eq!(at(&project, "refs/clada/main", "b.txt"), "gone");
}

/// What the user tells git of a file holds for clada too, also when that comes later.
#[test]
fn marks_of_the_users_index_hold() {
    let project = beside();
    project.write("dir/deep.txt", "deep\n");
    project.commit("more");
    project.runs(&overwrite("b.txt", "b"));
    project.git(["sparse-checkout", "set", "--no-cone", "/*.txt"]);
    assert!(!project.exists("dir/deep.txt"));
    project.git(["update-index", "--assume-unchanged", "a.txt"]);
    project.write("a.txt", "kept to myself\n");
    project.runs(&overwrite("b.txt", "c"));
    assert_eq!(at(&project, "refs/clada/main", "dir/deep.txt"), "deep\n");
    assert_eq!(at(&project, "refs/clada/main", "a.txt"), "one\n");
    project.is_sound();
}

#[test]
fn what_would_lead_elsewhere_is_refused() {
    let victim = |project: &Project| project.home().join("victim");
    type Plant<'p> = (&'p str, &'p dyn Fn(&Project));
    let plants: [Plant<'_>; 3] = [
        ("clada-index", &|project| {
            let own = project.path(".git/clada-index");
            std::fs::remove_file(&own).unwrap();
            std::os::unix::fs::symlink(victim(project), own).unwrap();
        }),
        ("refs/clada/main", &|project| {
            project.git(["symbolic-ref", "refs/clada/main", "refs/heads/main"]);
        }),
        ("refs/clada", &|project| {
            let refs = project.path(".git/refs/clada");
            std::fs::remove_dir_all(&refs).unwrap();
            std::os::unix::fs::symlink(project.home(), refs).unwrap();
        }),
    ];
    for (what, plant) in plants {
        let project = beside();
        project.runs(&overwrite("b.txt", "b"));
        std::fs::write(victim(&project), "victim").unwrap();
        plant(&project);
        let before = project.id("refs/heads/main");
        let said = project
            .clada_with(["run"], &overwrite("b.txt", "c"))
            .exits(1)
            .out;
        assert!(said.contains("leads elsewhere"), "{what}: {said}");
        assert_eq!(project.read("b.txt"), "b\n", "{what}");
        assert_eq!(std::fs::read_to_string(victim(&project)).unwrap(), "victim");
        assert_eq!(project.id("refs/heads/main"), before);
    }
}

#[test]
fn a_push_leaves_it_here() {
    let project = beside();
    project.git(["init", "-q", "--bare", "../remote.git"]);
    project.git(["remote", "add", "origin", "../remote.git"]);
    project.runs(&overwrite("b.txt", "b"));
    project.git(["push", "-q", "-u", "origin", "main"]);
    project.git(["push", "-q", "--all", "origin"]);
    let there = project.git(["ls-remote", "origin", "refs/*"]);
    assert_eq!(there.lines().count(), 1, "{there}");
}
