//! The NFSv4.1 client against a server that does what a table says.

mod hostile;
mod play;
mod script;
mod table;
