//! `plimsoll completions`: completion scripts for shells.

use std::io::{self, Write};

use clap_complete::Shell;

use crate::exit::{Done, unless_closed};

const EXAMPLES: &str = "Examples:
  plimsoll completions bash >~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish

zsh needs `fpath+=~/.zfunc` in ~/.zshrc before compinit.";

/// Arguments of `plimsoll completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: Arguments, mut command: clap::Command) -> anyhow::Result<Done> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "plimsoll", &mut script);
    unless_closed(io::stdout().lock().write_all(&script).map_err(Into::into))?;
    Ok(Done::Normally)
}
