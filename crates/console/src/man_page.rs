//! A page of the manual, made from the texts of a command's help.

use std::io;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// As the page is called: `plimsoll-workloads-show`.
#[must_use]
pub fn full_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// A page in the format of man(7).
///
/// # Errors
/// None: it is written to memory.
pub fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let source = concat!("plimsoll ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("Plimsoll");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend_from_slice(examples(command).render().as_bytes());
    page.extend_from_slice(see_also(command).render().as_bytes());
    Ok(page)
}

/// The text below the help: unfilled, because its lines are meant to be copied.
fn examples(command: &clap::Command) -> Roff {
    let mut section = Roff::new();
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (heading, text) = match help.strip_prefix("Examples:\n") {
        Some(text) => ("EXAMPLES", text),
        None => ("NOTES", help.as_str()),
    };
    if !text.is_empty() {
        section.control("SH", [heading]).control("nf", []);
        for line in text.lines() {
            section.text([roman(line)]);
        }
        section.control("fi", []);
    }
    section
}

/// The page of plimsoll has its subcommands' names already.
fn see_also(command: &clap::Command) -> Roff {
    let mut section = Roff::new();
    if full_name(command) != "plimsoll" {
        section.control("SH", ["SEE ALSO"]).text([bold("plimsoll"), roman("(1)")]);
    }
    section
}
