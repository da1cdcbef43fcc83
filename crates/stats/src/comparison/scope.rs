//! Which rows there are.

use plimsoll_model::{Operation, Procedure};

use crate::{GroupKey, Intervals};

/// A row of a comparison: the procedures that it sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everything that users asked for ([`plimsoll_model::Row::is_asked_for`]).
    All,
    /// A group.
    Group(GroupKey),
    /// A user operation, in any protocol.
    Operation(Operation),
    /// What goes over the wire.
    Procedure(Procedure),
}

impl Scope {
    /// Whether the row includes a procedure.
    pub fn holds(self, procedure: Procedure) -> bool {
        let row = procedure.row();
        match self {
            Scope::All => row.is_asked_for(),
            Scope::Group(key) => key.holds(row.group),
            Scope::Operation(operation) => row.operation == operation,
            Scope::Procedure(wanted) => procedure == wanted,
        }
    }

    /// Its name in reports and conditions.
    pub fn name(self) -> String {
        match self {
            Scope::All => "All".to_owned(),
            Scope::Group(key) => key.label().to_owned(),
            Scope::Operation(operation) => operation.label().to_owned(),
            Scope::Procedure(procedure) => procedure.name(),
        }
    }

    /// The row of this name in a run, in either case: an operation before a group before a procedure (their numbers are the
    /// same where it matters). The name of a procedure may have its protocol in front (SMB2 READ).
    pub fn named(run: &Intervals, name: &str) -> Option<Scope> {
        let place = |scope: &Scope| match scope {
            Scope::All => 0,
            Scope::Operation(_) => 1,
            Scope::Group(_) => 2,
            Scope::Procedure(_) => 3,
        };
        let is_named = |scope: &Scope| {
            let with_protocol = match *scope {
                Scope::Procedure(procedure) => procedure.name_with_protocol().eq_ignore_ascii_case(name),
                _ => false,
            };
            with_protocol || scope.name().eq_ignore_ascii_case(name)
        };
        Self::of(&[run]).into_iter().filter(is_named).min_by_key(place)
    }

    /// The rows that have something in at least one of these: all together, then groups in the order of Swartz (1997),
    /// operations, and procedures in the table's order.
    pub fn of(runs: &[&Intervals]) -> Vec<Scope> {
        let mut seen: Vec<Procedure> = runs
            .iter()
            .flat_map(|run| run.sum().rows().map(|(procedure, _)| procedure).collect::<Vec<_>>())
            .filter(|procedure| *procedure != Procedure::write_raw_async())
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let mut operations: Vec<Operation> = seen.iter().map(|procedure| procedure.row().operation).collect();
        operations.sort_unstable();
        operations.dedup();
        let all = std::iter::once(Scope::All);
        let groups = GroupKey::ALL.into_iter().map(Scope::Group);
        let operations = operations.into_iter().map(Scope::Operation);
        let procedures = seen.iter().map(|&procedure| Scope::Procedure(procedure));
        let rows = all.chain(groups).chain(operations).chain(procedures);
        rows.filter(|scope| seen.iter().any(|&procedure| scope.holds(procedure))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, IntervalWidth};
    use plimsoll_model::{Group, Protocol};

    #[test]
    fn rows_are_those_with_traffic_and_all_is_what_users_asked_for() {
        let mut intervals = Intervals::new(IntervalWidth::USUAL);
        let mut interval = Interval::at(0, IntervalWidth::USUAL);
        // SESSION_SETUP, READ.
        let [logon, read] = [1, 8].map(|code| Procedure::of(Protocol::Smb2, code));
        for procedure in [logon, read] {
            interval.row_mut(procedure).count = 1;
        }
        intervals.add(interval);
        assert!(Scope::All.holds(read) && !Scope::All.holds(logon));
        let groups = [Group::Read, Group::Session].map(|group| Scope::Group(GroupKey::One(group)));
        let operations = [Operation::Read, Operation::Session].map(Scope::Operation);
        let procedures = [logon, read].map(Scope::Procedure);
        let expected = [&[Scope::All][..], &groups, &operations, &procedures].concat();
        assert_eq!(Scope::of(&[&intervals]), expected);
        let named = |name| Scope::named(&intervals, name);
        assert_eq!((named("ALL"), named("read")), (Some(Scope::All), Some(Scope::Operation(Operation::Read))));
        assert_eq!((named("SESSION_SETUP"), named("write")), (Some(Scope::Procedure(logon)), None));
        assert_eq!((named("SMB2 READ"), named("NFS3 READ")), (Some(Scope::Procedure(read)), None));
    }
}
