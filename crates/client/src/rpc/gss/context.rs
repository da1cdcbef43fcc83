//! A context: from the ticket to signed and encrypted calls.
//!
//! Spec: RFC 2203 5.2 (context), 5.3 (data), 5.4 (end)

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_lc_rs::rand::fill;
use plimsoll_model::Asked;
use plimsoll_wire::rpc::gss::{CONTEXT_PROBLEM, CREDENTIAL_PROBLEM, GssCall, RPCSEC_GSS, put_verifier, reply_verifier};
use plimsoll_wire::rpc::{GssProcedure, Protection, RecordMark, Verdict};
use plimsoll_wire::xdr::{Emit, Malformed, padding};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use zeroize::Zeroizing;

use super::established::{InitRequest, Ready, established};
use super::{Opened, Written, share};
use crate::credentials::Credentials;
use crate::kerberos::message;
use crate::kerberos::{Purpose, Realm, ServiceTicket, TicketError};
use crate::operation::Cause;
use crate::outbox::Outbox;
use crate::rpc::data::Data;

/// The security of an NFS client's calls: a ticket, which all clients share, and the protection.
#[derive(Clone, Debug)]
pub struct Gss {
    ticket: Arc<ServiceTicket>,
    protection: Protection,
    /// Contexts that replaced an expired one, of all clients.
    renewed: Arc<AtomicU64>,
}

/// NFS-Ganesha's window. It notes the numbers of calls in a mask of as many bits, and shifts the mask by the distance of a new number from the
/// largest before. A shift by all 32 bits changes nothing on x86. If the last of 32 calls is looked at first, Ganesha therefore takes others
/// for repeats, and drops them in silence.
const MASK_BITS: u32 = 32;

/// Maximum number of contexts in a row that replace an expired one without a call that succeeds.
const MOST_RENEWALS: u32 = 3;

impl Gss {
    /// Asks the realm's KDC for a ticket of an account for NFS on `host`.
    ///
    /// # Errors
    /// There is none, and why.
    pub fn request(
        credentials: &Credentials,
        realm: &Realm,
        host: &str,
        protection: Protection,
    ) -> Result<Self, TicketError> {
        let service = format!("nfs/{host}");
        let ticket = ServiceTicket::request(credentials, realm, &service, Purpose::Rpc)?;
        Ok(Self::new(Arc::new(ticket), protection))
    }

    /// With a ticket that was got before, for the purpose [`Purpose::Rpc`].
    #[must_use]
    pub fn new(ticket: Arc<ServiceTicket>, protection: Protection) -> Self {
        Self { ticket, protection, renewed: Arc::default() }
    }

    /// The protection of arguments and results.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// Number of contexts that replaced an expired one, of all clients.
    #[must_use]
    pub fn renewed(&self) -> u64 {
        self.renewed.load(Relaxed)
    }

    /// The encryption of the contexts.
    #[must_use]
    pub fn encryption(&self) -> &'static str {
        self.ticket.cipher.name()
    }
}

/// A client's context.
#[derive(Debug)]
pub(crate) struct GssContext {
    gss: Gss,
    program: (u32, u32),
    stage: Stage,
    /// The number of the call that began it: sequence numbers count from there, so that no two calls have the same, and a call that is
    /// sent again has another one.
    first: u64,
    /// The number of the call that ends it.
    last: Option<u64>,
    /// The server has refused a call because the context has expired.
    expired: bool,
    /// Contexts in a row that replaced an expired one, without a call that succeeded.
    renewals: u32,
    /// The next context that the server grants replaces an expired one.
    replaces: bool,
}

#[derive(Debug)]
enum Stage {
    New,
    Asked(Box<InitRequest>),
    Ready(Box<Ready>),
}

impl GssContext {
    pub(crate) fn new(gss: &Gss, program: (u32, u32)) -> Self {
        let (stage, expired, replaces) = (Stage::New, false, false);
        Self { gss: gss.clone(), program, stage, first: 0, last: None, expired, renewals: 0, replaces }
    }

    /// Nobody asked for it yet.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.stage, Stage::New)
    }

    /// The server has not answered the call that asks for it.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked(_))
    }

    /// Calls may be sent, and the context must be given back.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready(_)) && self.last.is_none() && !self.expired
    }

    /// No further call may be sent in it, and another context must replace it.
    pub(crate) fn has_expired(&self) -> bool {
        self.expired
    }

    /// Whether this call asked for it.
    pub(crate) fn began_by(&self, id: u64) -> bool {
        id == self.first && !self.is_new()
    }

    /// The next connection gets another context: the server may have restarted, and forgotten this one.
    pub(crate) fn renew(&mut self) {
        (self.stage, self.last, self.expired, self.replaces) = (Stage::New, None, false, false);
    }

    /// Results must be received whole to be checked.
    pub(crate) fn hides_results(&self) -> bool {
        self.gss.protection != Protection::None
    }

    /// How many numbers from that of the oldest outstanding call on may be used (RFC 2203 5.3.3.1: the server drops a call below its window
    /// in silence).
    pub(crate) fn window(&self) -> usize {
        match &self.stage {
            Stage::Ready(ready) if ready.window == MASK_BITS => MASK_BITS as usize - 1,
            Stage::Ready(ready) => ready.window as usize,
            Stage::New | Stage::Asked(_) => 1,
        }
    }

    /// Writes the call of NULL that asks for the context. `now` is in ns since the Unix epoch.
    pub(crate) fn init(&mut self, id: u64, now: i64, out: &mut Vec<u8>) -> Result<(), Cause> {
        let mut seed = [0; 32];
        fill(&mut seed).map_err(|_| Cause::OutOfResources)?;
        let (subkey, sequence) = self.gss.ticket.draw(&mut StdRng::from_seed(seed));
        let (token, sent) =
            message::request(&self.gss.ticket, &subkey, sequence, now).map_err(|_| Cause::OutOfResources)?;
        (self.first, self.last) = (id, None);
        let replaces = std::mem::take(&mut self.expired);
        self.renewals += u32::from(replaces);
        self.replaces |= replaces;
        self.stage = Stage::New;
        self.head(id, 0, GssProcedure::Init, out);
        out.put_opaque(&token);
        self.stage = Stage::Asked(Box::new(InitRequest { sent, subkey, sequence }));
        Ok(())
    }

    /// Writes the call of NULL that ends the context.
    pub(crate) fn destroy(&mut self, id: u64, out: &mut Vec<u8>) {
        self.last = Some(id);
        self.head(id, 0, GssProcedure::Destroy, out);
    }

    /// Writes a call, without its record mark's length. Returns where it begins in the outbox's own bytes, and the requested object.
    pub(crate) fn write<E: FnOnce(&mut Vec<u8>) -> Asked>(
        &mut self,
        call: Written<'_, E>,
        out: &mut Outbox,
    ) -> (usize, Asked) {
        let Written { id, procedure, data, emit } = call;
        let protection = self.gss.protection;
        let (mut asked, mut signature) = (Asked::default(), None);
        let start = out.write(|bytes| {
            self.head(id, procedure, GssProcedure::Data, bytes);
            match protection {
                Protection::None => asked = emit(bytes),
                Protection::Integrity => {
                    let at = bytes.len();
                    bytes.put_u32(0);
                    bytes.put_u32(self.sequence(id));
                    asked = emit(bytes);
                    let signed = bytes.get_mut(at..).unwrap_or_default();
                    signature = Some(self.sign_arguments(signed, data.as_ref()));
                }
                Protection::Privacy => {
                    let mut plain = Zeroizing::new(Vec::new());
                    plain.put_u32(self.sequence(id));
                    asked = emit(&mut plain);
                    data.iter().flat_map(pieces).for_each(|piece| plain.extend_from_slice(piece));
                    plain.extend_from_slice(pad(data.as_ref()));
                    bytes.put_opaque(&self.seal(&plain));
                }
            }
        });
        if let Some(data) = data.as_ref().filter(|_| protection != Protection::Privacy) {
            share(data, out);
            out.put(pad(Some(data)));
        }
        if let Some(signature) = signature {
            out.write(|bytes| bytes.put_opaque(&signature));
        }
        (start, asked)
    }

    /// Checks the answer to a call. `bytes` are the answer from its xid on, and `verdict` what it says.
    ///
    /// # Errors
    /// The cause for which the connection is of no use: the answer is not the server's, or there is no context.
    pub(crate) fn open<'a>(&mut self, id: u64, bytes: &'a [u8], verdict: Verdict<'a>) -> Result<Opened<'a>, Cause> {
        let verifier = reply_verifier(bytes).map_err(|Malformed| Cause::Malformed)?;
        if let Stage::Asked(request) = &self.stage
            && id == self.first
        {
            let Verdict::Success(results) = verdict else { return Err(Cause::LogonRefused) };
            let ready = established(&self.gss.ticket, request, verifier, results)?;
            self.stage = Stage::Ready(Box::new(ready));
            self.gss.renewed.fetch_add(u64::from(std::mem::take(&mut self.replaces)), Relaxed);
            return Ok(Opened::Plain(Verdict::Success(&[])));
        }
        // A denied call has no verifier: the server does not accept the call, so there is nothing to believe.
        let Some((flavor, signature)) = verifier else {
            let expires = matches!(verdict, Verdict::AuthError(CREDENTIAL_PROBLEM | CONTEXT_PROBLEM));
            let ours = matches!(self.stage, Stage::Ready(_)) && id > self.first && self.last != Some(id);
            if !expires || !ours || self.renewals >= MOST_RENEWALS {
                return Ok(Opened::Plain(verdict));
            }
            self.expired = true;
            return Ok(Opened::Expired(verdict));
        };
        let Stage::Ready(ready) = &self.stage else { return Err(Cause::Untrusted) };
        let sequence = self.sequence(id);
        let proven = ready.keys.verify(&sequence.to_be_bytes(), signature).is_ok();
        if flavor != RPCSEC_GSS || !proven || id <= self.first {
            return Err(Cause::Untrusted);
        }
        self.renewals = 0;
        match verdict {
            // RFC 2203 5.4 leaves open whether the empty results of DESTROY are wrapped: Ganesha wraps them.
            Verdict::Success([]) if self.last == Some(id) => Ok(Opened::Plain(verdict)),
            Verdict::Success(results) => ready.results(self.gss.protection, sequence, results),
            // Errors are not wrapped (RFC 2203 5.3.3.4).
            _ => Ok(Opened::Plain(verdict)),
        }
    }

    /// The sequence number of a call.
    fn sequence(&self, id: u64) -> u32 {
        u32::try_from(id.saturating_sub(self.first)).unwrap_or(u32::MAX)
    }

    /// Writes a call up to its arguments: record mark, head, verifier.
    fn head(&mut self, id: u64, procedure: u32, purpose: GssProcedure, out: &mut Vec<u8>) {
        out.put_fixed(&[0; RecordMark::SIZE]);
        let begin = out.len();
        let handle: &[u8] = match &self.stage {
            Stage::Ready(ready) => &ready.handle,
            Stage::New | Stage::Asked(_) => &[],
        };
        let (program, protection, sequence) = (self.program, self.gss.protection, self.sequence(id));
        GssCall { xid: id as u32, program, procedure, purpose, sequence, protection, handle }.emit(out);
        let signature = match &mut self.stage {
            Stage::Ready(ready) => out.get(begin..).map(|head| ready.keys.sign([head])),
            Stage::New | Stage::Asked(_) => None,
        };
        put_verifier(signature.as_ref().map(|signature| &signature[..]), out);
    }

    /// Sets the length of what is signed: `signed` begins with it, and `data` follow. Returns the signature.
    fn sign_arguments(&mut self, signed: &mut [u8], data: Option<&Data<'_>>) -> Vec<u8> {
        let filler = pad(data);
        let more = data.map_or(0, |data| data.length as usize + filler.len());
        let Some((length, signed)) = signed.split_first_chunk_mut::<4>() else { return Vec::new() };
        // Far below 4 GiB.
        *length = ((signed.len() + more) as u32).to_be_bytes();
        let Stage::Ready(ready) = &mut self.stage else { return Vec::new() };
        ready.keys.sign([&*signed].into_iter().chain(data.into_iter().flat_map(pieces)).chain([filler])).to_vec()
    }

    /// The token of encrypted arguments; empty, which the server refuses, where there is no context.
    fn seal(&mut self, plain: &[u8]) -> Vec<u8> {
        match &mut self.stage {
            Stage::Ready(ready) => ready.keys.seal(plain),
            Stage::New | Stage::Asked(_) => Vec::new(),
        }
    }
}

fn pieces<'a>(data: &Data<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let Data { content, key, offset, length } = *data;
    content.pieces(key, offset, length as usize).filter_map(|piece| content.block().get(piece))
}

/// The padding of data.
fn pad(data: Option<&Data<'_>>) -> &'static [u8] {
    [&[][..], &[0], &[0; 2], &[0; 3]][data.map_or(0, |data| padding(data.length as usize))]
}
