//! docs/vocabulary.md is the table of procedures, printed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "example/bless.rs"]
mod bless;

use plimsoll_model::Procedure;
use std::fmt::Write as _;
use std::path::PathBuf;

#[test]
fn vocabulary() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vocabulary.md");
    bless::hold(&path, &table(), "vocabulary");
}

fn table() -> String {
    let mut text = String::from(
        "# Vocabulary\n\
         \n\
         What goes on the wire (the procedure), the name that seed 1 (Swartz 1997) has for it, what a user of files does by it\n\
         (the operation), and where reports sum it (the group). \"Held\" procedures always wait by design and are reported\n\
         apart; some others (blocking locks, reads of named pipes) are held depending on their arguments.\n\
         \n\
         Printed from the table in `crates/model` by a test; do not edit. To print it again:\n\
         `PLIMSOLL_BLESS=1 cargo test -p plimsoll-report vocabulary`\n\
         \n\
         | Protocol | Procedure | Seed 1 | Operation | Group | Held |\n\
         |----------|-----------|--------|-----------|-------|------|\n",
    );
    for procedure in Procedure::all() {
        let row = procedure.row();
        let (protocol, name, seed) = (row.protocol.label(), procedure.name(), row.seed_name.unwrap_or(""));
        let (operation, group, held) = (row.operation.label(), row.group.label(), if row.held { "held" } else { "" });
        writeln!(text, "| {protocol} | {name} | {seed} | {operation} | {group} | {held} |").unwrap();
    }
    text
}
