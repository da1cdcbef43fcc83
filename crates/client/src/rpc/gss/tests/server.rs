//! A server with one context, which checks every call, and whose answers may be wrong in every way.

use super::*;

/// The key that the server chooses.
const SUBKEY: [u8; 32] = [0x33; 32];
pub(super) const WINDOW: u32 = 2;

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Nothing,
    Signature,
    CutSignature,
    /// The signature of another call's number.
    Number,
    NoVerifier,
    /// Not wrapped.
    Plain,
    /// Another call's results.
    InnerNumber,
    Results,
    CutToken,
    /// AUTH_ERROR.
    Denied(u32),
    /// The server does not prove that it has the ticket's key.
    Key,
    /// GSS_S_FAILURE and the like.
    Major(u32),
    NoWindow,
    /// The window was changed on its way.
    Window,
}

/// A call that the server has checked.
pub(super) struct Taken {
    pub(super) xid: u32,
    /// NULL is 0.
    pub(super) number: u32,
    pub(super) purpose: GssProcedure,
    pub(super) sequence: u32,
    /// Its plain arguments, or the token that asks for a context.
    pub(super) arguments: Vec<u8>,
}

/// A server with one context.
pub(super) struct Server {
    pub(super) acceptor: Acceptor,
    pub(super) protection: Protection,
    pub(super) window: u32,
    /// The results of DESTROY are wrapped, too.
    pub(super) wraps_end: bool,
    pub(super) contexts: u32,
    /// Sequence numbers seen in the current context.
    pub(super) seen: Vec<u32>,
    /// The arguments of the last call, or its purpose.
    pub(super) last: (GssProcedure, Vec<u8>),
}

impl Server {
    pub(super) fn new(protection: Protection) -> Self {
        let last = (GssProcedure::Init, Vec::new());
        let (acceptor, window) = (Acceptor::new(&SUBKEY), WINDOW);
        Self { acceptor, protection, window, wraps_end: false, contexts: 0, seen: Vec::new(), last }
    }

    /// Checks a call, and answers it with results.
    pub(super) fn answer(&mut self, record: &[u8], results: &[u8], wrong: Wrong) -> Vec<u8> {
        let taken = self.take(record);
        self.reply(&taken, results, wrong)
    }

    /// Checks a call.
    pub(super) fn take(&mut self, record: &[u8]) -> Taken {
        let call = Call::new(&record[4..]).unwrap();
        let Some(Credential::Gss(gss)) = call.credential() else { panic!("no RPCSEC_GSS: {record:?}") };
        let GssCredential { procedure, sequence, protection, handle, version } = gss;
        assert_eq!((version, protection), (1, Some(self.protection)));
        let length = u32::from_be_bytes(record[32..36].try_into().unwrap()) as usize;
        let (head, rest) = record[4..].split_at(32 + length);
        let mut rest = Cursor::new(rest);
        let (flavor, signature) = (rest.u32().unwrap(), rest.opaque().unwrap());
        if procedure == GssProcedure::Init {
            assert_eq!((flavor, signature.len(), handle, call.procedure()), (0, 0, Some(&[][..]), 0));
            self.last = (procedure, Vec::new());
            // A new context has new keys and numbers.
            (self.acceptor, self.contexts) = (Acceptor::new(&SUBKEY), self.contexts + 1);
            self.seen.clear();
            let token = rest.opaque().unwrap().to_vec();
            return Taken { xid: call.xid(), number: 0, purpose: procedure, sequence, arguments: token };
        }
        assert_eq!((flavor, handle), (6, Some(&b"the context"[..])));
        assert!(self.acceptor.verify(head, signature), "the call is not authentic");
        assert!(!self.seen.contains(&sequence), "number {sequence} was used before");
        self.seen.push(sequence);
        let wraps = procedure == GssProcedure::Data;
        let arguments = if wraps { self.arguments(rest, sequence) } else { rest.rest().to_vec() };
        self.last = (procedure, arguments.clone());
        Taken { xid: call.xid(), number: call.procedure(), purpose: procedure, sequence, arguments }
    }

    /// Answers a call with results.
    pub(super) fn reply(&mut self, call: &Taken, results: &[u8], wrong: Wrong) -> Vec<u8> {
        let Taken { xid, purpose, sequence, .. } = *call;
        if purpose == GssProcedure::Init {
            return self.begin(xid, &call.arguments, wrong);
        }
        let wraps = purpose == GssProcedure::Data;
        let mut out = Vec::new();
        if let Wrong::Denied(status) = wrong {
            [xid, 1, 1, 1, status].iter().for_each(|&word| out.put_u32(word));
            return marked(out);
        }
        [xid, 1, 0].iter().for_each(|&word| out.put_u32(word));
        let of = if wrong == Wrong::Number { sequence + 1 } else { sequence };
        let mut signature = self.acceptor.sign(&of.to_be_bytes());
        match wrong {
            Wrong::Signature => signature[20] ^= 1,
            Wrong::CutSignature => signature.truncate(27),
            _ => {}
        }
        put_verifier((wrong != Wrong::NoVerifier).then_some(&signature), &mut out);
        out.put_u32(0);
        // As Ganesha does.
        let wraps = (wraps || self.wraps_end) && wrong != Wrong::Plain;
        let inner = if wrong == Wrong::InnerNumber { sequence + 1 } else { sequence };
        out.extend(if wraps { self.wrapped(inner, results, wrong) } else { results.to_vec() });
        marked(out)
    }

    /// Answers an AP-REQ.
    fn begin(&mut self, xid: u32, token: &[u8], wrong: Wrong) -> Vec<u8> {
        let (time, microseconds, _) = opened(token);
        let key = if wrong == Wrong::Key { [1; 32] } else { KEY };
        let mut token = reply(&key, &time, &microseconds, Some(&SUBKEY));
        if wrong == Wrong::CutToken {
            token.pop();
        }
        let window = if wrong == Wrong::NoWindow { 0 } else { self.window };
        let mut out = Vec::new();
        if let Wrong::Denied(status) = wrong {
            [xid, 1, 1, 1, status].iter().for_each(|&word| out.put_u32(word));
            return marked(out);
        }
        [xid, 1, 0].iter().for_each(|&word| out.put_u32(word));
        let mut signature = self.acceptor.sign(&window.to_be_bytes());
        if wrong == Wrong::Signature {
            signature[20] ^= 1;
        }
        put_verifier((wrong != Wrong::NoVerifier).then_some(&signature), &mut out);
        out.put_u32(0);
        out.put_opaque(b"the context");
        out.put_u32(if let Wrong::Major(major) = wrong { major } else { 0 });
        out.put_u32(0);
        out.put_u32(window + u32::from(wrong == Wrong::Window));
        out.put_opaque(&token);
        marked(out)
    }

    /// The plain arguments of a call.
    fn arguments(&self, mut body: Cursor<'_>, sequence: u32) -> Vec<u8> {
        let plain = match self.protection {
            Protection::None => return body.rest().to_vec(),
            Protection::Integrity => {
                let (signed, signature) = (body.opaque().unwrap(), body.opaque().unwrap());
                assert!(self.acceptor.verify(signed, signature), "the arguments are not authentic");
                signed.to_vec()
            }
            Protection::Privacy => self.acceptor.open(body.opaque().unwrap()),
        };
        assert!(body.rest().is_empty());
        let arguments = plain.strip_prefix(&sequence.to_be_bytes()).unwrap();
        arguments.to_vec()
    }

    fn wrapped(&mut self, sequence: u32, results: &[u8], wrong: Wrong) -> Vec<u8> {
        let mut out = Vec::new();
        let plain = [&sequence.to_be_bytes()[..], results].concat();
        let mut sealed = match self.protection {
            Protection::None => return results.to_vec(),
            Protection::Integrity => self.acceptor.sign(&plain),
            Protection::Privacy => self.acceptor.seal(&plain, 0, 0),
        };
        match wrong {
            Wrong::Results => *sealed.last_mut().unwrap() ^= 1,
            Wrong::CutToken => sealed.truncate(9),
            _ => {}
        }
        if self.protection == Protection::Integrity {
            out.put_opaque(&plain);
        }
        out.put_opaque(&sealed);
        out
    }
}

fn marked(mut message: Vec<u8>) -> Vec<u8> {
    let mark = 0x8000_0000 | message.len() as u32;
    message.splice(..0, mark.to_be_bytes());
    message
}
