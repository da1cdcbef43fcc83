//! `plimsoll workloads`: lists and describes the workloads.

use std::io::{self, Write};

use plimsoll_report::safe::for_terminal;
use plimsoll_workload::{BUILTINS, Builtin, FileSet, Workload};

use crate::exit::{Done, Usage, unless_closed};

const EXAMPLES: &str = "Examples:
  plimsoll workloads list
  plimsoll workloads show mixed > mine.toml";

/// Arguments of `plimsoll workloads`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the built-in workloads, one per line.
    #[command(after_help = "Examples:\n  plimsoll workloads list")]
    List,
    /// Print the JSON Schema of workload files, for editors (docs/workload-reference.md).
    #[command(
        after_help = "Examples:\n  plimsoll workloads schema > plimsoll.workload.schema.json\n  plimsoll workloads schema"
    )]
    Schema,
    /// Print a workload file with its comments, as a template for your own.
    #[command(
        after_help = "Examples:\n  plimsoll workloads show mixed > mine.toml\n  plimsoll workloads show mine.toml"
    )]
    Show {
        /// Name of a built-in workload, or a workload file
        #[arg(value_name = "NAME|FILE")]
        name: String,
    },
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let mut out = Vec::new();
    match arguments.command {
        Command::List => list(&mut out)?,
        Command::Schema => writeln!(out, "{:#}", plimsoll_workload::schema())?,
        Command::Show { name } => show(&name, &mut out)?,
    }
    unless_closed(io::stdout().lock().write_all(&out).map_err(Into::into))?;
    Ok(Done::Normally)
}

fn list(out: &mut impl Write) -> anyhow::Result<()> {
    let widest = BUILTINS.iter().map(|builtin| builtin.name.len()).max().unwrap_or(0);
    for builtin in BUILTINS {
        let name = builtin.name;
        match builtin.workload() {
            Ok(workload) => writeln!(out, "{name:widest$}  {} ({})", workload.description(), files(&workload)?)?,
            // A load file that is not on this machine.
            Err(error) => writeln!(out, "{name:widest$}  not available: {}", error.problem)?,
        }
    }
    Ok(())
}

/// Prints the file unchanged, then derived figures as comments, so that the output is a valid workload file.
fn show(name: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let found = Workload::find(name);
    if let (Err(error), Some(builtin)) = (&found, Builtin::named(name)) {
        return Ok(writeln!(out, "{}\n# Not available: {}", builtin.text, error.problem)?);
    }
    let workload = found.map_err(|error| Usage(error.to_string()))?;
    for line in workload.text().lines() {
        writeln!(out, "{}", for_terminal(line))?;
    }
    writeln!(out, "\n# File set: {}", files(&workload)?)?;
    for (name, share) in workload.iterations() {
        writeln!(out, "# {:5.1} % of the iterations: {}", share * 100.0, for_terminal(name))?;
    }
    Ok(writeln!(out, "# SHA-256 of this file: {}", workload.digest())?)
}

/// How large the file set is for as many clients as the workload asks for; for one client, if each has its own files.
fn files(workload: &Workload) -> anyhow::Result<String> {
    let (set, is_per_client) = FileSet::per_client_or_whole(workload)?;
    let each = if is_per_client { " per client" } else { "" };
    Ok(match set.files() {
        0 if workload.makes_its_own() => "no files at the start; the workload creates its own".to_owned(),
        0 => "no files".to_owned(),
        1 => format!("1 file{each}, {}", indicatif::BinaryBytes(set.bytes())),
        count => format!("{count} files{each}, {}", indicatif::BinaryBytes(set.bytes())),
    })
}
