//! `--color`, and the capabilities of an output's receiver.

use anstream::ColorChoice;

pub(crate) use plimsoll_console::shell::{colours_output, columns, in_locale, note};

/// How output looks, as a flag of every subcommand.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ShellFlags {
    /// When to colour headings and verdicts: auto, always or never. auto obeys NO_COLOR, CLICOLOR, CLICOLOR_FORCE and
    /// TERM=dumb; if none of them is set, it colours only output to a terminal
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        global = true,
        help_heading = "Output",
        hide_possible_values = true
    )]
    color: When,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum When {
    #[default]
    Auto,
    Always,
    Never,
}

impl When {
    /// From now on all output follows this.
    fn hold(self) {
        match self {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

impl ShellFlags {
    /// From now on all output follows the flags.
    pub(crate) fn hold(self) {
        self.color.hold();
    }
}

/// Follows `--color` of a command line that is wrong elsewhere, or asks for help: nothing of it was parsed.
pub(crate) fn hold_given(words: &[String]) {
    let mut words = words.iter().map(String::as_str).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let when = match word {
            "--color" => words.next(),
            word => word.strip_prefix("--color="),
        };
        if let Some(when) = when.and_then(|text| <When as clap::ValueEnum>::from_str(text, false).ok()) {
            when.hold();
        }
    }
}
