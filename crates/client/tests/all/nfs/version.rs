//! The highest version of a server, with servers that say one thing or another.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use plimsoll_client::target::NfsVersion;
use plimsoll_client::tls::{Tls, Trust};
use plimsoll_client::{VersionError, VersionQuestion};
use plimsoll_wire::nfs::v4::CompoundCall;
use plimsoll_wire::rpc::{Call, Caller};
use plimsoll_wire::xdr::Emit;

use super::call;
use super::script::record;

/// Longer than a question takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MINOR_VERS_MISMATCH: u32 = 10_021;
const OP_NOT_IN_SESSION: u32 = 10_071;

/// An answer to a question.
#[derive(Clone, Copy, Debug)]
enum Said {
    /// The status of a compound.
    Status(u32),
    /// Success without results.
    Nothing,
    /// PROG_MISMATCH: from which version to which.
    Mismatch(u32, u32),
    /// Another accept_stat.
    Accepted(u32),
    /// AUTH_TOOWEAK.
    TooWeak,
    /// The connection ends.
    Closes,
    /// No answer comes.
    Silence,
}

/// A server that gives these answers, whatever it is asked; what it was asked, as `4.2` or `3`, with the number of the connection.
fn server(answers: &[Said]) -> (SocketAddr, Receiver<(usize, String)>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, questions) = channel();
    let mut answers: VecDeque<Said> = answers.iter().copied().collect();
    // It ends with the test's process.
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for (connection, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            while let Some(message) = call(&mut stream) {
                let call = Call::new(&message).unwrap();
                assert_eq!(call.program(), 100_003);
                let _ = asked.send((connection, question(&call)));
                match answers.pop_front().unwrap_or(Said::Closes) {
                    Said::Closes => break,
                    Said::Silence => {}
                    said => stream.write_all(&reply(call.xid(), said)).unwrap(),
                }
            }
            kept.push(stream);
            if answers.is_empty() {
                kept.clear();
            }
        }
    });
    (address, questions)
}

fn question(call: &Call<'_>) -> String {
    let minor = (call.procedure() == 1).then(|| CompoundCall::new(call.arguments().unwrap()).minor_version.unwrap());
    minor.map_or_else(|| call.version().to_string(), |minor| format!("{}.{minor}", call.version()))
}

fn reply(xid: u32, said: Said) -> Vec<u8> {
    let words = |words: &[u32]| {
        let mut bytes = Vec::new();
        bytes.put_u32(0x8000_0000 | (4 * words.len() as u32));
        words.iter().for_each(|&word| bytes.put_u32(word));
        bytes
    };
    match said {
        Said::Status(status) => {
            let mut results = Vec::new();
            [status, 0, 0].iter().for_each(|&word| results.put_u32(word));
            record(xid, &results)
        }
        Said::Nothing => record(xid, &[]),
        Said::Mismatch(low, high) => words(&[xid, 1, 0, 0, 0, 2, low, high]),
        Said::Accepted(status) => words(&[xid, 1, 0, 0, 0, status]),
        Said::TooWeak => words(&[xid, 1, 1, 1, 5]),
        Said::Closes | Said::Silence => Vec::new(),
    }
}

fn ask(address: SocketAddr, with_sessions: bool) -> Result<NfsVersion, VersionError> {
    let (caller, timeout) = (Caller::Nobody, PATIENCE);
    VersionQuestion { address, reserved_port: false, with_sessions, tls: None, security: None, caller, timeout }.ask()
}

/// What was asked, all over the first connection.
fn questions(asked: &Receiver<(usize, String)>) -> Vec<String> {
    let all: Vec<(usize, String)> = asked.try_iter().collect();
    assert!(all.iter().all(|(connection, _)| *connection == 0), "{all:?}");
    all.into_iter().map(|(_, question)| question).collect()
}

#[test]
fn the_highest_version_that_a_server_offers_is_found_over_one_connection() {
    use NfsVersion::{V3, V40, V41, V42};
    use Said::{Accepted, Mismatch, Nothing, Status};
    let none = Status(MINOR_VERS_MISMATCH);
    for (answers, version, asked) in [
        // Without a session the server refuses the operation, after the check of the version.
        (&[Status(OP_NOT_IN_SESSION)][..], V42, &["4.2"][..]),
        (&[Status(0)], V42, &["4.2"]),
        (&[none, Status(OP_NOT_IN_SESSION)], V41, &["4.2", "4.1"]),
        (&[none, none, Status(0)], V40, &["4.2", "4.1", "4.0"]),
        // WRONGSEC and DELAY: there is such a version.
        (&[none, none, Status(10_016)], V40, &["4.2", "4.1", "4.0"]),
        (&[Status(10_008)], V42, &["4.2"]),
        (&[none, none, none, Nothing], V3, &["4.2", "4.1", "4.0", "3"]),
        (&[Mismatch(2, 3), Nothing], V3, &["4.2", "3"]),
        (&[none, Mismatch(3, 3), Nothing], V3, &["4.2", "4.1", "3"]),
        // PROG_UNAVAIL of version 4 alone.
        (&[Accepted(1), Nothing], V3, &["4.2", "3"]),
    ] {
        let (address, seen) = server(answers);
        assert_eq!(ask(address, false).unwrap(), version, "{answers:?}");
        assert_eq!(questions(&seen), asked, "{answers:?}");
    }
}

/// Only "not this version" leads to a lower one.
#[test]
fn any_other_answer_is_an_error_and_not_a_lower_version() {
    use Said::{Accepted, Closes, Mismatch, Nothing, Status, TooWeak};
    let none = Status(MINOR_VERS_MISMATCH);
    for (answers, says, asked) in [
        (
            &[Mismatch(2, 2), Mismatch(2, 2)][..],
            "offers only NFS version 2; Plimsoll supports NFS 4.2, 4.1, 4.0 and 3",
            2,
        ),
        (&[Mismatch(5, 6), Mismatch(5, 6)], "offers only NFS versions 5 to 6;", 2),
        (&[Accepted(1), Accepted(1)], "does not offer NFS on this port;", 2),
        (&[TooWeak], "AuthError(5); give the version in the target, e.g. ?version=4.1", 1),
        (&[none, TooWeak], "AuthError(5)", 2),
        // SYSTEM_ERR, GARBAGE_ARGS, PROC_UNAVAIL.
        (&[Accepted(5)], "SystemError", 1),
        (&[Accepted(4)], "GarbageArguments", 1),
        (&[Accepted(3)], "ProcedureUnavailable", 1),
        (&[Nothing], "the response has no status", 1),
        (&[Closes], "when Plimsoll asked for the NFS versions of the server; check that this port speaks NFS", 1),
        (&[none, Closes], "when Plimsoll asked for the NFS versions of the server", 2),
        (&[Mismatch(3, 3), TooWeak], "AuthError(5)", 2),
        (&[Mismatch(3, 3), Closes], "when Plimsoll asked for the NFS versions of the server", 2),
    ] {
        let (address, seen) = server(answers);
        let error = ask(address, false).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(&address.to_string()), "{answers:?}: {error}");
        assert_eq!(questions(&seen).len(), asked, "{answers:?}");
    }
    let deaf = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    assert!(matches!(ask(deaf, false), Err(VersionError::Connection { .. })), "nothing listens");
}

#[test]
fn the_text_of_another_protocol_is_recognised() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = call(&mut stream);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = ask(address, false).unwrap_err().to_string();
    assert!(error.contains("the response is too long; check that this port belongs to this service"), "{error}");
}

#[test]
fn slots_need_a_version_with_sessions() {
    use Said::{Mismatch, Status};
    let none = Status(MINOR_VERS_MISMATCH);
    let (address, _seen) = server(&[none, Status(OP_NOT_IN_SESSION)]);
    assert_eq!(ask(address, true).unwrap(), NfsVersion::V41);
    for (answers, asked) in [(&[none, none][..], 2), (&[Mismatch(3, 3)], 1)] {
        let (address, seen) = server(answers);
        assert!(matches!(ask(address, true), Err(VersionError::NoSessions(at)) if at == address));
        assert_eq!(questions(&seen).len(), asked, "neither 4.0 nor 3 is asked for");
    }
}

#[test]
fn silence_is_given_up_after_the_time_that_was_asked_for() {
    for answers in [&[Said::Silence][..], &[Said::Status(MINOR_VERS_MISMATCH), Said::Silence]] {
        let (address, _seen) = server(answers);
        let (caller, timeout) = (Caller::Nobody, Duration::from_millis(120));
        let question = VersionQuestion {
            address,
            reserved_port: false,
            with_sessions: false,
            tls: None,
            security: None,
            caller,
            timeout,
        };
        let error = question.ask().unwrap_err().to_string();
        assert!(error.contains("no answer within 120ms"), "{error}");
    }
}

/// Of a server without version 4 the question whether there is TLS says so; all else is an error, and nothing is called without TLS.
#[test]
fn over_tls_a_server_without_version_4_is_asked_for_version_3() {
    use Said::{Accepted, Mismatch, Silence, TooWeak};
    let [of_4, of_3] =
        [4, 3].map(|version| Arc::new(Tls::new("localhost", (100_003, version), &Trust::Anyone).unwrap()));
    for (answers, says, asked) in [
        (&[Mismatch(2, 3), TooWeak][..], "rejects AUTH_TLS with auth_stat 5", &[(0, "4"), (1, "3")][..]),
        (&[Mismatch(2, 3), Mismatch(2, 2)], "does not offer this NFS version", &[(0, "4"), (1, "3")]),
        (&[Accepted(5)], "its RPC layer rejects the AUTH_TLS probe", &[(0, "4")]),
        (&[TooWeak], "rejects AUTH_TLS with auth_stat 5", &[(0, "4")]),
        (&[Silence], "timed out during the TLS handshake", &[(0, "4")]),
    ] {
        let (address, seen) = server(answers);
        let timeout = if matches!(answers, [Silence]) { Duration::from_millis(120) } else { PATIENCE };
        let (caller, tls) = (Caller::Nobody, Some([&of_4, &of_3]));
        let question = VersionQuestion {
            address,
            reserved_port: false,
            with_sessions: false,
            tls,
            security: None,
            caller,
            timeout,
        };
        let error = question.ask().unwrap_err().to_string();
        assert!(error.contains(says), "{answers:?}: {error}");
        // A slow server may see a question only after the client has given it up.
        let first = std::iter::from_fn(|| seen.recv_timeout(PATIENCE).ok()).take(asked.len());
        let seen: Vec<(usize, String)> = first.chain(seen.try_iter()).collect();
        let seen: Vec<(usize, &str)> =
            seen.iter().map(|(connection, question)| (*connection, question.as_str())).collect();
        assert_eq!(seen, asked, "{answers:?}");
    }
}
