//! The SMB 2 and 3 client.

pub mod auth;
pub mod keys;
pub mod preauth;
pub mod sealing;
pub mod signing;
