//! A tip for a mistake on the command line that clap has no tip for.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of single commands, and these commands.
const ELSEWHERE: [(&str, &str); 3] =
    [("--hold", "plimsoll capacity"), ("--fail-if", "plimsoll compare, duel and gate"), ("--rounds", "plimsoll duel")];

/// The error for an option of another command, with the name of that command. The error for a server without its option (`plimsoll run mixed smb://server/share`), with a tip that gives the option. Other errors
/// stay as they are. Commands that have this option take a workload as their first argument; those with two servers do not have it.
pub fn with_tip(mut error: clap::Error, is_target: impl Fn(&str) -> bool) -> clap::Error {
    let has_option =
        error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains("[OPTIONS] [WORKLOAD]"));
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return error };
    let elsewhere = ELSEWHERE.iter().find(|(option, _)| error.kind() == ErrorKind::UnknownArgument && option == word);
    if let Some((option, commands)) = elsewhere {
        let tip = format!("{option} belongs to {commands}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if error.kind() == ErrorKind::UnknownArgument && has_option && is_target(word) {
        let tip = format!("give the server as an option: --target {word}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Load {
        #[arg(value_name = "WORKLOAD")]
        workload: Option<String>,
        #[arg(long)]
        target: Option<String>,
    }

    #[derive(Debug, Parser)]
    struct Pair {
        #[arg(value_name = "A")]
        first: String,
        #[arg(value_name = "WORKLOAD")]
        workload: Option<String>,
        #[arg(long)]
        rounds: Option<u32>,
    }

    #[derive(Debug, Parser)]
    struct Reading {
        #[arg(value_name = "FILE")]
        file: Option<String>,
    }

    fn said(error: clap::Error) -> String {
        with_tip(error, |word| word.contains("://")).to_string()
    }

    #[test]
    fn an_option_of_another_command_is_named_with_that_command() {
        let text = said(Load::try_parse_from(["load", "mixed", "--hold", "p99 < 1ms"]).unwrap_err());
        assert!(text.contains("tip: --hold belongs to plimsoll capacity") && !text.contains("-- --hold"), "{text}");
        let text = said(Load::try_parse_from(["load", "--other"]).unwrap_err());
        assert!(!text.contains("belongs"), "{text}");
    }

    #[test]
    fn a_server_without_its_option_gets_a_tip() {
        let load = |word| said(Load::try_parse_from(["load", "mixed", word]).unwrap_err());
        assert!(load("smb://server/share").contains("tip: give the server as an option: --target smb://server/share"));
        assert!(!load("another").contains("--target"));
        let reading = Reading::try_parse_from(["reading", "file", "smb://server/share"]).unwrap_err();
        assert!(!said(reading).contains("--target"));
        let pair = Pair::try_parse_from(["pair", "smb://a/share", "mixed", "smb://b/share"]).unwrap_err();
        assert!(!said(pair).contains("--target"));
    }
}
