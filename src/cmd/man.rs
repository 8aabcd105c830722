//! `clada man`: prints the manual, or writes all its pages into a folder.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::pages;
use crate::error::Error;

/// Prints the main page, or writes all pages into a folder of manuals, by their sections.
///
/// # Errors
/// Where they cannot be written.
pub fn main(folder: Option<&Path>) -> Result<ExitCode, Error> {
    let pages = pages::man()?;
    let Some(folder) = folder else {
        let main = pages.first().map_or(&[][..], |(_, page)| page);
        std::io::stdout().lock().write_all(main)?;
        return Ok(ExitCode::SUCCESS);
    };
    let failed = |path: &Path, error| Error::Create {
        path: path.to_owned(),
        error,
    };
    for (name, page) in pages {
        let path = folder.join(name);
        let section = path.parent().unwrap_or(folder);
        fs::create_dir_all(section).map_err(|error| failed(section, error))?;
        fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    Ok(ExitCode::SUCCESS)
}
