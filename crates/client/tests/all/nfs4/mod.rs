//! The NFSv4 client against a table-driven server.

mod delayed;
mod delegations;
mod expired;
mod hostile;
mod minor_2;
mod outages;
mod play;
mod recall_any;
mod recovery;
mod revocations;
mod separate_sessions;
mod session_limits;
mod sessionless;
mod table;
mod trunk;
