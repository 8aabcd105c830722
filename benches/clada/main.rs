//! The figures that clada promises, each beside a named baseline that is measured in the same run.
//!
//! `cargo bench` prints all of them, `cargo bench -- NAME` those whose name holds that word. A machine is never quiet,
//! so ours and the baseline's rounds alternate; what is printed is the median of each and the median of the ratios of
//! neighbouring rounds, which noise moves least.

#![allow(clippy::print_stdout, reason = "its output is what a benchmark is for")]

mod context;
#[cfg(not(target_os = "macos"))]
mod copied;
mod files;
mod git;
mod listener;
mod many;
mod output;
mod process;
mod project;
mod table;
mod text;
mod tiers;

use table::Row;

/// What is measured together: a name, and what measures it.
type Group = (&'static str, fn(&mut dyn FnMut(Row)));

const GROUPS: &[Group] = &[
    ("save to command", listener::saves),
    #[cfg(not(target_os = "macos"))]
    ("copied reply", copied::round),
    ("idle", listener::idle),
    ("daemon", many::daemon),
    ("changes of other files", listener::storm),
    ("scan of prose", text::scan_prose),
    ("scan of tasks", text::scan_tasks),
    ("scan of every dialect", text::scan_mixed),
    ("check", text::check),
    ("save path", text::save_path),
    ("start", process::start),
    ("exec", process::exec),
    ("fence", process::fence),
    ("many tasks", process::many_tasks),
    ("output", output::flood),
    ("line to file", output::line),
    ("tier", tiers::measure),
    ("edit of one file", files::edit_one),
    ("edit of 200 files", files::edit_many),
    ("new files", files::new_files),
    ("git", git::saves),
    ("context", context::budget),
];

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let by_bench = args.iter().any(|arg| arg == "--bench");
    args.retain(|arg| !arg.starts_with("--"));
    if !by_bench {
        println!("figures are measured by `cargo bench`, not by the tests");
        return;
    }
    let chosen =
        |name: &&Group| args.is_empty() || args.iter().any(|arg| name.0.contains(arg.as_str()));
    table::head();
    for (name, measure) in GROUPS.iter().filter(chosen) {
        measure(&mut |row: Row| row.print(name));
    }
}
