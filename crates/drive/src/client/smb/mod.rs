//! The SMB 2 and 3 client.
