//! Procedures by a name that a user writes: of an operation, a group or a procedure.

use plimsoll_model::{Group, Operation, Procedure};

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

    /// Procedures by the name of an operation, a group or a procedure.
    ///
    /// # Errors
    /// Unknown name; the message lists the known ones.
    pub fn named(text: &str) -> Result<Self, String> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        let procedures: Vec<Procedure> = Procedure::all()
            .filter(|procedure| {
                let row = procedure.row();
                is(row.operation.label())
                    || is(row.group.label())
                    || (row.group.is_other() && is("Other"))
                    || is(&procedure.name())
                    || is(&procedure.command().name())
                    || row.netbench_name.is_some_and(is)
            })
            .collect();
        if procedures.is_empty() {
            let operations: Vec<&str> = operations().map(Operation::label).collect();
            let groups: Vec<&str> = Group::ALL.iter().map(|group| group.label()).collect();
            return Err(format!(
                "{text}: expected an operation ({}), group ({}) or procedure (docs/vocabulary.md lists them)",
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
        assert!(ProcedureSet::named("raed").unwrap_err().contains("getattr"));
    }
}
