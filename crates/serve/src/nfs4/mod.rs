//! The NFSv4.1 server, on the memory file system.
//!
//! Minor versions 1 and 2: sessions with a reply cache, opens with share reservations, byte-range locks. Of the optional operations of 4.2
//! ALLOCATE, CLONE, COPY on this server, DEALLOCATE, READ_PLUS and SEEK. Read delegations, for clients that ask for them and can be called over their connection; no layouts. Callers are not authenticated, as in version 3.
//!
//! All tables are bounded ([`clients`], [`opens`]). A client that does not renew its lease loses its state when another client needs it.
//! Delegations are in `opens/delegations.rs`, and the calls to clients in `back_channel.rs`.
//!
//! Spec: RFC 8881, RFC 7862

mod attributes;
mod back_channel;
mod clients;
mod codes;
mod compound;
mod connection;
mod conversation;
mod data;
mod directory;
mod identity;
mod limits;
mod lock;
mod names;
mod open;
mod opens;
mod operations;
mod ranges;
mod rpc;
mod server;
mod session;
mod set_attributes;
mod sparse;
mod state_checks;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use connection::converse;
pub use conversation::Nfs4Conversation;
pub(crate) use rpc::begins_version_4;
pub(crate) use server::Server;
