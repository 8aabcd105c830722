//! `clada outline`: lists the definitions in files; and the process that parses code for clada.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::OutlineArgs;
use crate::cli::terminal;
use crate::error::Error;
use crate::listener::project::{self, SeenProject};
use crate::reply::task::Action;
use crate::report::outcome::{Section, Status};
use crate::run::files;
use crate::settings::places::Folders;
use crate::start;
use crate::world::syntax;

/// Prints outlines.
///
/// # Errors
/// Where the root or the settings cannot be used.
pub fn main(args: &OutlineArgs) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (given, root) = start::find_root(args.root.as_deref())?;
    let own = start::watched_in(&folders, &root);
    let SeenProject { mut disk, mask, .. } = project::seen((&given, &root), &folders, &own)?;
    let all = vec![".".into()];
    let named = args.paths.iter().map(Into::into).collect();
    let action = Action::Outline {
        paths: if args.paths.is_empty() { all } else { named },
        only_public: args.public,
    };
    let outcome = files::perform(&action, &mut disk);
    if outcome.status == Status::Failed {
        let said = format!("clada: {}\n", outcome.said());
        terminal::stderr().write_all(said.as_bytes())?;
        return Ok(ExitCode::FAILURE);
    }
    if args.json {
        terminal::print_json(&mask.value(outcome.data))?;
        return Ok(ExitCode::SUCCESS);
    }
    for section in &outcome.sections {
        if let Section::Text(text) = section {
            terminal::stdout().write_all(mask.text(text).as_bytes())?;
        }
    }
    writeln!(terminal::stderr(), "{}", outcome.said())?;
    Ok(ExitCode::SUCCESS)
}

/// Parses the texts that another clada process sends.
///
/// # Errors
/// Where that process sends none, or reads no answer.
pub fn parse() -> Result<ExitCode, Error> {
    syntax::serve()?;
    Ok(ExitCode::SUCCESS)
}
