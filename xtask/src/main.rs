//! Plimsoll's own build, test and bench commands.
fn main() {}
