//! Datagrams of RPC programs that are not part of a file service (NIS, rusers), and replies to broadcasts: they belong to no conversation
//! of a client with a file server.
//!
//! A reply does not name its program: only its call tells.

use std::net::IpAddr;

use plimsoll_wire::rpc::{self, Program};
use serde::{Deserialize, Serialize};

use crate::packet::{Address, Path, ip_address};
use crate::recent::Recent;

/// Calls that are remembered, at least; with twice as many, they take 1 MB.
const CALLS: usize = 4_096;
/// A reply belongs to a call up to this long before it, ns. Later, the same port and xid may be those of another call.
const REPLIES_NS: i64 = 60_000_000_000;
/// CALLIT of portmap 2, CALLIT and BCAST of rpcbind 3 and 4 (RFC 1833 2.2.1, 3): clients broadcast it, and servers reply from their own
/// addresses.
const CALLIT: u32 = 5;

/// A caller, and the xid of its call.
type Caller = (Address, u16, u32);

/// The call, and where it went if it is a message of a conversation itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    time_ns: i64,
    conversation_with: Option<Address>,
}

/// Recent calls whose replies may belong to no conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct OtherPrograms {
    calls: Recent<Caller, Sent, CALLS>,
}

impl OtherPrograms {
    /// Whether a datagram, which looks like a message of this kind, is a call of another program or to many servers, or the reply to a call
    /// that went elsewhere. Notes calls.
    #[inline]
    pub(super) fn takes(&mut self, kind: Option<rpc::Message>, path: &Path, payload: &[u8], time_ns: i64) -> bool {
        match kind {
            Some(rpc::Message::Reply) => self.answers(path, payload, time_ns),
            Some(rpc::Message::Call) if is_call_it(payload) => {
                let is_for_many = is_for_many(path.destination);
                let conversation_with = (!is_for_many).then_some(path.destination);
                self.note(path, payload, Sent { time_ns, conversation_with });
                is_for_many
            }
            Some(rpc::Message::Call) => false,
            None => {
                let is_other = rpc::plausible_call_of_any_program(payload);
                if is_other {
                    self.note(path, payload, Sent { time_ns, conversation_with: None });
                }
                is_other
            }
        }
    }

    fn answers(&self, path: &Path, payload: &[u8], time_ns: i64) -> bool {
        let Some(xid) = xid(payload) else { return false };
        self.calls.get(&(path.destination, path.destination_port, xid)).is_some_and(|call| {
            let since_ns = time_ns.saturating_sub(call.time_ns);
            (0..=REPLIES_NS).contains(&since_ns) && call.conversation_with != Some(path.source)
        })
    }

    #[cold]
    fn note(&mut self, path: &Path, payload: &[u8], call: Sent) {
        if let Some(xid) = xid(payload) {
            self.calls.insert((path.source, path.source_port, xid), call);
        }
    }
}

fn is_call_it(payload: &[u8]) -> bool {
    rpc::Call::new(payload)
        .is_some_and(|call| call.program() == Program::Portmap.number() && call.procedure() == CALLIT)
}

/// Whether several hosts have this address: a multicast one, or a broadcast one as far as it shows that without its netmask.
fn is_for_many(address: Address) -> bool {
    let ip = ip_address(address);
    ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.octets()[3] == u8::MAX)
}

fn xid(payload: &[u8]) -> Option<u32> {
    payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;
    const CLIENT: Address = 1;
    const SERVER: Address = 2;
    const BROADCAST: Address = 0xffff_ffff_ffff;

    fn path(source: Address, destination: Address) -> Path {
        let port = |address| if address == CLIENT { 700 } else { 800 };
        Path { source, destination, source_port: port(source), destination_port: port(destination) }
    }

    fn call(xid: u32, program: u32, procedure: u32) -> Vec<u8> {
        [xid, 0, 2, program, 2, procedure, 0, 0, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn reply(xid: u32) -> Vec<u8> {
        [xid, 1, 0, 0, 0, 0].iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
    }

    fn takes(programs: &mut OtherPrograms, [from, to]: [Address; 2], payload: &[u8], time_ns: i64) -> bool {
        programs.takes(rpc::plausible_message(payload), &path(from, to), payload, time_ns)
    }

    #[test]
    fn replies_to_calls_of_other_programs_belong_to_no_conversation() {
        let mut programs = OtherPrograms::default();
        let (there, back) = ([CLIENT, SERVER], [SERVER, CLIENT]);
        assert!(!takes(&mut programs, back, &reply(7), 0), "its call may be one of NFS");
        assert!(takes(&mut programs, there, &call(7, 100_004, 3), 0), "NIS");
        assert!(takes(&mut programs, back, &reply(7), SECOND_NS));
        assert!(takes(&mut programs, back, &reply(7), SECOND_NS), "the reply again");
        assert!(!takes(&mut programs, back, &reply(8), SECOND_NS), "another xid");
        assert!(!takes(&mut programs, back, &reply(7), REPLIES_NS + 1), "much later");
        assert!(!takes(&mut programs, there, &call(9, 100_003, 6), 0), "NFS");
        assert!(!takes(&mut programs, back, &reply(9), 0));
        assert!(!takes(&mut programs, there, b"no message of RPC at all", 0));
    }

    #[test]
    fn replies_to_a_broadcast_come_from_other_addresses() {
        let mut programs = OtherPrograms::default();
        assert!(takes(&mut programs, [CLIENT, BROADCAST], &call(7, 100_000, CALLIT), 0));
        assert!(takes(&mut programs, [SERVER, CLIENT], &reply(7), 1));
        assert!(!takes(&mut programs, [CLIENT, SERVER], &call(8, 100_000, CALLIT), 0));
        assert!(!takes(&mut programs, [SERVER, CLIENT], &reply(8), 1), "the reply of its conversation");
    }
}
