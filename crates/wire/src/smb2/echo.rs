//! ECHO: are you there. Its body says nothing more.
//!
//! Spec: MS-SMB2 2.2.28, 2.2.29

use super::draft::{Call, Draft, TooLong};
use super::header::{self, Command};
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body, and of the response's.
pub const STRUCTURE_SIZE: u16 = 4;
/// Length of header and fixed body, which has no further fields.
pub const LEN: usize = header::LEN + 4;

/// The call. It says nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo;

impl Call for Echo {
    const COMMAND: Command = Command::Echo;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(STRUCTURE_SIZE, LEN);
        Ok(())
    }
}

/// Reads the answer.
///
/// # Errors
///
/// Where it is none of this command, or its body has another size.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, ()>, Malformed> {
    reply.answer(Echo::COMMAND, STRUCTURE_SIZE, LEN, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, whole};

    #[test]
    fn call_and_answer() {
        let bytes = emitted(&Echo);
        assert_eq!(bytes[header::LEN..], [4, 0, 0, 0]);
        let good = Message::response(Echo::COMMAND.code(), 0).u16(4).u16(0).bytes();
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(())));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
    }
}
