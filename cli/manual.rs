//! `etwas completions SHELL` and `etwas man`: what a package of the command installs beside it, made from the
//! command line's own declaration, so that it cannot fall behind. Hidden from `--help`: people who package use it.

use std::fmt::Display;

use clap::CommandFactory;
use clap_complete::generate;
use clap_mangen::Man;

use crate::OK;
use crate::args::{Args, Completions, ManualPage};
use crate::output::{self, Failure};

/// Prints the completions of one shell.
pub fn completions(args: &Completions) -> Result<u8, Failure> {
    // Into memory first: the generator does not expect that a reader can go away.
    let mut script = Vec::new();
    generate(args.shell, &mut Args::command(), "etwas", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(OK)
}

/// Prints the manual page of the whole command, or writes one for it and for each subcommand into a folder.
pub fn man(args: &ManualPage) -> Result<u8, Failure> {
    if let Some(folder) = &args.folder {
        let unwritable = |error: &dyn Display| {
            Failure(format!("cannot write manual pages into {}: {error}", folder.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
        clap_mangen::generate_to(Args::command(), folder).map_err(|error| unwritable(&error))?;
        return Ok(OK);
    }
    let mut page = Vec::new();
    Man::new(Args::command()).render(&mut page)?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(OK)
}
