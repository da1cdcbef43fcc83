//! Plimsoll's common types, shared by capture analysis, load generation and the stages after them.
//!
//! No bytes and no I/O here: a [`Transaction`] is one request and its answer, from any source. A [`Procedure`] is a command of a
//! protocol, [`Operation`] and [`Group`] its meaning for a user of files; one table (`procedure`) maps the first to the others. Missing
//! or damaged parts are counted as [`Anomaly`].
//!
//! ```text
//! observe ─┐
//!          ├─ Transaction ─ Sink ─ stats, recording
//! drive   ─┘
//! ```

mod about;
mod add;
mod anomaly;
mod asked;
mod client_path;
mod coverage;
mod encrypted;
mod endpoint;
mod errno;
mod guarantee;
mod hosts;
mod name_lookup;
mod names;
mod operation;
mod outcome;
mod procedure;
mod protocol;
mod rpc_tls;
mod sink;
mod status;
mod timeline;
mod transaction;
mod validity;
pub mod wide;
mod words;

pub use about::{About, LONGEST_KEY, LONGEST_TITLE, LONGEST_VALUE, MOST_LABELS, SystemUnderTest};
pub use anomaly::{Anomalies, Anomaly};
pub use asked::{Asked, Disposition, FileAccess, FileIdentity};
pub use client_path::{ClientPath, Pace, RoundTrip, Stuck};
pub use coverage::{
    Breaks, CachingRight, ClockGranularity, Coverage, Credits, Delegations, DelegationsLeftOut, Downtime, FileGaps,
    LateRequests, LeaseBreaks, Missing, MostResent, Network, OneSided, PacketCounts, PartialPairs, Resent, Resets,
    Restart, SessionSlots, ShareMissing, SlotsLeftOut, SmallWindow, Unfinished, Unopened, Unseen, WaitEnd,
};
pub use encrypted::{Encrypted, Waited};
pub use endpoint::Endpoint;
pub use errno::errno_name;
pub use guarantee::{Durability, Guaranteed, Guarantees, NONE as NO_PROTECTION, Writes};
pub use hosts::{HostNameFrom, HostNames};
pub use name_lookup::{NameLookup, NameServer};
pub use names::{Names, Symbol};
pub use operation::{Group, Operation};
pub use outcome::Outcome;
pub use procedure::{FileCall, Procedure, Row};
pub use protocol::Protocol;
pub use rpc_tls::{RpcTls, RpcTlsConnection};
pub use sink::Sink;
pub use status::{StatusFamily, StatusRule};
pub use timeline::{Frames, Timeline, Vantage};
pub use transaction::Transaction;
pub use validity::{Reason, Validity, Verdict};
