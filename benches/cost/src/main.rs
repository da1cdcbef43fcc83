//! The client's cost of an operation in CPU time: Plimsoll compared with the same requests sent by hand, a bare TCP echo of the same
//! sizes, the smb2 crate and libnfs, against the same Samba and NFS-Ganesha, alternately. `cargo xtask bench --cost` builds and runs it.
//!
//! Each client is a separate process, so that its CPU time is separate.

mod by_hand;
mod compare;
mod echo;
mod libnfs;
mod measured;
mod operation;
mod plimsoll;
mod protection;
mod servers;
mod smb2_crate;
mod stream;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;

use measured::Measured;
use operation::Case;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["--streams"] => servers::Servers::start().and_then(|servers| stream::run(&servers, 3)),
        ["--protection"] => protection::run(5),
        ["--protection", "--rounds", rounds] => rounds.parse().map_err(Into::into).and_then(protection::run),
        ["servers"] => servers::keep(),
        ["echo-server", request, answer] => echo_server(request, answer),
        ["client", program, operation, depth, count, rest @ ..] => client(program, operation, depth, count, rest),
        options => costs(options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The cost of operations, then streams; with `--only` the cost of these operations alone.
fn costs(mut options: &[&str]) -> Result<(), Box<dyn Error>> {
    let (mut rounds, mut only) = (3, Vec::new());
    loop {
        options = match options {
            [] => break,
            ["--rounds", number, rest @ ..] => {
                rounds = number.parse().map_err(|error| format!("--rounds {number}: {error}"))?;
                rest
            }
            ["--only", name, rest @ ..] => {
                only.push(measured_case(name)?);
                rest
            }
            _ => return Err("arguments: [--protection] [--rounds NUMBER] [--only OPERATION]…".into()),
        };
    }
    let servers = servers::Servers::start()?;
    if !only.is_empty() {
        return compare::run(&servers, &only, rounds);
    }
    compare::run(&servers, &Case::ALL, rounds)?;
    stream::run(&servers, rounds)
}

/// The operation of this name whose cost is measured.
fn measured_case(name: &str) -> Result<Case, String> {
    let found = Case::ALL.into_iter().find(|case| case.name() == name);
    found.ok_or_else(|| format!("--only {name}: expected one of {}", Case::ALL.map(Case::name).join(", ")))
}

fn echo_server(request: &str, answer: &str) -> Result<(), Box<dyn Error>> {
    Ok(echo::serve(request.parse()?, answer.parse()?)?)
}

/// One client's run; prints its line.
fn client(program: &str, operation: &str, depth: &str, count: &str, rest: &[&str]) -> Result<(), Box<dyn Error>> {
    let (depth, count) = (depth.parse()?, count.parse()?);
    let operation = Case::named(operation).ok_or("no such operation")?;
    let measured: Measured = match (program, rest) {
        ("echo", [to, request, answer]) => {
            let exchanges = count * operation.exchanges();
            let measured = echo::exchange(to.parse()?, request.parse()?, answer.parse()?, depth, exchanges)?;
            Measured { operations: count, ..measured }
        }
        ("by-hand", [target]) => by_hand::run(operation, target, depth, count)?,
        ("plimsoll", [target]) => plimsoll::run(operation, target, depth, count)?,
        ("smb2", [to, share, user, password]) => {
            let to: SocketAddr = to.parse()?;
            smb2_crate::run(operation, to, share, (user, password), depth, count)?
        }
        _ => return Err("no such client".into()),
    };
    println!("{}", measured.line());
    Ok(())
}
