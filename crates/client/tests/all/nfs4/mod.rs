//! The NFSv4.1 client against a table-driven server.

mod hostile;
mod play;
mod recovery;
mod script;
mod table;
mod trunk;
