//! The client's cost of an operation in CPU time: Plimsoll compared with the same requests sent by hand, a bare TCP echo of the same
//! sizes, the smb2 crate and libnfs, against the same Samba and NFS-Ganesha, alternately. `cargo xtask bench --cost` builds and runs it,
//! and with `--kerberos` it has the feature `kerberos`.
//!
//! Each client is a separate process, so that its CPU time is separate.

mod by_hand;
mod compare;
mod echo;
mod libnfs;
mod measured;
mod operation;
mod own_server;
mod plimsoll;
mod protection;
mod realm;
mod servers;
mod smb2_crate;
mod stream;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;

use plimsoll_testkit::servers::rpc_tls::{Manner, RpcTls};

use measured::Measured;
use operation::Case;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["--streams"] => servers::Servers::start(&[]).and_then(|servers| stream::run(&servers, 3)),
        ["--protection"] => protection::run(5),
        ["--protection", "--rounds", rounds] => rounds.parse().map_err(Into::into).and_then(protection::run),
        ["servers"] => servers::keep(),
        ["echo-server", request, answer] => echo_server(request, answer),
        ["tls-server", upstream] => tls_server(upstream),
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
    if !only.is_empty() {
        return compare::run(&servers::Servers::start(&only)?, &only, rounds);
    }
    let all: Vec<Case> = Case::measured().collect();
    let servers = servers::Servers::start(&all)?;
    compare::run(&servers, &all, rounds)?;
    stream::run(&servers, rounds)
}

/// The operation of this name whose cost is measured.
fn measured_case(name: &str) -> Result<Case, String> {
    let all: Vec<&str> = Case::measured().map(Case::name).collect();
    let found = Case::measured().find(|case| case.name() == name);
    found.ok_or_else(|| {
        let kerberos = if cfg!(feature = "kerberos") { "" } else { "; with --kerberos also those with krb5p" };
        format!("--only {name}: expected one of {}{kerberos}", all.join(", "))
    })
}

fn echo_server(request: &str, answer: &str) -> Result<(), Box<dyn Error>> {
    Ok(echo::serve(request.parse()?, answer.parse()?)?)
}

/// Ends TLS in front of an NFS server, until standard input ends.
fn tls_server(upstream: &str) -> Result<(), Box<dyn Error>> {
    let server = RpcTls::start(upstream.parse()?, Manner::Serves)?;
    println!("{}", server.address());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
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
