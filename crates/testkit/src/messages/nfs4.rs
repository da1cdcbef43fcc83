//! NFSv4 calls as a server reads them, and results for them: everything exists, or one operation fails. There are no files.

use plimsoll_wire::nfs::v4::CompoundCall;
use plimsoll_wire::rpc::Call;
use plimsoll_wire::xdr::Emit;

/// The first session's id; each later one has the next byte.
pub const SESSION: [u8; 16] = [7; 16];
/// Slots of the session.
pub const SLOTS: u32 = 4;

/// A call that came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its xid.
    pub xid: u32,
    /// Its operations; none of NULL.
    pub operations: Vec<u32>,
    /// Slot and sequence id.
    pub slot: Option<(u32, u32)>,
    /// Session, where there is one.
    pub session: Option<[u8; 16]>,
    /// Everything that it says, without the head of the call.
    pub arguments: Vec<u8>,
    /// Offset and bytes of READ, WRITE and their like.
    offset: u64,
    count: u32,
    /// An OPEN that asks for a read delegation.
    wants: bool,
}

/// The state ID of the delegation that comes with an OPEN that asks for one.
pub const DELEGATION: [u8; 16] = [6; 16];

/// The calls, and the answers to the server's own, in what a client sends. It ends with a whole record.
///
/// # Panics
/// A call is none of NFSv4, or an observer cannot read its compound.
#[must_use]
pub fn sent(mut bytes: &[u8]) -> (Vec<Asked>, Vec<Vec<u8>>) {
    let (mut calls, mut replies) = (Vec::new(), Vec::new());
    while let Some((mark, behind)) = bytes.split_first_chunk() {
        let length = (u32::from_be_bytes(*mark) & 0x7FFF_FFFF) as usize;
        let (message, next) = behind.split_at(length);
        bytes = next;
        match Call::new(message) {
            Some(call) => {
                assert_eq!((call.program(), call.version()), (100_003, 4));
                let arguments = call.arguments().unwrap_or_default();
                calls.push(Asked::new(call.xid(), call.procedure(), arguments));
            }
            None => replies.push(message.to_vec()),
        }
    }
    (calls, replies)
}

impl Asked {
    /// A call with this xid, of NULL (0) or a compound (1).
    ///
    /// # Panics
    /// An observer cannot read the compound.
    #[must_use]
    pub fn new(xid: u32, procedure: u32, arguments: &[u8]) -> Self {
        let (mut operations, mut slot, mut session, mut count) = (Vec::new(), None, None, 0);
        let (mut wants, mut offset) = (false, 0);
        if procedure == 1 {
            let compound = CompoundCall::new(arguments);
            let mut members = compound.operations();
            for member in members.by_ref() {
                operations.push(member.code);
                slot = slot.or(member.facts.slot.map(|slot| (slot.slot, slot.sequence)));
                wants |= member.facts.access.is_some_and(|access| access & 0x0100 != 0);
                session = session.or(member.facts.slot.and_then(|slot| slot.session.try_into().ok()));
                offset = member.facts.offset.unwrap_or(offset);
                count = member.facts.payload.or(member.facts.count.map(|count| count as u32)).unwrap_or(count);
            }
            assert_eq!(members.stopped(), None, "a compound that an observer cannot read");
        }
        Self { xid, operations, slot, session, arguments: arguments.to_vec(), offset, count, wants }
    }

    /// The same call, whose OPEN gets a delegation without asking for one.
    #[must_use]
    pub fn granting(&self) -> Self {
        Self { wants: true, ..self.clone() }
    }

    /// Correct results: everything exists, everything succeeds.
    #[must_use]
    pub fn fine(&self) -> Vec<u8> {
        self.failing(usize::MAX, 0)
    }

    /// The same up to an operation, which fails.
    #[must_use]
    pub fn failing(&self, place: usize, status: u32) -> Vec<u8> {
        let mut results = Vec::new();
        if self.operations.is_empty() {
            return results;
        }
        let fails = place < self.operations.len();
        results.put_u32(if fails { status } else { 0 });
        results.put_opaque(b"");
        let count = if fails { place + 1 } else { self.operations.len() };
        results.put_u32(count as u32);
        for (at, &code) in self.operations.iter().take(count).enumerate() {
            let status = if at == place { status } else { 0 };
            results.put_u32(code);
            results.put_u32(status);
            if status == 0 {
                self.result(code, &mut results);
            } else if code == 34 {
                results.put_u32(0);
            } else if (code, status) == (35, 10_017) {
                // Who has the client's name: network id and address.
                results.put_opaque(b"tcp");
                results.put_opaque(b"10.0.0.1.3.4");
            } else if (code, status) == (12, 10_010) {
                // Whose lock is in the way: offset, length, kind, client, owner.
                results.put_fixed(&[0; 28]);
                results.put_opaque(b"other");
            } else if (code, status) == (60, 10_094) {
                // How the server can copy: consecutive, synchronous.
                results.put_u64(1 << 32 | 1);
            }
        }
        results
    }

    fn opened(&self, out: &mut Vec<u8>) {
        // State ID, and how the directory changed.
        out.put_fixed(&[8; 16]);
        out.put_fixed(&[0; 20]);
        // Flags, in 4.0 with OPEN4_RESULT_CONFIRM; no attributes were set; OPEN_DELEGATE_READ or NONE.
        let flags = if self.arguments[4..8] == [0; 4] { 2 } else { 0 };
        [flags, 0, u32::from(self.wants)].iter().for_each(|&word| out.put_u32(word));
        if self.wants {
            out.put_fixed(&DELEGATION);
            // It is not recalled; for whom: nothing.
            [0; 5].iter().for_each(|&word| out.put_u32(word));
        }
    }

    fn result(&self, code: u32, out: &mut Vec<u8>) {
        let change = |out: &mut Vec<u8>| out.put_fixed(&[0; 20]);
        match code {
            3 => out.put_u64(0x3F_0000_003F),
            4 | 12 | 14 | 20 => out.put_fixed(&[9; 16]),
            5 => out.put_u64(1),
            6 => {
                change(out);
                out.put_u32(0);
            }
            9 => put_attributes(out),
            10 => out.put_opaque(b"a handle"),
            11 | 28 => change(out),
            18 => self.opened(out),
            25 => {
                out.put_u32(0);
                out.put_opaque(&vec![7; self.count as usize]);
            }
            26 => {
                out.put_u64(1);
                out.put_u32(1);
                out.put_u64(3);
                out.put_opaque(b"name");
                put_attributes(out);
                out.put_u64(1);
            }
            27 => out.put_opaque(b"some/where"),
            29 => {
                change(out);
                change(out);
            }
            34 => out.put_u32(0),
            35 => out.put_fixed(&[5; 16]),
            38 => {
                out.put_u32(self.count);
                out.put_u32(0);
                out.put_u64(1);
            }
            41 => {
                out.put_fixed(&self.arguments[16..32]);
                out.put_u64(3 << 32);
            }
            42 => {
                out.put_u64(5);
                [1, 0, 0, 0, 0].iter().for_each(|&word| out.put_u32(word));
                out.put_opaque(b"major");
                out.put_opaque(b"scope");
                out.put_u32(0);
            }
            43 => {
                // The number of the session in the call, behind the client's id.
                let number = self.arguments[27];
                out.put_fixed(&[SESSION[0].wrapping_add(number).wrapping_sub(1); 16]);
                [number.into(), 2].iter().for_each(|&word| out.put_u32(word));
                for slots in [SLOTS, 1] {
                    [0, 1 << 20, 1 << 20, 4_096, 8, slots, 0].iter().for_each(|&word| out.put_u32(word));
                }
            }
            53 => {
                let (slot, sequence) = self.slot.unwrap_or_default();
                out.put_fixed(&self.session.unwrap_or_default());
                [sequence, slot, SLOTS - 1, SLOTS - 1, 0].iter().for_each(|&word| out.put_u32(word));
            }
            // TEST_STATEID behind SEQUENCE: all states are valid.
            55 => {
                out.put_fixed(&self.arguments[52..56]);
                let count = u32::from_be_bytes([52, 53, 54, 55].map(|at| self.arguments[at]));
                (0..count).for_each(|_| out.put_u32(0));
            }
            _ => self.result_of_minor_2(code, out),
        }
    }

    fn result_of_minor_2(&self, code: u32, out: &mut Vec<u8>) {
        match code {
            // A copy that is complete, and not durable.
            60 => {
                out.put_u32(0);
                out.put_u64(self.count.into());
                out.put_u32(0);
                out.put_u64(1);
                out.put_u64(1 << 32 | 1);
            }
            // Data, and a hole behind it.
            68 => {
                let data = self.count / 2;
                [0, 2, 0].iter().for_each(|&word| out.put_u32(word));
                out.put_u64(self.offset);
                out.put_opaque(&vec![7; data as usize]);
                out.put_u32(1);
                out.put_u64(self.offset + u64::from(data));
                out.put_u64((self.count - data).into());
            }
            69 => {
                out.put_u32(0);
                out.put_u64(self.offset + 10);
            }
            _ => {}
        }
    }
}

/// type (a file), size, lease_time, maxread, maxwrite; space_avail, space_total.
fn put_attributes(out: &mut Vec<u8>) {
    [2, 1 << 1 | 1 << 4 | 1 << 10 | 3 << 30, 1 << 10 | 1 << 12].iter().for_each(|&word| out.put_u32(word));
    let mut values = Vec::new();
    values.put_u32(1);
    values.put_u64(1_000);
    values.put_u32(90);
    [1 << 16, 1 << 16, 5, 6].iter().for_each(|&value| values.put_u64(value));
    out.put_opaque(&values);
}

/// A call of the server: CB_SEQUENCE and CB_RECALL, of a delegation that no client has.
#[must_use]
pub fn recall(xid: u32) -> Vec<u8> {
    recall_of(xid, [1; 16])
}

/// The same of this delegation.
#[must_use]
pub fn recall_of(xid: u32, state: [u8; 16]) -> Vec<u8> {
    let mut recall = Vec::new();
    recall.put_fixed(&state);
    recall.put_u32(0);
    recall.put_opaque(b"a handle");
    called_back(xid, 4, &recall)
}

/// A call of the server: CB_SEQUENCE and CB_RECALL_ANY, with the words of its arguments.
#[must_use]
pub fn recall_any(xid: u32, words: &[u32]) -> Vec<u8> {
    let mut recall = Vec::new();
    words.iter().for_each(|&word| recall.put_u32(word));
    called_back(xid, 8, &recall)
}

/// A call of the server with CB_SEQUENCE and another operation.
fn called_back(xid: u32, operation: u32, its_arguments: &[u8]) -> Vec<u8> {
    let mut arguments = Vec::new();
    arguments.put_opaque(b"");
    // Minor version, callback_ident, and two operations.
    [1, 0, 2, 11].iter().for_each(|&word| arguments.put_u32(word));
    arguments.put_fixed(&SESSION);
    // Sequence id, slot, highest slot, whether to keep the answer, no referring calls.
    [1, 0, 0, 0, 0, operation].iter().for_each(|&word| arguments.put_u32(word));
    arguments.put_fixed(its_arguments);
    let mut bytes = Vec::new();
    bytes.put_u32(0x8000_0000 | (40 + arguments.len()) as u32);
    // The program that the client chose, CB_COMPOUND; AUTH_NONE twice.
    [xid, 0, 2, 0x4000_0000, 1, 1, 0, 0, 0, 0].iter().for_each(|&word| bytes.put_u32(word));
    bytes.extend(arguments);
    bytes
}
