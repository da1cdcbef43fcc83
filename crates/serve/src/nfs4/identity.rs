//! The operations that need no session: EXCHANGE_ID, CREATE_SESSION, BIND_CONN_TO_SESSION, DESTROY_SESSION, DESTROY_CLIENTID; and
//! RECLAIM_COMPLETE.
//!
//! Spec: RFC 8881 18.34 to 18.37, RFC 8881 18.50, RFC 8881 18.51

use std::sync::atomic::Ordering;

use plimsoll_wire::nfs::v4::create_session::{BACK_CHANNEL, Channel};
use plimsoll_wire::nfs::v4::exchange_id::WITHOUT_PNFS;
use plimsoll_wire::nfs::v4::sequence::SessionId;
use plimsoll_wire::xdr::{Emit, Strict};

use super::back_channel::BackChannel;
use super::clients::{Creation, Record};
use super::compound::Compound;
use super::limits::LONGEST_OWNER;
use super::server::Server;
use super::status::{Done, Status};

/// EXCHGID4_FLAG_UPD_CONFIRMED_REC_A.
const UPDATES: u32 = 0x4000_0000;
/// EXCHGID4_FLAG_CONFIRMED_R.
const CONFIRMED: u32 = 0x8000_0000;
/// Flags that a client may send: referrals, migration, pNFS roles, and the one above.
const FLAGS: u32 = 0x0007_0103 | UPDATES;
/// Name of this server to its clients.
const NAME: &[u8] = b"plimsoll";
/// Flags of CREATE_SESSION: persistent, back channel, RDMA. Only the back channel is granted.
const SESSION_FLAGS: u32 = 7;
/// CDFC4_FORE and CDFC4_FORE_OR_BOTH.
const FORE: [u32; 2] = [1, 3];
/// CDFC4_BACK and CDFC4_BACK_OR_BOTH.
const BACK: [u32; 2] = [2, 7];

impl Server {
    /// Forgets the sessions and the state of clients that are gone.
    pub(super) fn forget(&self, records: &[Record]) {
        for record in records {
            record.client.gone.store(true, Ordering::Relaxed);
            for id in record.sessions() {
                let _ended = self.sessions.remove(id);
            }
            self.opens.write().forget(&record.client);
        }
    }

    /// Forgets the clients whose lease has expired.
    pub(super) fn expire(&self) {
        let expired = self.clients.lock().expire(self.now());
        self.forget(&expired);
    }
}

impl Compound<'_, '_> {
    pub(super) fn exchange_id(&mut self) -> Done {
        let verifier = self.reader.array()?;
        let owner = self.reader.opaque(LONGEST_OWNER)?;
        let flags = self.reader.u32()?;
        // SP4_NONE; the others need RPCSEC_GSS.
        if self.reader.u32()? != 0 || flags & !FLAGS != 0 {
            return Err(Status::INVAL);
        }
        match self.reader.u32()? {
            0 => {}
            1 => {
                self.reader.opaque(LONGEST_OWNER)?;
                self.reader.opaque(LONGEST_OWNER)?;
                self.reader.fixed(12)?;
            }
            _ => return Err(Status::BADXDR),
        }
        let (updates, now) = (flags & UPDATES != 0, self.server.now());
        let mut identity = self.server.clients.lock().identify(owner, verifier, updates, now);
        if identity == Err(Status::DELAY) {
            self.server.expire();
            identity = self.server.clients.lock().identify(owner, verifier, updates, now);
        }
        let identity = identity?;
        self.out.put_u64(identity.id);
        self.out.put_u32(identity.sequence);
        self.out.put_u32(WITHOUT_PNFS | if identity.confirmed { CONFIRMED } else { 0 });
        // SP4_NONE.
        self.out.put_u32(0);
        // Server owner with its minor id, and scope: another start is another server, with other files.
        self.out.put_u64(0);
        self.out.put_opaque(&self.server.boot);
        self.out.put_opaque(&self.server.boot);
        // nfs_impl_id4: domain, name, date.
        self.out.put_u32(1);
        self.out.put_opaque(b"");
        self.out.put_opaque(NAME);
        self.out.put_fixed(&[0; 12]);
        Ok(())
    }

    pub(super) fn create_session(&mut self) -> Done {
        let (id, sequence, flags) = (self.reader.u64()?, self.reader.u32()?, self.reader.u32()?);
        let fore = Channel::parse(&mut self.reader)?;
        let back = Channel::parse(&mut self.reader)?;
        let program = self.reader.u32()?;
        let credential = callback_credential(&mut self.reader)?;
        if flags & !SESSION_FLAGS != 0 {
            return Err(Status::INVAL);
        }
        let link = self.link.filter(|_| flags & BACK_CHANNEL != 0);
        let caller = credential.map(|credential| (program, credential));
        match self.new_session(id, sequence, [&fore, &back], BackChannel::new(link, caller.clone(), self.minor)) {
            // Clients whose lease has expired may hold all slots.
            Err(Status::DELAY) => {
                self.server.expire();
                self.new_session(id, sequence, [&fore, &back], BackChannel::new(link, caller, self.minor))
            }
            created => created,
        }
    }

    fn new_session(&mut self, id: u64, sequence: u32, [fore, back]: [&Channel; 2], back_channel: BackChannel) -> Done {
        // Held to the end, so that two equal requests create one session.
        let mut clients = self.server.clients.lock();
        let (session, client) = match clients.begin_session(id, sequence)? {
            Creation::Again(answer) => {
                self.out.put_fixed(&answer);
                return Ok(());
            }
            Creation::New(session, client) => (session, client),
        };
        client.renew(self.server.now());
        let flags = if back_channel.is_up() { BACK_CHANNEL } else { 0 };
        let granted = self.server.sessions.create(session, client, fore, back_channel)?;
        let start = self.out.len();
        self.out.put_fixed(&session);
        self.out.put_u32(sequence);
        self.out.put_u32(flags);
        granted.emit(self.out);
        back.emit(self.out);
        let answer = self.out.get(start..).unwrap_or_default();
        let old = clients.confirm(id, sequence, session, answer);
        drop(clients);
        self.server.forget(old.as_slice());
        Ok(())
    }

    pub(super) fn bind_connection(&mut self) -> Done {
        let id: SessionId = self.reader.array()?;
        let direction = self.reader.u32()?;
        let rdma = self.reader.boolean()?;
        let session = self.server.sessions.get(&id)?;
        session.client.renew(self.server.now());
        if rdma || !FORE.contains(&direction) && !BACK.contains(&direction) {
            return Err(Status::INVAL);
        }
        let calls = direction != FORE[0] && self.link.is_some_and(|link| session.bind(link));
        if calls {
            self.server.call_next(&session);
        }
        // Where the client named no credential for calls, the back channel is refused alone, and left out where both would do.
        if direction == BACK[0] && !calls {
            return Err(Status::NOTSUPP);
        }
        self.out.put_fixed(&id);
        // CDFS4_FORE, CDFS4_BACK, CDFS4_BOTH; no RDMA.
        self.out.put_u32(match (calls, direction == BACK[0]) {
            (false, _) => 1,
            (true, true) => 2,
            (true, false) => 3,
        });
        self.out.put_u32(0);
        Ok(())
    }

    pub(super) fn destroy_session(&mut self) -> Done {
        let id: SessionId = self.reader.array()?;
        let own = self.session.as_ref().is_some_and(|session| session.id == id);
        if own && self.left > 0 {
            return Err(Status::NOT_ONLY_OP);
        }
        let session = self.server.sessions.get(&id)?;
        self.server.clients.lock().end_session(session.client.id, &id);
        if self.server.sessions.remove(&id) { Ok(()) } else { Err(Status::BADSESSION) }
    }

    pub(super) fn destroy_client(&mut self) -> Done {
        let id = self.reader.u64()?;
        if self.session.as_ref().is_some_and(|session| session.client.id == id) {
            return Err(Status::CLIENTID_BUSY);
        }
        let mut clients = self.server.clients.lock();
        let _opens = self.server.opens.write();
        clients.destroy(id)
    }

    /// There is nothing to reclaim: the files of an earlier server are lost.
    pub(super) fn reclaim_complete(&mut self) -> Done {
        if self.reader.boolean()? {
            return self.current().map(|_| ());
        }
        let first = !self.client()?.reclaimed.swap(true, Ordering::Relaxed);
        if first { Ok(()) } else { Err(Status::COMPLETE_ALREADY) }
    }
}

/// `callback_sec_parms4<>`: how the client would be called. The first credential that we have: AUTH_NONE, or what the client says of
/// AUTH_SYS. `None`: it wants RPCSEC_GSS alone.
fn callback_credential(reader: &mut Strict<'_>) -> Done<Option<Box<[u8]>>> {
    let mut found = None;
    for _ in 0..reader.u32()? {
        let mut credential = Vec::new();
        match reader.u32()? {
            0 => credential.put_u64(0),
            1 => {
                let mut body = Vec::new();
                body.put_u32(reader.u32()?);
                body.put_opaque(reader.opaque(255)?);
                body.put_fixed(reader.fixed(8)?);
                let groups = reader.u32()?;
                if groups > 16 {
                    return Err(Status::BADXDR);
                }
                body.put_u32(groups);
                body.put_fixed(reader.fixed(groups as usize * 4)?);
                credential.put_u32(1);
                credential.put_opaque(&body);
            }
            6 => {
                reader.u32()?;
                reader.opaque(LONGEST_OWNER)?;
                reader.opaque(LONGEST_OWNER)?;
                continue;
            }
            _ => return Err(Status::BADXDR),
        }
        found.get_or_insert(credential.into());
    }
    Ok(found)
}
