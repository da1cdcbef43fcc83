//! `plimsoll demo`: an introduction for new users.

use crate::exit::Done;
use crate::flags::output::Output;
use crate::shell;
use plimsoll_console::output_file::Files;
use plimsoll_live::RunMonitor;

/// Default file of the page.
const PAGE: &str = "plimsoll-demo.html";

const EXAMPLES: &str = "Examples:
  plimsoll demo
  plimsoll demo --html demo.html --json demo.json";

/// Starts an SMB and an NFS server in memory and runs the workload `mixed` against each with 1, 4 and 16 clients.
/// Prints the report, and writes it as an HTML page to the file of --html (default: plimsoll-demo.html).
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("html", |html| html.help("Write the report as one self-contained HTML page [default: plimsoll-demo.html]"))
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let mut output = arguments.output;
    let quiet = output.quiet;
    let named = output.has_page();
    let mut page = Some(output.page_at_least(PAGE).display().to_string());
    let opened = output.open(&mut Files::default()).or_else(|error| {
        if named {
            return Err(error);
        }
        // Nobody has asked for this file.
        shell::note(&format!("plimsoll: {error:#}; the demo continues without an HTML page"));
        page = None;
        output.without_page().open(&mut Files::default())
    });
    let output = opened?;
    let findings = plimsoll_experiment::demo(&RunMonitor::new(quiet))?;
    let done = Done::with(&findings.validity, output.prints());
    output.write(&findings.into())?;
    if !quiet {
        if let Some(page) = page {
            shell::note(&format!("\nHTML report with charts: {page}"));
        }
        shell::note(
            "To measure your own server: plimsoll run --target smb://user@server/share (all options: plimsoll run --help)",
        );
    }
    Ok(done)
}
