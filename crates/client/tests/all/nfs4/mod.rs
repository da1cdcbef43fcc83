//! The NFSv4.1 client against a server that does what a table says.

mod hostile;
mod play;
mod recovery;
mod script;
mod table;
mod trunk;
