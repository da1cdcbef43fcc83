//! docs/vocabulary.md is the table of procedures, printed.

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
         This page lists protocol procedures, the names that NetBench gives them (Swartz 1997), the file operation that each performs,\n\
         and the group of this operation in reports. *Long-lived* procedures wait for an event by design, so reports show them in a\n\
         separate table. Other procedures, such as locks, are long-lived only with certain arguments.\n\
         \n\
         A test prints this page from the tables in `crates/model`; do not edit it. To print it again:\n\
         `PLIMSOLL_BLESS=1 cargo test -p plimsoll-report vocabulary`\n\
         \n\
         | Protocol | Procedure | Name in NetBench | Operation | Group | Long-lived |\n\
         |----------|-----------|------------------|-----------|-------|------------|\n",
    );
    for procedure in Procedure::all() {
        let row = procedure.row();
        let (protocol, name, netbench) = (row.protocol.label(), procedure.name(), row.netbench_name.unwrap_or(""));
        let (operation, group, long_lived) =
            (row.operation.label(), row.group.label(), if row.long_lived { "long-lived" } else { "" });
        writeln!(text, "| {protocol} | {name} | {netbench} | {operation} | {group} | {long_lived} |").unwrap();
    }
    statuses(&mut text);
    text
}

fn statuses(text: &mut String) {
    text.push_str(
        "\n## Statuses\n\n\
         Outcomes of requests with a status other than 0. *Expected*: part of ordinary work. *Refused*: the server declined the\n\
         request. *Failed*: the server or its resources had a fault. *Cancelled*: the client withdrew the request. Statuses that\n\
         are not listed count as refused, except NTSTATUS of severity 0 to 2, which count as expected.\n\n\
         | Family | Status | Name | Outcome | Operations |\n\
         |--------|--------|------|---------|------------|\n",
    );
    for family in StatusFamily::ALL {
        for rule in family.rules() {
            let status = match family {
                StatusFamily::Nt | StatusFamily::Dos => format!("{:#010x}", rule.status),
                _ => rule.status.to_string(),
            };
            let operations: Vec<&str> = rule.operations.iter().copied().map(Operation::label).collect();
            let (family, outcome, name) = (family.label(), rule.outcome.label(), rule.name);
            match rule.operations {
                [] => writeln!(text, "| {family} | {status} | {name} | {outcome} | all |").unwrap(),
                _ => {
                    writeln!(text, "| {family} | {status} | {name} | {outcome} | {} |", operations.join(", ")).unwrap();
                    let refused = Outcome::Refused.label();
                    writeln!(
                        text,
                        "| {family} | {status} | {name} | {refused} | all except {} |",
                        operations.join(", ")
                    )
                    .unwrap();
                }
            }
        }
    }
}
