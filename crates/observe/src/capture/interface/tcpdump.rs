//! `--filter`: tcpdump compiles an expression to a program for the kernel.
//!
//! Spec: tcpdump(1), option -ddd: the number of instructions, then one instruction per line, as four decimal numbers.

use std::io;
use std::process::{Command, Stdio};

use libc::sock_filter;

use crate::capture::LinkType;

/// The kernel's limit for a program, BPF_MAXINSNS.
const MAX_INSTRUCTIONS: usize = 4_096;

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// This machine has no tcpdump.
    #[error("tcpdump, which compiles the expression, is not installed; install it (Debian: tcpdump), or use --port")]
    Missing,
    /// It cannot be run.
    #[error("cannot run tcpdump, which compiles the expression: {0}")]
    NotRun(io::Error),
    /// The kernel removes VLAN tags before it filters. tcpdump compiles `vlan` for that only if it may open the interface.
    #[error(
        "Linux removes the outer VLAN tag of a packet before the filter, and tcpdump can filter by it only if it may open the interface \
        ({0}); run as root, or leave out `vlan`"
    )]
    Vlan(Box<str>),
    /// It is not an expression that tcpdump knows.
    #[error("{0}; `man pcap-filter` describes the language")]
    Refused(Box<str>),
    /// Its output is no program.
    #[error("tcpdump -ddd printed no filter program: {0}")]
    NoProgram(&'static str),
}

/// Compiles an expression for packets of this interface.
pub(super) fn program((name, link): (&str, LinkType), expression: &str) -> Result<Vec<sock_filter>, FilterError> {
    if link == LinkType::RawIp {
        return compiled(&["-y", "RAW"], expression);
    }
    let program = compiled(&["-y", "EN10MB"], expression)?;
    if !has_word(expression, "vlan") {
        return Ok(program);
    }
    // For an interface that it opens, tcpdump asks the kernel for the tag; otherwise it looks for the tag in the packet, where it is not.
    compiled(&["-p", "-i", name, "-y", "EN10MB"], expression).map_err(|error| match error {
        FilterError::Refused(why) => FilterError::Vlan(why.trim_matches(['(', ')']).into()),
        error => error,
    })
}

/// Whether an expression has this word, in whatever meaning.
fn has_word(expression: &str, word: &str) -> bool {
    expression.split(|character: char| !character.is_alphanumeric()).any(|part| part == word)
}

/// What tcpdump compiles with these options.
fn compiled(options: &[&str], expression: &str) -> Result<Vec<sock_filter>, FilterError> {
    let mut tcpdump = Command::new("tcpdump");
    // Behind `--` an expression cannot be an option.
    tcpdump.arg("-ddd").args(options).args(["--", expression]).stdin(Stdio::null());
    let ended = tcpdump.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FilterError::Missing,
        _ => FilterError::NotRun(error),
    })?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        // The last line is the error; warnings may come before it.
        let why = said.lines().last().unwrap_or("tcpdump does not accept the expression");
        return Err(FilterError::Refused(why.into()));
    }
    parse(&String::from_utf8_lossy(&ended.stdout)).map_err(FilterError::NoProgram)
}

/// Reads the output of tcpdump. The kernel checks the instructions themselves when the program is attached.
fn parse(text: &str) -> Result<Vec<sock_filter>, &'static str> {
    let mut lines = text.lines();
    let count: usize =
        lines.next().and_then(|line| line.trim().parse().ok()).ok_or("its first line is not a number")?;
    if !(1..=MAX_INSTRUCTIONS).contains(&count) {
        return Err("expected 1 to 4,096 instructions");
    }
    let program = lines.map(instruction).collect::<Option<Vec<_>>>().ok_or("expected four numbers per line")?;
    if program.len() == count { Ok(program) } else { Err("its first line is not the number of instructions") }
}

fn instruction(line: &str) -> Option<sock_filter> {
    let mut words = line.split(' ');
    let code = words.next()?.parse().ok()?;
    let [jt, jf] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let k = words.next()?.parse().ok()?;
    words.next().is_none().then_some(sock_filter { code, jt, jf, k })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_has_a_word_only_as_a_whole() {
        for (expression, expected) in
            [("vlan 7 and udp", true), ("udp and (vlan)", true), ("not vlan", true), ("host vlans.example", false)]
        {
            assert_eq!(has_word(expression, "vlan"), expected, "{expression}");
        }
    }

    #[test]
    fn a_program_is_read_only_if_all_of_it_is_there() {
        let read = |text| parse(text).map(|program| program.iter().map(|it| (it.code, it.jt, it.jf, it.k)).collect());
        // `ip` on Ethernet.
        let ip = "4\n40 0 0 12\n21 0 1 2048\n6 0 0 262144\n6 0 0 0\n";
        assert_eq!(read(ip), Ok(vec![(40, 0, 0, 12), (21, 0, 1, 2_048), (6, 0, 0, 262_144), (6, 0, 0, 0)]));
        for text in [
            "",
            "0\n",
            "x",
            "5000\n6 0 0 0\n",
            "2\n6 0 0 0\n",
            "1\n6 0 0 0\n6 0 0 0\n",
            "1\n6 0 0\n",
            "1\n6 0 0 0 0\n",
            "1\n6 0 256 0\n",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
