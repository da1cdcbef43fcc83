//! NFS 3 with krb5p for the loop by hand: the head of each call is signed, arguments and results are encrypted.
//!
//! MOUNT gives the handle of the export without Kerberos, as it does to Plimsoll. All other calls go through the context of this file, on
//! a separate connection. The loop checks what Plimsoll checks: the signature of each response, and the sequence number that was encrypted.
//!
//! Spec: RFC 2203 5.2 (context), 5.3 (calls); RFC 1813 3.3

use std::error::Error;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use plimsoll_client::nfs3::{self, Ports};
use plimsoll_client::target::Target;
use plimsoll_testkit::servers::Kdc;
use plimsoll_wire::rpc::gss::{GssCall, InitResults, RPCSEC_GSS, put_verifier, reply_verifier};
use plimsoll_wire::rpc::{Caller, GssProcedure, Protection, Verdict};
use plimsoll_wire::xdr::Emit as _;

use super::gss::{Context, Output};
use super::hand::XID;
use super::{Hand, MARK, PATIENCE, one_message, put, word};
use crate::operation::Case;

/// NFS version 3.
const PROGRAM: (u32, u32) = (100_003, 3);
const NULL: u32 = 0;
const GETATTR: u32 = 1;
const LOOKUP: u32 = 3;
const READ: u32 = 6;
/// The sequence number in a call: behind its xid, six words, the credential's length, its version and its procedure.
const SEQUENCE: usize = MARK + 40;
/// The bit of a record mark that says that the record is whole.
const LAST: u32 = 0x8000_0000;

/// An established context.
pub struct Krb5p {
    context: Context,
    /// The server's name for it.
    handle: Vec<u8>,
    /// Bytes of a call up to its verifier, the record mark included.
    head: usize,
    /// How many numbers from that of the oldest outstanding call on may be used: the server drops a call below its window (RFC 2203
    /// 5.3.3.1).
    window: u64,
    oldest: u64,
    /// Which calls were answered: a bit for each, from the oldest number on. Its own is the lowest.
    answered: u128,
}

/// A connection with a context, and the request of an operation.
pub fn log_on(operation: Case, target: &str) -> Result<Hand, Box<dyn Error>> {
    let Target::Nfs(target) = Target::parse(target)? else { return Err("expected a target nfs://".into()) };
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, target.server.port));
    let (mount, portmap, security) = (target.mount_port, target.portmap_port, target.security);
    let ports = Ports { mount, portmap, reserved: false, timeout: PATIENCE, security };
    let caller = Caller::User { stamp: 0, machine: "plimsoll-cost", uid: 0, gid: 0, groups: &[] };
    let root = nfs3::mount(to, &target.export, &ports, None, &caller)?.root;
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut krb5p = Krb5p::establish(&mut stream, &format!("nfs/{}@{}", target.server.host, Kdc::REALM))?;
    let mut place = Vec::new();
    place.put_opaque(root.as_bytes());
    place.put_opaque(operation.file().0.as_bytes());
    let mut lookup = krb5p.call(1, LOOKUP, &place);
    krb5p.protect(&mut lookup, 0)?;
    stream.write_all(&lookup)?;
    // Behind the sequence number and the status stands the file's handle.
    let reply = one_message(&mut stream)?;
    let found = krb5p.results(&reply)?;
    let length = word(&found, 8)? as usize;
    let mut arguments = Vec::new();
    arguments.put_opaque(found.get(12..12 + length).ok_or("a short response to LOOKUP")?);
    let procedure = if operation.length() > 0 { READ } else { GETATTR };
    if procedure == READ {
        arguments.put_u64(0);
        arguments.put_u32(operation.length());
    }
    let request = krb5p.call(2, procedure, &arguments);
    krb5p.answered(&reply)?;
    let mut hand = Hand::of(operation, stream, request, Vec::new(), None)?;
    hand.krb5p = Some(krb5p);
    Ok(hand)
}

impl Krb5p {
    fn establish(stream: &mut TcpStream, service: &str) -> Result<Self, Box<dyn Error>> {
        let mut context = Context::new(service)?;
        let (token, _) = context.step(&[])?;
        let mut call = head(0, NULL, GssProcedure::Init, 0, &[]);
        put_verifier(None, &mut call);
        call.put_opaque(&token);
        mark(&mut call, 0)?;
        stream.write_all(&call)?;
        let reply = one_message(stream)?;
        let reply = reply.get(MARK..).unwrap_or_default();
        let (Ok((_, Verdict::Success(results))), Ok(Some((RPCSEC_GSS, signature)))) =
            (Verdict::parse(reply), reply_verifier(reply))
        else {
            return Err("the server grants no context".into());
        };
        let begun = InitResults::parse(results).map_err(|_| "malformed results of the call for a context")?;
        let (_, true) = context.step(begun.token)? else { return Err("the server's token ends too early".into()) };
        context.verify(&begun.window.to_be_bytes(), signature)?;
        let head = head(0, NULL, GssProcedure::Data, 0, begun.handle).len();
        // As Plimsoll's client: of 32 calls at once, Ganesha may drop some.
        let window = if begun.window == 32 { 31 } else { u64::from(begun.window.min(u128::BITS)) };
        let handle = begun.handle.to_vec();
        Ok(Self { context, handle, head, window, oldest: 1, answered: 0 })
    }

    /// A call that is not protected yet: its head, and what is encrypted: the sequence number, which is the xid, and the arguments.
    fn call(&self, xid: u32, procedure: u32, arguments: &[u8]) -> Vec<u8> {
        let mut call = head(xid, procedure, GssProcedure::Data, xid, &self.handle);
        call.put_u32(xid);
        call.extend_from_slice(arguments);
        call
    }

    /// Signs and encrypts the call that begins at `start`, and sets its sequence number to its xid.
    pub fn protect(&self, out: &mut Vec<u8>, start: usize) -> Result<(), Box<dyn Error>> {
        let body = start + self.head;
        let sequence = word(out, start + XID)?.to_be_bytes();
        put(out, start + SEQUENCE, &sequence)?;
        put(out, body, &sequence)?;
        let sealed = self.context.seal(out.get(body..).unwrap_or_default())?;
        out.truncate(body);
        let signature = self.context.sign(out.get(start + MARK..).unwrap_or_default())?;
        put_verifier(Some(&signature), out);
        out.put_opaque(&sealed);
        mark(out, start)
    }

    /// Whether the call with this number may be sent.
    pub fn has_room(&self, number: u64) -> bool {
        number - self.oldest < self.window
    }

    /// Checks a response, and that it says success.
    pub fn answered(&mut self, message: &[u8]) -> Result<(), Box<dyn Error>> {
        self.results(message)?;
        self.answered |= 1 << (u64::from(word(message, XID)?) - self.oldest);
        let over = self.answered.trailing_ones();
        self.answered >>= over;
        self.oldest += u64::from(over);
        Ok(())
    }

    /// The decrypted results of a response: sequence number, status 0, and more.
    fn results(&self, message: &[u8]) -> Result<Output, Box<dyn Error>> {
        // RFC 5531 9: xid, REPLY, MSG_ACCEPTED, and the verifier's flavor and length are in front of the signature.
        if word(message, MARK + 8)? != 0 {
            return Err(format!("denied: {message:02x?}").into());
        }
        let sequence = message.get(XID..XID + 4).unwrap_or_default();
        let (begin, length) = (MARK + 20, word(message, MARK + 16)? as usize);
        let at = begin + length.next_multiple_of(4);
        let status = word(message, at)?;
        if status != 0 {
            return Err(format!("accept_stat {status}").into());
        }
        self.context.verify(sequence, message.get(begin..begin + length).unwrap_or_default())?;
        let length = word(message, at + 4)? as usize;
        let results = self.context.open(message.get(at + 8..at + 8 + length).ok_or("a short response")?)?;
        if results.get(..4) != Some(sequence) || results.get(4..8) != Some(&[0; 4]) {
            return Err(format!("refused: {:02x?}", results.get(..8)).into());
        }
        Ok(results)
    }
}

/// A call up to its verifier, with a record mark that is still to be set.
fn head(xid: u32, procedure: u32, purpose: GssProcedure, sequence: u32, handle: &[u8]) -> Vec<u8> {
    let mut head = vec![0; MARK];
    let protection = Protection::Privacy;
    GssCall { xid, program: PROGRAM, procedure, purpose, sequence, protection, handle }.emit(&mut head);
    head
}

/// Sets the record mark of the call that begins at `start` and ends the bytes.
fn mark(out: &mut [u8], start: usize) -> Result<(), Box<dyn Error>> {
    let length = u32::try_from(out.len() - start - MARK)?;
    put(out, start, &(LAST | length).to_be_bytes())
}
