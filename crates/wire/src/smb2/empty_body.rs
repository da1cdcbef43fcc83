//! ECHO, LOGOFF and TREE_DISCONNECT: calls and answers without any field.
//!
//! Spec: MS-SMB2 2.2.7, 2.2.8, 2.2.11, 2.2.12, 2.2.28, 2.2.29

use super::command::Command;
use super::draft::{Call, Draft, TooLong};
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body, and of the response's.
pub const STRUCTURE_SIZE: u16 = 4;
/// Length of header and fixed body, which has no further fields.
pub const LEN: usize = header::LEN + 4;

macro_rules! call {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Call for $name {
            const COMMAND: Command = Command::$name;

            fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
                draft.fixed(STRUCTURE_SIZE, LEN);
                Ok(())
            }
        }

        impl $name {
            /// Reads the answer.
            ///
            /// # Errors
            ///
            /// Where it is none of this command, or its body has another size.
            pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, ()>, Malformed> {
                reply.answer(Command::$name, STRUCTURE_SIZE, LEN, |_| Ok(()))
            }
        }
    };
}

call! {
    /// ECHO: are you there.
    Echo
}
call! {
    /// LOGOFF: the session ends.
    Logoff
}
call! {
    /// TREE_DISCONNECT: the client leaves a share, the header's tree id.
    TreeDisconnect
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, whole};

    type Parse = for<'a> fn(&Reply<'a>) -> Result<Answer<'a, ()>, Malformed>;

    fn call_and_answer<C: Call>(call: &C, parse: Parse) {
        let bytes = emitted(call);
        assert_eq!(bytes[header::LEN..], [4, 0, 0, 0]);
        let good = Message::response(C::COMMAND.code(), 0).u16(4).u16(0).bytes();
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(())));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
    }

    #[test]
    fn calls_and_answers() {
        call_and_answer(&Echo, Echo::parse);
        call_and_answer(&Logoff, Logoff::parse);
        call_and_answer(&TreeDisconnect, TreeDisconnect::parse);
    }
}
