//! The `plimsoll` command: a subcommand a file, arguments in, exit code out.
#![cfg_attr(
    not(all(target_os = "linux", feature = "load")),
    allow(dead_code, reason = "subcommands that drive servers use more of what all share")
)]

mod analyze;
mod anonymize;
mod compare;
mod completions;
#[cfg_attr(not(all(target_os = "linux", feature = "load")), path = "drive/absent.rs")]
mod drive;
mod exit;
mod flags;
mod history;
mod man;
mod report;
mod shell;
mod version;
#[cfg(all(target_os = "linux", feature = "load"))]
mod watch;

use clap::{CommandFactory, Parser, Subcommand};
use plimsoll_console::{interrupt, memory, tip, title};
#[cfg(target_env = "musl")]
use plimsoll_musl as _;

/// The allocator of the packages: musl's own maps and unmaps memory again and again, which costs `analyze` a fifth of its speed.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "Examples:
  plimsoll analyze trace.pcapng
  plimsoll run mixed --target smb://user@server/share --clients 8
  plimsoll demo

Every subcommand has examples: plimsoll analyze --help";

/// Measures response time and throughput of SMB and NFS file servers, per operation.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, long_version = version::long(drive::HAS_KERBEROS), max_term_width = 100, after_help = EXAMPLES)]
// Subcommands by their names, whichever of them are there.
#[command(next_display_order = None)]
struct Arguments {
    #[command(flatten)]
    shell: shell::ShellFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Turn a packet capture of SMB or NFS traffic into response times.
    Analyze(analyze::Arguments),
    /// Copy a packet capture without names, addresses and file data.
    Anonymize(anonymize::Arguments),
    /// Compare recordings or captures, and show which differences are significant.
    Compare(compare::Arguments),
    /// Print a completion script for bash, zsh, fish, PowerShell or elvish.
    Completions(completions::Arguments),
    #[command(flatten)]
    Drive(drive::Command),
    /// Show the numbers of a workload's recordings over time, and when they changed.
    History(history::Arguments),
    /// Print a manual page, or write the pages of all subcommands into a folder.
    Man(man::Arguments),
    /// Print the report of a recording again.
    Report(report::Arguments),
    /// Watch a file server live: capture an interface or read a pipe, and show current response times.
    #[cfg(all(target_os = "linux", feature = "load"))]
    Watch(Box<watch::Arguments>),
}

fn main() -> std::process::ExitCode {
    let Arguments { shell, command } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::no_command(&tip::with_tip(error, drive::is_target)),
    };
    shell.hold();
    exit::code(title::hide_secrets().and_then(|()| dispatch(command)))
}

fn dispatch(command: Command) -> anyhow::Result<exit::Done> {
    match command {
        Command::Analyze(arguments) => analyze::run(arguments),
        Command::Anonymize(arguments) => anonymize::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Completions(arguments) => completions::run(arguments, Arguments::command()),
        Command::Drive(command) => command.run(),
        Command::History(arguments) => history::run(arguments),
        Command::Man(arguments) => man::run(&arguments, Arguments::command()),
        Command::Report(arguments) => report::run(arguments),
        #[cfg(all(target_os = "linux", feature = "load"))]
        Command::Watch(arguments) => watch::run(*arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of each call of the command in a line of shell.
    fn calls(line: &str) -> Vec<Vec<String>> {
        let mut calls: Vec<Vec<String>> = vec![Vec::new()];
        // A shell replaces this by some word.
        let mut line = line.to_owned();
        while let Some((before, after)) = line.split_once("$(") {
            line = format!("{before}1{}", after.split_once(')').map_or("", |(_, after)| after));
        }
        let mut words = shlex::split(&line).unwrap_or_default().into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "|" | "&&" | "||" | "&" | ";" => calls.push(Vec::new()),
                ">" | "<" | ">>" | "2>" => drop(words.next()),
                "2>&1" => {}
                "2>&1;" => calls.push(Vec::new()),
                variable if variable.starts_with('$') => calls.last_mut().unwrap().push("1".to_owned()),
                _ => match word.strip_suffix(';') {
                    Some(last) => {
                        calls.last_mut().unwrap().push(last.to_owned());
                        calls.push(Vec::new());
                    }
                    None => calls.last_mut().unwrap().push(word),
                },
            }
        }
        // `-p plimsoll` is cargo's: the package.
        let command = |words: &[String]| {
            (0..words.len()).find(|&at| words[at] == "plimsoll" && (at == 0 || words[at - 1] != "-p"))
        };
        calls.iter().filter_map(|words| Some(words[command(words)?..].to_vec())).collect()
    }

    /// Commands in `sh` blocks of a page, and those whose output is shown.
    fn commands(page: &str) -> Vec<String> {
        let mut inside = String::new();
        let mut found = Vec::new();
        for line in page.replace("\\\n", " ").lines() {
            match line.strip_prefix("```") {
                Some(language) => language.clone_into(&mut inside),
                None if inside == "sh" => found.push(line.to_owned()),
                None if inside == "console" => found.extend(line.strip_prefix("$ ").map(str::to_owned)),
                None => {}
            }
        }
        found
    }

    #[test]
    fn every_command_in_the_documents_is_one() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let pages = docs.chain(["README.md", "MEASUREMENT.md"].map(|name| root.join(name)));
        let (mut count, mut wrong) = (0, Vec::new());
        for path in pages.filter(|path| path.extension().is_some_and(|end| end == "md")) {
            for line in commands(&std::fs::read_to_string(&path).unwrap()) {
                for words in calls(&line) {
                    count += 1;
                    if let Err(error) = Arguments::try_parse_from(&words)
                        && error.use_stderr()
                    {
                        wrong.push(format!("{}: {line}\n{error}", path.display()));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(count > 80, "{count} commands");
    }

    /// The command, its subcommands, and theirs.
    fn all(command: &clap::Command) -> Vec<clap::Command> {
        let below = command.get_subcommands().flat_map(all);
        std::iter::once(command.clone()).chain(below).collect()
    }

    #[test]
    fn the_commands_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn flags_are_under_the_heading_of_their_own_group() {
        let headings = [("analyze", "Analysis"), ("watch", "Analysis"), ("compare", "")];
        for (name, heading) in headings {
            let command = all(&Arguments::command()).into_iter().find(|command| command.get_name() == name).unwrap();
            let keys =
                command.get_arguments().filter(|flag| flag.get_long().is_some_and(|flag| flag.starts_with("smb-")));
            let by = command.get_arguments().filter(|flag| flag.get_long() == Some("by"));
            for flag in keys.chain(by) {
                assert_eq!(flag.get_help_heading().unwrap_or_default(), heading, "{name} {flag}");
            }
        }
    }

    #[test]
    fn every_subcommand_has_examples_and_they_are_commands() {
        for command in all(&Arguments::command()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = |line: &&str| line.starts_with("  ") && line.contains("plimsoll ");
            let examples: Vec<&str> = help.lines().filter(example).collect();
            let needed = if command.get_name() == "list" { 1 } else { 2 };
            assert!(examples.len() >= needed, "{}: {help}", command.get_name());
            for example in examples {
                assert!(example.len() <= 80, "a terminal would break it into two commands: {example}");
                let (_, words) = example.rsplit_once("plimsoll ").unwrap();
                let words = shlex::split(words).unwrap().into_iter().take_while(|word| !word.starts_with('>'));
                let words = ["plimsoll".to_owned()].into_iter().chain(words);
                let parsed = Arguments::try_parse_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }
}
