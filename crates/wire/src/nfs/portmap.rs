//! Portmap (version 2) and rpcbind (3 and 4): on which port a program answers.
//!
//! Version 2's GETPORT can also be said ([`GetPort`]) and strictly read.
//!
//! Spec: RFC 1833 2.1, RFC 1833 3.1

mod strict;

pub use strict::{GetPort, TCP, parse_port};

use super::entry::entry;
use crate::xdr::Cursor;

const PORTMAP: [&str; 6] = ["NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"];
const RPCBIND: [&str; 13] = [
    "NULL",
    "SET",
    "UNSET",
    "GETADDR",
    "DUMP",
    "BCAST",
    "GETTIME",
    "UADDR2TADDR",
    "TADDR2UADDR",
    "GETVERSADDR",
    "INDIRECT",
    "GETADDRLIST",
    "GETSTAT",
];

const GETPORT: u32 = 3;
const GETVERSADDR: u32 = 9;

/// The procedure's name, without `PMAPPROC_` or `RPCBPROC_`.
pub fn procedure_name(version: u32, procedure: u32) -> Option<&'static str> {
    let highest = crate::rpc::Program::Portmap.highest_procedure(version)?;
    match version {
        2 => entry(&PORTMAP, procedure),
        _ if procedure == 5 && version == 3 => Some("CALLIT"),
        _ if procedure <= highest => entry(&RPCBIND, procedure),
        _ => None,
    }
}

/// The program that somebody asks for, registers or removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// The program's number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Portmap: 6 for TCP, 17 for UDP.
    pub protocol: Option<u32>,
    /// Rpcbind: `tcp`, `udp6`, …
    pub network: Option<&'a [u8]>,
}

impl<'a> Mapping<'a> {
    /// From the arguments of SET, UNSET, GETPORT, GETADDR and GETVERSADDR.
    pub fn new(version: u32, procedure: u32, bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes);
        match (version, procedure) {
            (2, 1..=3) => Some(Self {
                program: cursor.u32()?,
                version: cursor.u32()?,
                protocol: Some(cursor.u32()?),
                network: None,
            }),
            (3, 1..=3) | (4, 1..=3 | GETVERSADDR) => {
                Some(Self { program: cursor.u32()?, version: cursor.u32()?, protocol: None, network: cursor.opaque() })
            }
            _ => None,
        }
    }
}

/// The port in the results of GETPORT, GETADDR or GETVERSADDR; 0 means that the program is not there.
pub fn port(version: u32, procedure: u32, bytes: &[u8]) -> Option<u16> {
    let mut cursor = Cursor::new(bytes);
    match (version, procedure) {
        (2, GETPORT) => u16::try_from(cursor.u32()?).ok(),
        (3 | 4, GETPORT) | (4, GETVERSADDR) => universal_address_port(cursor.opaque()?),
        _ => None,
    }
}

/// A universal address ends with the port's two bytes in decimal: `192.0.2.1.8.1` is port 2049 (RFC 5665 5.2.3.3).
fn universal_address_port(address: &[u8]) -> Option<u16> {
    if address.is_empty() {
        return Some(0);
    }
    let mut parts = address.rsplit(|&byte| byte == b'.');
    let low = decimal(parts.next()?)?;
    let high = decimal(parts.next()?)?;
    parts.next()?;
    Some(u16::from_be_bytes([high, low]))
}

fn decimal(digits: &[u8]) -> Option<u8> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
