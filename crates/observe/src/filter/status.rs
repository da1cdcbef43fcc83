//! Statuses, by name, number or how the request ended.

use plimsoll_model::{Outcome, Protocol, Transaction};

use crate::pairing::statuses_named;

/// Statuses that a filter means.
#[derive(Clone, Debug)]
pub enum Status {
    /// By name: a number of each protocol that has it.
    Named(Vec<(Protocol, u32)>),
    /// A number, of any protocol.
    Number(u32),
    /// However it was said.
    Ended(Outcome),
    /// Statuses that reports count as errors.
    Error,
    /// Calls that are answered without a status.
    None,
}

/// Those that a capture can show.
fn outcomes() -> impl Iterator<Item = Outcome> {
    Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::NeverSent)
}

impl Status {
    /// Reads a name, a number or a way to end.
    ///
    /// # Errors
    /// No status has this name.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("error") {
            return Ok(Status::Error);
        }
        if text.eq_ignore_ascii_case("none") {
            return Ok(Status::None);
        }
        if let Some(outcome) = outcomes().find(|outcome| outcome.label().eq_ignore_ascii_case(text)) {
            return Ok(Status::Ended(outcome));
        }
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let number = hexadecimal.map_or_else(|| text.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok());
        if let Some(number) = number {
            return Ok(Status::Number(number));
        }
        let named = statuses_named(text);
        if named.is_empty() {
            let outcomes: Vec<&str> = outcomes().map(Outcome::label).collect();
            return Err(format!(
                "{text}: expected a status name (STATUS_ACCESS_DENIED, ACCESS_DENIED, NFS3ERR_STALE), a status number (0xc0000022), \
                 error, none, or {}",
                outcomes.join(", ")
            ));
        }
        Ok(Status::Named(named))
    }

    #[inline]
    pub(super) fn is_of(&self, t: &Transaction) -> bool {
        match self {
            Status::Named(all) => t.status.is_some_and(|status| all.contains(&(t.procedure.row().protocol, status))),
            Status::Number(number) => t.status == Some(*number),
            Status::Ended(outcome) => t.outcome == *outcome,
            Status::Error => t.outcome.is_error(),
            Status::None => t.status.is_none() && t.outcome == Outcome::Succeeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name_number_and_end() {
        for name in ["STATUS_SHARING_VIOLATION", "sharing_violation"] {
            let Ok(Status::Named(all)) = Status::parse(name) else { panic!("{name}") };
            assert_eq!(all, [(Protocol::Smb1, 0xC000_0043), (Protocol::Smb2, 0xC000_0043)]);
        }
        let Ok(Status::Named(stale)) = Status::parse("stale") else { panic!("stale") };
        assert!(stale.contains(&(Protocol::Nfs3, 70)) && stale.contains(&(Protocol::Nfs4, 70)));
        assert!(matches!(Status::parse("0xC0000043"), Ok(Status::Number(0xC000_0043))));
        assert!(matches!(Status::parse("Refused"), Ok(Status::Ended(Outcome::Refused))));
        assert!(matches!(Status::parse("error"), Ok(Status::Error)));
        assert!(Status::parse("STATUS_NO_SUCH_THING").is_err());
    }
}
