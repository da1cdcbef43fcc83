//! Which operation an NFSv4 compound is about.

use crate::{Operation as O, Procedure};

/// Minimum precedence of the main operation of an incomplete compound, so that it is certain: only WRITE ranks above READ.
const CERTAIN: u8 = 14;

impl Procedure {
    /// The index of a compound's main operation, which represents it in all counts of requests: the first one with the highest
    /// precedence. `None` if unknown: operations are missing (`complete` is false), and one of them may have a higher precedence.
    pub fn principal(members: impl IntoIterator<Item = Procedure>, complete: bool) -> Option<usize> {
        let mut best: Option<(u8, usize)> = None;
        for (place, member) in members.into_iter().enumerate() {
            let precedence = member.precedence();
            if best.is_none_or(|(highest, _)| precedence > highest) {
                best = Some((precedence, place));
            }
        }
        best.filter(|&(precedence, _)| complete || precedence >= CERTAIN).map(|(_, place)| place)
    }

    /// File data before handles, handles before names, names before attributes; bookkeeping last.
    fn precedence(self) -> u8 {
        let row = self.row();
        match row.operation {
            _ if row.bookkeeping => 0,
            // GETATTR, VERIFY and NVERIFY accompany other operations; SEEK and the calls for extended attributes do not.
            O::GetAttributes if matches!(row.name, "GETATTR" | "VERIFY" | "NVERIFY") => 1,
            O::Access => 2,
            O::GetAttributes | O::FileSystemInfo => 3,
            O::Lookup => 4,
            O::Compound | O::Control | O::Null | O::Other | O::Session => 5,
            O::ReadLink => 6,
            O::List | O::Notify => 7,
            O::SetAttributes => 8,
            O::Lock => 9,
            O::Create | O::Link | O::MakeDirectory | O::Remove | O::RemoveDirectory | O::Rename => 10,
            O::Close => 11,
            O::Open => 12,
            O::Flush => 13,
            O::Read => 14,
            O::Write => 15,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn about(names: &[&str], complete: bool) -> Option<String> {
        let named =
            |name: &&str| Procedure::all().find(|p| p.row().protocol == Protocol::Nfs4 && p.row().name == *name);
        let members: Vec<Procedure> = names.iter().filter_map(named).collect();
        assert_eq!(members.len(), names.len());
        Procedure::principal(members.iter().copied(), complete).map(|place| members[place].name())
    }

    /// Compounds of the Linux client, and some that it does not send.
    #[test]
    fn a_compound_is_about_what_was_asked_for() {
        for (members, principal) in [
            (&["PUTFH", "WRITE", "GETATTR"][..], "WRITE"),
            (&["SEQUENCE", "PUTFH", "OPEN", "GETFH", "ACCESS", "GETATTR"], "OPEN"),
            (&["SEQUENCE", "PUTFH", "OPEN", "READ", "CLOSE"], "READ"),
            (&["SEQUENCE", "PUTFH", "LAYOUTRETURN", "CLOSE", "GETATTR"], "CLOSE"),
            (&["SEQUENCE", "PUTFH", "GETATTR", "DELEGRETURN"], "DELEGRETURN"),
            (&["SEQUENCE", "PUTFH", "SAVEFH", "PUTFH", "RENAME"], "RENAME"),
            (&["SEQUENCE", "PUTFH", "READDIR"], "READDIR"),
            (&["PUTFH", "LOOKUP", "GETFH", "GETATTR"], "LOOKUP"),
            (&["PUTFH", "ACCESS", "GETATTR"], "ACCESS"),
            (&["PUTFH", "GETATTR", "RENEW"], "GETATTR"),
            (&["SEQUENCE", "PUTFH", "SEEK"], "SEEK"),
            (&["SETCLIENTID_CONFIRM", "PUTROOTFH", "GETATTR"], "SETCLIENTID_CONFIRM"),
            (&["SEQUENCE"], "SEQUENCE"),
        ] {
            assert_eq!(about(members, true).as_deref(), Some(principal), "{members:?}");
        }
    }

    #[test]
    fn operations_that_were_cut_off_may_be_what_it_is_about() {
        assert_eq!(about(&["SEQUENCE", "PUTFH", "GETATTR"], false), None);
        assert_eq!(about(&["SEQUENCE", "PUTFH", "OPEN"], false), None);
        assert_eq!(about(&["SEQUENCE", "PUTFH", "READ"], false).as_deref(), Some("READ"));
        assert_eq!(about(&[], true), None);
    }
}
