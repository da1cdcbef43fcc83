//! `plimsoll man`: manual pages, made from the same texts as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_console::man_page::{full_name, page};

use crate::exit::{Done, Usage, unless_closed};

const EXAMPLES: &str = "Examples:
  plimsoll man run > plimsoll-run.1
  plimsoll man workloads show > plimsoll-workloads-show.1
  plimsoll man --folder ~/.local/share/man/man1

The last command writes all pages; `man plimsoll-run` then shows one of them.";

/// Arguments of `plimsoll man`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Subcommand whose page to print [default: plimsoll itself]
    #[arg(value_name = "SUBCOMMAND")]
    subcommand: Vec<String>,
    /// Write the pages of all subcommands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "subcommand")]
    folder: Option<PathBuf>,
}

/// Prints a page, or writes all.
pub(crate) fn run(arguments: &Arguments, command: clap::Command) -> anyhow::Result<Done> {
    let mut command = command.disable_help_subcommand(true);
    // Gives subcommands the flags and the names that they inherit.
    command.build();
    match &arguments.folder {
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            write_all(&command, folder)?;
        }
        None => {
            let page = page(find(&command, &arguments.subcommand)?)?;
            unless_closed(io::stdout().lock().write_all(&page).map_err(Into::into))?;
        }
    }
    Ok(Done::Normally)
}

fn find<'a>(command: &'a clap::Command, words: &[String]) -> anyhow::Result<&'a clap::Command> {
    words.iter().try_fold(command, |command, word| {
        let found = command.find_subcommand(word);
        found.ok_or_else(|| {
            let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            let expected = if names.is_empty() { "no further word".to_owned() } else { names.join(", ") };
            let (given, parent) = (words.join(" "), full_name(command));
            Usage(format!("man {given}: {word} is no subcommand of {parent}; expected {expected}")).into()
        })
    })
}

fn write_all(command: &clap::Command, folder: &Path) -> anyhow::Result<()> {
    let file = folder.join(format!("{}.1", full_name(command)));
    fs::write(&file, page(command)?).with_context(|| format!("cannot write {}", file.display()))?;
    command.get_subcommands().try_for_each(|command| write_all(command, folder))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn pages(command: &clap::Command) -> Vec<(String, String)> {
        let own = (full_name(command).to_owned(), String::from_utf8(page(command).unwrap()).unwrap());
        std::iter::once(own).chain(command.get_subcommands().flat_map(pages)).collect()
    }

    /// The page contains everything in the help: every option, and every example.
    #[test]
    fn a_page_has_all_options_and_examples_of_the_help() {
        let mut command = crate::Arguments::command().disable_help_subcommand(true);
        command.build();
        assert!(pages(&command).len() > 15);
        for (name, page) in pages(&command) {
            let plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
            let words: Vec<String> = name.split('-').skip(1).map(str::to_owned).collect();
            let command = find(&command, &words).unwrap();
            for option in command.get_opts().filter(|option| !option.is_hide_set()) {
                let long = option.get_long().unwrap();
                assert!(plain.contains(&format!("--{long}")), "{name}: --{long}");
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|line| line.contains("plimsoll ")) {
                // Quotes and backslashes are written otherwise in man(7).
                let first: String = line.trim_start().chars().take_while(|c| !"'\"\\".contains(*c)).collect();
                assert!(plain.contains(&first), "{name}: {line}");
            }
        }
    }

    #[test]
    fn an_unknown_subcommand_is_a_usage_error() {
        let command = crate::Arguments::command();
        let error = find(&command, &["nothing".to_owned()]).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("man nothing: nothing is no subcommand of plimsoll; expected analyze, "), "{said}");
        assert!(error.is::<Usage>());
        let error = find(&command, &["analyze".to_owned(), "more".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("expected no further word"), "{error}");
    }
}
