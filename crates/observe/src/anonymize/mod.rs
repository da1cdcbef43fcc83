//! Anonymised captures: two passes over the capture write each packet anew.
//!
//! The first pass is an [`Observer`](crate::Observer). It cuts streams into messages as for a report, and stores the marked fields of each message
//! ([`plimsoll_wire::marks`]): numbers as they are, names and ids replaced. The second pass writes the packets: headers with replaced
//! addresses, and as data the stored bytes of the stream at the packet's offset. All other bytes are zero. So retransmissions, segments
//! out of order and cut packets need no special code, and unrecognised data cannot leak.

mod address;
mod checksum;
mod frame;
mod key;
mod message;
mod name;
mod output;
mod pieces;
mod stated;
mod survey;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::BoxedObserver;
use crate::capture::{Format, Frame, LinkType};

pub use key::{KEY_MIN, Key, KeyError};
pub use output::OutputError;
pub use stated::Stated;
pub use survey::{MEMORY_MAX, Messages};

use address::Addresses;
use frame::Outcome;
use output::Output;
use survey::{Shared, Survey};

/// Why a capture cannot be written without names.
#[derive(Debug, thiserror::Error)]
pub enum AnonymizeError {
    /// The first pass needs too much memory.
    #[error(
        "anonymizing the capture takes more than {} MiB of memory: split the capture (editcap -c 5000000), and use the same --key for \
         each part", MEMORY_MAX >> 20
    )]
    TooLarge,
    /// The copy would state fewer downtimes.
    #[error(
        "cannot anonymize: the capture states that its interface went down {0} times; split the capture (editcap -c 5000000)"
    )]
    Downtimes(u64),
    /// File traffic behind headers that are not written.
    #[error(
        "cannot anonymize packet {0}: it carries SMB or NFS in a tunnel, in PPP or in IP fragments of TCP; capture inside the tunnel, or \
         remove such packets from the capture"
    )]
    Encapsulated(u64),
    /// The output cannot hold a packet.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// The first pass.
pub struct FirstPass {
    observer: BoxedObserver<'static>,
    survey: Arc<Mutex<Survey>>,
}

impl FirstPass {
    /// Replaces by this key.
    pub fn new(key: Key) -> Self {
        let survey = Arc::new(Mutex::new(Survey::new(key)));
        let observer = BoxedObserver::new(Box::new(())).traced(Box::new(Shared(Arc::clone(&survey))));
        Self { observer, survey }
    }

    /// Takes the next packet.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.observer.frame(frame);
    }

    /// The second pass, which writes a file like one of this format, with what the capture stated.
    ///
    /// # Errors
    /// If there is too much to remember.
    pub fn finish(
        self,
        format: Option<Format>,
        tick_ns: Option<u64>,
        stated: Stated,
    ) -> Result<SecondPass, AnonymizeError> {
        drop(self.observer.finish());
        let survey = Arc::try_unwrap(self.survey).map_err(|_| AnonymizeError::TooLarge)?;
        let mut survey = survey.into_inner().unwrap_or_else(PoisonError::into_inner);
        if survey.is_full() {
            return Err(AnonymizeError::TooLarge);
        }
        survey.sort();
        let output = Output::like(format, tick_ns, stated);
        let counts = Counts { messages: survey.messages(), ..Counts::default() };
        Ok(SecondPass { survey, addresses: Addresses::default(), output, next: 1, early: BTreeMap::new(), counts })
    }
}

/// Counts of the written packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Messages that were understood.
    pub messages: Messages,
    /// Packets of TCP and UDP of whose data nothing was understood: the data are zero.
    pub not_understood: u64,
    /// Packets that are no TCP or UDP in IP: all behind the link layer is zero.
    pub not_ip: u64,
}

/// A packet that must be written after other packets.
#[derive(Debug)]
struct Early {
    time_ns: Option<i64>,
    link: LinkType,
    bytes: Vec<u8>,
    original_len: u32,
}

/// The second pass.
#[derive(Debug)]
pub struct SecondPass {
    survey: Survey,
    addresses: Addresses,
    output: Output,
    /// The number of the packet that is written next. Packets are read in the order of their times and written in the order of the input.
    next: u64,
    early: BTreeMap<u64, Early>,
    counts: Counts,
}

impl SecondPass {
    /// Takes the next packet of the same capture.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn frame(&mut self, frame: &Frame<'_>, file: &mut impl Write) -> Result<(), AnonymizeError> {
        let mut bytes = Vec::new();
        match frame::rewrite(frame, &self.survey, &mut self.addresses, &mut bytes) {
            Outcome::Rewritten => {}
            Outcome::NotUnderstood => self.counts.not_understood += 1,
            Outcome::NotIp => self.counts.not_ip += 1,
            Outcome::Encapsulated => return Err(AnonymizeError::Encapsulated(frame.number)),
        }
        self.counts.packets += 1;
        let Frame { number, time_ns, link, original_len, .. } = *frame;
        self.early.insert(number, Early { time_ns, link, bytes, original_len });
        while let Some(early) = self.early.remove(&self.next) {
            let Early { time_ns, link, bytes, original_len } = early;
            self.output.packet(file, self.next, time_ns, link, &bytes, original_len)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Ends the capture and returns the counts. `is_cut`: the input is damaged, and so is the copy, which ends in the middle of a record.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn finish(mut self, file: &mut impl Write, is_cut: bool) -> Result<Counts, AnonymizeError> {
        for (number, Early { time_ns, link, bytes, original_len }) in std::mem::take(&mut self.early) {
            self.output.packet(file, number, time_ns, link, &bytes, original_len)?;
        }
        self.output.end(file)?;
        if is_cut {
            self.output.cut(file)?;
        }
        Ok(self.counts)
    }
}
