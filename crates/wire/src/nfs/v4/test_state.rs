//! TEST_STATEID: whether states are valid.
//!
//! Spec: RFC 8881 18.48

use super::{Call, StateId};
use crate::xdr::{Emit, Malformed, Strict};

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct TestStates<'a> {
    /// The states.
    pub states: &'a [StateId],
}

impl Call for TestStates<'_> {
    const OPERATION: u32 = 55;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.states.len() as u32);
        self.states.iter().for_each(|state| state.emit(out));
    }
}

/// The status of each state, in the order of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses<'a>(&'a [[u8; 4]]);

impl Statuses<'_> {
    /// The statuses, as their wire numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> {
        self.0.iter().map(|status| u32::from_be_bytes(*status))
    }
}

pub(super) fn parse<'a>(reader: &mut Strict<'a>) -> Result<Statuses<'a>, Malformed> {
    let count = reader.u32()? as usize;
    let (statuses, _) = reader.fixed(count.checked_mul(4).ok_or(Malformed)?)?.as_chunks();
    Ok(Statuses(statuses))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::builder::Xdr;

    #[test]
    fn each_state_has_a_status() {
        // `TEST_STATEID4args`: ts_stateids<> (RFC 8881 18.48.1).
        let mut bytes = Vec::new();
        let states = [(1, 2), (0, 3)].map(|(sequence, byte)| StateId { sequence, other: [byte; 12] });
        TestStates { states: &states }.emit(&mut bytes);
        let expected = [&[0, 0, 0, 2, 0, 0, 0, 1][..], &[2; 12], &[0; 4], &[3; 12]].concat();
        assert_eq!(bytes, expected);
        // `TEST_STATEID4resok`: tsr_status_codes<>; DELEG_REVOKED.
        let results = Xdr::new().words(&[2, 0, 10_087]).0;
        let statuses = parse(&mut Strict::new(&results)).unwrap();
        assert_eq!(statuses.iter().collect::<Vec<_>>(), [0, 10_087]);
        assert_eq!(parse(&mut Strict::new(&results[..8])), Err(Malformed));
        assert_eq!(parse(&mut Strict::new(&[0xFF; 64])), Err(Malformed), "four billion states");
        assert_eq!(parse(&mut Strict::new(&[0; 4])).map(|none| none.iter().len()), Ok(0));
    }
}
