//! docs/vocabulary.md is the table of procedures, printed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::example::bless;
use plimsoll_model::{Operation, Outcome, Procedure, StatusFamily};
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
         What goes on the wire (the procedure), the name that Swartz 1997 has for it, what a user of files does by it\n\
         (the operation), and where reports sum it (the group). \"Held\" procedures always wait by design and are reported\n\
         apart; some others (blocking locks) are held depending on their arguments.\n\
         \n\
         Printed from the table in `crates/model` by a test; do not edit. To print it again:\n\
         `PLIMSOLL_BLESS=1 cargo test -p plimsoll-report vocabulary`\n\
         \n\
         | Protocol | Procedure | Seed 1 | Operation | Group | Held |\n\
         |----------|-----------|--------|-----------|-------|------|\n",
    );
    for procedure in Procedure::all() {
        let row = procedure.row();
        let (protocol, name, seed) = (row.protocol.label(), procedure.name(), row.netbench_name.unwrap_or(""));
        let (operation, group, held) =
            (row.operation.label(), row.group.label(), if row.long_lived { "held" } else { "" });
        writeln!(text, "| {protocol} | {name} | {seed} | {operation} | {group} | {held} |").unwrap();
    }
    statuses(&mut text);
    text
}

fn statuses(text: &mut String) {
    text.push_str(
        "\n## Statuses\n\n\
         How a request ended that was answered with a status other than 0. *Expected* is part of ordinary work, *refused* is a server\n\
         that said no, *failed* is a server or its resources in trouble. Statuses that are not here are refusals, but for NTSTATUS of\n\
         severity 0 to 2, which are expected.\n\n\
         | Family | Status | Name | Outcome | Of the operations |\n\
         |--------|--------|------|---------|-------------------|\n",
    );
    for family in StatusFamily::ALL {
        for rule in family.rules() {
            let status = match family {
                StatusFamily::Nt | StatusFamily::Dos => format!("{:#010x}", rule.status),
                _ => rule.status.to_string(),
            };
            let operations: Vec<&str> = rule.operations.iter().copied().map(Operation::label).collect();
            let of = match rule.operations {
                [] => "all".to_owned(),
                _ => format!("{}; {} of others", operations.join(", "), Outcome::Refused.label()),
            };
            let (family, outcome) = (family.label(), rule.outcome.label());
            writeln!(text, "| {family} | {status} | {} | {outcome} | {of} |", rule.name).unwrap();
        }
    }
}
