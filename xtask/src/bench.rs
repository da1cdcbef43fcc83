//! `cargo xtask bench`: every bench of every crate, then Plimsoll beside other programs on the same captures, then what an
//! operation costs its clients beside other clients of the same servers.
//!
//! What is measured, and what it was when last looked at: docs/performance.md.

pub(crate) mod binary;
mod comparison;
mod cost;
mod inputs;
mod measured;
mod programs;
mod threads;
mod two_cores;
pub(crate) mod walk;

use crate::{Outcome, process, workspace};

/// What is measured, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only the benches of the crates
    #[arg(long, group = "part")]
    stages: bool,
    /// Run only the comparison of plimsoll with tshark, nfstrace and a loop over a memory map
    #[arg(long, group = "part")]
    comparison: bool,
    /// Measure only the client's CPU time per operation
    #[arg(long, group = "part")]
    cost: bool,
    /// With --cost: measure only this operation (may be repeated)
    #[arg(long, requires = "cost", value_name = "OPERATION")]
    only: Vec<String>,
    /// With --cost: build with Kerberos, and measure NFS with krb5p too
    #[arg(long, requires = "cost")]
    kerberos: bool,
    /// Measure only what signing, encryption, TLS and Kerberos cost client, server and users
    #[arg(long, group = "part")]
    protection: bool,
    /// Measure only `plimsoll analyze` with one and with two threads
    #[arg(long, group = "part")]
    threads: bool,
    /// Number of rounds of the comparison, the CPU time measurements and the threads, whose medians are printed
    #[arg(long, default_value_t = 3, value_parser = rounds)]
    rounds: usize,
    /// Arguments for the bench programs of the crates
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

fn rounds(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&rounds| rounds > 0).ok_or_else(|| "expected an integer >= 1".to_owned())
}

/// Builds the release binary, runs every bench, then the comparison, then the cost of operations.
pub(crate) fn run(wanted: &Arguments) -> Outcome {
    if wanted.threads {
        return threads::run(wanted.rounds);
    }
    if wanted.protection {
        return cost::missing().map_or_else(|| cost::protection(wanted.rounds), Err);
    }
    let all = !(wanted.stages || wanted.comparison || wanted.cost);
    if all || wanted.stages {
        process::run(&mut process::cargo(&["build", "--release", "--workspace"]))?;
        stages(&wanted.rest)?;
    }
    if all || wanted.comparison {
        comparison::run(wanted.rounds)?;
    }
    match cost::missing() {
        _ if !all && !wanted.cost => Ok(()),
        None => cost::run(wanted.rounds, &wanted.only, wanted.kerberos),
        Some(missing) if all => {
            println!("the cost of operations is not measured: {missing}");
            Ok(())
        }
        Some(missing) => Err(missing),
    }
}

fn stages(arguments: &[String]) -> Outcome {
    for package in workspace::packages()? {
        // By name: unit tests would otherwise run as benches too and refuse the arguments.
        for bench in &package.benches {
            let mut command = process::cargo(&["bench", "--package", &package.name, "--bench", bench]);
            if !arguments.is_empty() {
                command.arg("--").args(arguments);
            }
            process::run(&mut command)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        crate::parsed(&format!("bench {line}"))
    }

    #[test]
    fn what_is_not_ours_goes_to_the_bench_programs() {
        let wanted = parse("--stages stream --sample-count 9").unwrap();
        assert!(wanted.stages && !wanted.comparison && !wanted.cost);
        assert_eq!(wanted.rest, ["stream", "--sample-count", "9"]);
        assert_eq!(parse("--stages --sample-count 9").unwrap().rest, ["--sample-count", "9"]);
    }

    #[test]
    fn rounds_are_a_number_and_one_part_remains() {
        assert_eq!(parse("--rounds 5").unwrap().rounds, 5);
        assert_eq!(parse("").unwrap().rounds, 3);
        assert!(parse("--cost --rounds 2").unwrap().cost);
        assert_eq!(parse("--cost --only smb-read-1 --only nfs-getattr").unwrap().only, ["smb-read-1", "nfs-getattr"]);
        assert!(parse("--cost --kerberos").unwrap().kerberos);
        let alone = "--rounds, --rounds 0, --rounds x, --only smb-read-1, --kerberos";
        let together = "--stages --comparison, --cost --stages, --cost --protection";
        for bad in alone.split(", ").chain(together.split(", ")) {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
