//! Transactions, and the words of the model in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU64;

use plimsoll_model::{
    Asked, Disposition, Endpoint, FileAccess, FileIdentity, Frames, Outcome, Procedure, Protocol, Symbol, Timeline,
    Transaction, Vantage,
};

use super::{Reader, State, StateError, Writer, fields};

/// One of few, by its place in a list.
macro_rules! choice {
    ($what:literal, $of:ty, $all:expr) => {
        impl crate::state::State for $of {
            fn put(&self, out: &mut crate::state::Writer) {
                // Every value is in the list.
                crate::state::State::put(&$all.iter().position(|one| one == self).unwrap_or_default(), out);
            }

            fn take(from: &mut crate::state::Reader<'_>) -> Result<Self, crate::state::StateError> {
                let place: usize = crate::state::State::take(from)?;
                $all.get(place).copied().ok_or_else(|| from.no($what))
            }
        }
    };
}

pub(crate) use choice;

choice!("protocol", Protocol, Protocol::ALL);
choice!("outcome", Outcome, OUTCOMES);
choice!("operation", plimsoll_model::Operation, plimsoll_model::Operation::ALL);
choice!("disposition", Disposition, Disposition::ALL);
choice!("file access", FileAccess, FileAccess::ALL);
choice!("vantage", Vantage, Vantage::ALL);

/// In the order of written states, which is not the enum's.
const OUTCOMES: [Outcome; 8] = [
    Outcome::Succeeded,
    Outcome::Expected,
    Outcome::Refused,
    Outcome::Failed,
    Outcome::Unanswered,
    Outcome::Cancelled,
    Outcome::NeverSent,
    Outcome::Unknown,
];

impl State for Procedure {
    /// By what goes over the wire: the table's places move when it grows.
    fn put(&self, out: &mut Writer) {
        let row = self.row();
        row.protocol.put(out);
        row.code.put(out);
        row.sub.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (protocol, code, sub) = (Protocol::take(from)?, u16::take(from)?, <Option<u16> as State>::take(from)?);
        let is_it = |procedure: &Procedure| {
            let row = procedure.row();
            (row.protocol, row.code, row.sub) == (protocol, code, sub)
        };
        Procedure::all().find(is_it).ok_or_else(|| from.no("procedure"))
    }
}

impl State for Symbol {
    fn put(&self, out: &mut Writer) {
        self.index().put(out);
        if self.is_some() {
            out.used.insert(*self);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        match u32::take(from)? {
            0 => Ok(Symbol::NONE),
            number => from.symbols.get(&number).copied().ok_or_else(|| from.no("name")),
        }
    }
}

impl State for IpAddr {
    fn put(&self, out: &mut Writer) {
        match self {
            IpAddr::V4(ip) => (false, ip.to_bits()).put(out),
            IpAddr::V6(ip) => (true, ip.to_bits()).put(out),
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(if bool::take(from)? {
            IpAddr::V6(Ipv6Addr::from_bits(u128::take(from)?))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(u32::take(from)?))
        })
    }
}

impl State for NonZeroU64 {
    fn put(&self, out: &mut Writer) {
        self.get().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        NonZeroU64::new(u64::take(from)?).ok_or_else(|| from.no("frame number"))
    }
}

impl State for FileIdentity {
    fn put(&self, out: &mut Writer) {
        self.number().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        FileIdentity::of_number(u64::take(from)?).ok_or_else(|| from.no("file"))
    }
}

fields!("endpoint"; Endpoint { ip, port });
fields!("instants"; Timeline { intended, request_first, request_last, interim, response_first, response_last });
fields!("what was asked"; Asked { file, offset, bytes, second_path, disposition, access, durable, unlock });
fields!("frames"; Frames { request_first, request_last, response_first, response_last });
fields!("transaction"; Transaction {
    procedure, client, server, connection, session, share, path, user, id, compound_position, status, outcome,
    payload_bytes, request_bytes, response_bytes, request_packets, response_packets, timeline, frames, vantage,
    level, long_lived, counted, resent_wait_ns, asked, client_index
});
