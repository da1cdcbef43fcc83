//! For any responses of a server, every operation ends once, and every request has one transaction.

use std::sync::Arc;

use plimsoll_wire::smb2::header;
use proptest::prelude::*;

use super::World;
use super::server::ERROR;
use crate::client::Client;
use crate::content::Content;
use crate::operation::{Access, Caching, Cause, Disposition, FileKey, Operation, Tag};
use crate::smb2::auth::Credentials;
use crate::smb2::{Dialect, SmbOptions};

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    Begin(u8, u16),
    Send(u16),
    /// The right response to one of the received requests.
    Answer(u8),
    /// The same with some bytes changed.
    Changed(u8, Vec<(u16, u8)>),
    /// Cut short.
    Cut(u8, u16),
    Twice(u8),
    Refuse(u8, u32),
    Interim(u8),
    /// A break of something that may be open.
    Break(u8, u8),
    Noise(Vec<u8>),
    Overdue,
    Leave,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening as H;
    prop_oneof![
        8 => (any::<u8>(), any::<u16>()).prop_map(|(a, b)| H::Begin(a, b)),
        6 => any::<u16>().prop_map(H::Send),
        12 => any::<u8>().prop_map(H::Answer),
        1 => (any::<u8>(), prop::collection::vec((0..200_u16, any::<u8>()), 1..4)).prop_map(|(a, b)| H::Changed(a, b)),
        1 => (any::<u8>(), any::<u16>()).prop_map(|(a, b)| H::Cut(a, b)),
        1 => any::<u8>().prop_map(H::Twice),
        3 => (any::<u8>(), prop_oneof![Just(0xC000_0022), Just(0xC000_0011), Just(0x8000_0006), Just(0x8000_0005), any::<u32>()])
            .prop_map(|(a, b)| H::Refuse(a, b)),
        3 => any::<u8>().prop_map(H::Interim),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(a, b)| H::Break(a, b)),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(H::Noise),
        1 => Just(H::Overdue),
        1 => Just(H::Leave),
    ]
}

impl World {
    fn happens(&mut self, happening: &Happening, content: &Arc<Content>) {
        match happening {
            Happening::Begin(which, more) => self.begin_some(*which, *more, content),
            Happening::Send(most) => self.send(usize::from(*most)),
            Happening::Answer(which) => self.answer_one(*which, |answer| vec![answer]),
            Happening::Changed(which, changes) => self.answer_one(*which, |mut answer| {
                for (at, value) in changes {
                    if let Some(byte) = answer.get_mut(usize::from(*at)) {
                        *byte ^= value;
                    }
                }
                vec![answer]
            }),
            Happening::Cut(which, length) => self.answer_one(*which, |mut answer| {
                answer.truncate(usize::from(*length) % (answer.len() + 1));
                vec![answer]
            }),
            Happening::Twice(which) => self.answer_one(*which, |answer| vec![answer.clone(), answer]),
            Happening::Refuse(which, status) => {
                if let Some(asked) = self.pick(*which) {
                    let answer = self.server.reply(&asked, *status, &ERROR);
                    self.deliver(&answer);
                }
            }
            Happening::Interim(which) => {
                if let Some(asked) = self.pick(*which) {
                    let answer = self.server.interim(&asked, u64::from(*which));
                    self.server.asked.push(asked);
                    self.deliver(&answer);
                }
            }
            Happening::Break(file, level) => {
                let mut notice = b"\xfeSMB\x40\0\0\0\0\0\0\0\x12\0\0\0\x01".to_vec();
                notice.resize(header::LEN, 0);
                notice[header::MESSAGE_ID..][..8].fill(0xFF);
                notice.extend([24, 0, *level, 0, 0, 0, 0, 0, *file, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
                self.deliver(&notice);
            }
            Happening::Noise(bytes) => self.deliver(bytes),
            Happening::Overdue => {
                let now = self.tick();
                self.client.overdue(now - 50, now, &mut self.collected);
            }
            Happening::Leave => {
                if !self.begun.contains(&Tag::LEAVE) {
                    self.begun.push(Tag::LEAVE);
                    let now = self.tick();
                    self.client.leave(now, &mut self.out, &mut self.collected);
                }
            }
        }
    }

    fn pick(&mut self, which: u8) -> Option<super::Asked> {
        if self.server.asked.is_empty() {
            return None;
        }
        // Mostly in order, as servers answer.
        let place = if which < 200 { 0 } else { usize::from(which) % self.server.asked.len() };
        Some(self.server.asked.remove(place))
    }

    fn answer_one(&mut self, which: u8, change: impl FnOnce(Vec<u8>) -> Vec<Vec<u8>>) {
        let Some(asked) = self.pick(which) else { return };
        let answer = self.server.answer(&asked);
        for message in change(answer) {
            self.deliver(&message);
        }
    }

    fn begin_some(&mut self, which: u8, more: u16, content: &Arc<Content>) {
        let (file, path) = (FileKey(u32::from(more % 4)), "a/path");
        let (access, disposition) = (Access::ReadWrite, Disposition::OpenOrCreate);
        let ways = [Caching::None, Caching::Batch, Caching::Lease, Caching::LeaseCached, Caching::Durable];
        let caching = ways[usize::from(more % 5)];
        let (offset, length, key) = (u64::from(more), u32::from(more) << 6, 1);
        let keep = more.is_multiple_of(3);
        let operation = match which % 20 {
            0..4 => Operation::Open { path, access, disposition, caching },
            4 => Operation::Close { file },
            5..8 => Operation::Read { file, offset, length, keep },
            8 => Operation::Write { file, offset, length, content, key },
            9 => Operation::Getattr { path },
            10 => Operation::List { path },
            11 => Operation::Rename { from: path, to: path },
            12 => Operation::Fsinfo,
            13 => Operation::Lock { file, offset, length: 1, exclusive: true, wait: keep },
            14 => Operation::Watch { path },
            15 => Operation::Cancel { tag: Tag(u64::from(more) % (self.begun.len() as u64 + 1)) },
            16 => Operation::Copy { from: file, to: file, length: length << 6 },
            17 => Operation::Null,
            18 => Operation::Rmdir { path },
            _ => Operation::Readlink { path },
        };
        self.begin(&operation);
    }

    /// At the end no operation or request is missing, and none was reported twice.
    fn account(mut self) {
        self.broken(Cause::ConnectionReset);
        assert_eq!(self.client.outstanding(), 0);
        for tag in &self.begun {
            assert!(self.result(*tag).is_some(), "{tag:?} never ended");
        }
        assert_eq!(self.collected.done.len(), self.begun.len());
        self.flush();
        assert_eq!(self.collected.transactions.len(), self.server.heard, "each request is one transaction");
    }
}

/// Not logged on yet.
fn fresh(dialect: Dialect) -> World {
    let mut options = SmbOptions::new("srv", "share", Credentials::anonymous());
    options.dialects = Dialect::V202..=dialect;
    let mut world = World::new(options);
    world.server.dialect = dialect.code();
    world.server.grants = 8;
    world.connect();
    world
}

proptest! {
    #[test]
    fn every_action_ends_once(
        happenings in prop::collection::vec(happening(), 0..200),
        credits in 1..40_u16,
        dialect in prop::sample::select(&[Dialect::V202, Dialect::V210][..]),
        connected in prop::bool::weighted(0.8),
    ) {
        let content = Arc::new(Content::new(1));
        let mut world = if connected { World::ready(dialect, credits) } else { fresh(dialect) };
        if connected {
            // The start of the world reports these.
            world.begun.clear();
            world.server.heard = 0;
        }
        for happening in &happenings {
            world.happens(happening, &content);
        }
        world.account();
    }
}
