//! Procedures by a name that a user writes: of an operation, a group or a procedure, the last also with its protocol, as tables show it.

use plimsoll_model::{Operation, Procedure};
use plimsoll_stats::GroupKey;

/// A named set of procedures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcedureSet {
    name: String,
    procedures: Vec<Procedure>,
}

impl ProcedureSet {
    /// The procedures of one operation if the text is its label (write), otherwise as [`ProcedureSet::named`]: some groups have an
    /// operation's name and contain more (Write: also flush).
    ///
    /// # Errors
    /// Unknown name; the message lists the known ones.
    pub fn of_label(text: &str) -> Result<Self, String> {
        let procedures: Vec<Procedure> =
            Procedure::all().filter(|procedure| procedure.row().operation.label() == text).collect();
        if procedures.is_empty() { Self::named(text) } else { Ok(Self { name: text.to_owned(), procedures }) }
    }

    /// Procedures by the name of an operation, a group or a procedure. The name of a procedure may have its protocol in front (NFS3 WRITE):
    /// then it is neither an operation nor a group.
    ///
    /// # Errors
    /// Unknown name; the message lists the known ones.
    pub fn named(text: &str) -> Result<Self, String> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        let procedures: Vec<Procedure> = Procedure::all()
            .filter(|procedure| {
                let row = procedure.row();
                let netbench = row.netbench_name;
                is(row.operation.label())
                    || is(row.group.label())
                    || (row.group.is_other() && is(GroupKey::Other.label()))
                    || is(&procedure.name())
                    || is(&procedure.command().name())
                    || netbench.is_some_and(is)
                    || is(&procedure.name_with_protocol())
                    || is(&procedure.command().name_with_protocol())
                    || netbench.is_some_and(|name| is(&format!("{} {name}", row.protocol.label())))
            })
            .collect();
        if procedures.is_empty() {
            let operations: Vec<&str> = operations().map(Operation::label).collect();
            let groups = GroupKey::ALL.map(GroupKey::label);
            return Err(format!(
                "{text}: expected an operation ({}), group ({}) or procedure (docs/vocabulary.md lists them; a protocol may be in \
                front: NFS3 WRITE)",
                operations.join(", "),
                groups.join(", ")
            ));
        }
        Ok(Self { name: text.to_owned(), procedures })
    }

    /// The name as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The procedures.
    pub fn procedures(&self) -> &[Procedure] {
        &self.procedures
    }

    /// Whether the set contains a procedure.
    pub fn contains(&self, procedure: Procedure) -> bool {
        self.procedures.contains(&procedure)
    }
}

/// Every operation that some procedure has, once.
fn operations() -> impl Iterator<Item = Operation> {
    let all: std::collections::BTreeSet<Operation> =
        Procedure::all().map(|procedure| procedure.row().operation).collect();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_groups_and_procedures_are_all_names() {
        let count = |name: &str| ProcedureSet::named(name).unwrap().procedures.len();
        assert!(count("read") > 3 && count("READ") == count("read"));
        assert_eq!(count("READ_ANDX"), 1);
        assert!(count("Other") > count("Other.Locking"));
        assert!(count("TRANSACTION2") > 5, "a command stands for its subcommands too");
        let label = |name: &str| ProcedureSet::of_label(name).unwrap().procedures.len();
        assert!(label("write") < count("write") && label("Write") == count("write"), "the group has flush, too");
        let error = ProcedureSet::named("raed").unwrap_err();
        assert!(error.contains("getattr") && error.contains(", Other, "), "{error}");
    }

    #[test]
    fn the_names_of_tables_with_several_protocols_are_names() {
        for procedure in Procedure::all() {
            let name = procedure.name_with_protocol();
            let set = ProcedureSet::of_label(&name).unwrap();
            assert!(set.contains(procedure), "{name}");
            let is_part = |one: &Procedure| {
                one.command() == procedure.command() && one.row().protocol == procedure.row().protocol
            };
            assert!(set.procedures().iter().all(is_part), "{name}: {set:?}");
        }
        let one = ProcedureSet::of_label("NFS3 WRITE").unwrap();
        assert_eq!(one.procedures(), [Procedure::of(plimsoll_model::Protocol::Nfs3, 7)], "without the group's COMMIT");
        assert!(ProcedureSet::named("SMB1 Read+X").is_ok() && ProcedureSet::named("NFS3 Open/Close").is_err());
    }
}
