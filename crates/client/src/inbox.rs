//! Received bytes: cut into messages, of which a client gets the parts that it wants.

use crate::client::{Arrived, Client, Framing};

/// The message that is arriving. Empty, it takes no memory beyond itself.
#[derive(Debug, Default)]
pub struct Inbox {
    channel: u32,
    bytes: Vec<u8>,
    /// When the first of these bytes was there.
    first: i64,
    /// Length of the message at the front and how much of it is kept, once known.
    message: Option<(u64, usize)>,
    /// Bytes of it that were dropped.
    dropped: u64,
    /// The last message had many unwanted bytes; the next one may too.
    bulky: bool,
}

/// Minimum number of unwanted bytes for which it is faster to read only the head and let the kernel drop the rest.
const BULKY: u64 = 64 << 10;

impl Inbox {
    /// Nothing of a channel has arrived.
    #[inline]
    #[must_use]
    pub fn of(channel: u32) -> Self {
        Self { channel, ..Self::default() }
    }

    /// Moves received data to another channel.
    #[inline]
    #[must_use]
    pub fn moved_to(self, channel: u32) -> Self {
        Self { channel, ..self }
    }

    /// Unwanted bytes still to come of the first message; 0 while its head is incomplete.
    #[inline]
    #[must_use]
    pub fn unwanted(&self) -> u64 {
        match self.message {
            Some((length, keep)) if self.bytes.len() >= keep => length - self.bytes.len() as u64 - self.dropped,
            _ => 0,
        }
    }

    /// Whether nothing has arrived of the next message, which probably has many unwanted bytes.
    #[inline]
    #[must_use]
    pub fn expects_bulk(&self) -> bool {
        self.bulky && self.is_empty()
    }

    /// Nothing of the next message has arrived.
    #[inline]
    fn is_empty(&self) -> bool {
        self.message.is_none() && self.bytes.is_empty()
    }

    /// Takes the next piece off the front of `bytes`, which were there at `at`. A message that is whole is given to
    /// `take`. `false` if this is no stream of messages.
    #[inline]
    pub fn feed(
        &mut self,
        bytes: &mut &[u8],
        at: i64,
        client: &mut dyn Client,
        take: &mut dyn FnMut(&mut dyn Client, Arrived<'_>),
    ) -> bool {
        if self.is_empty() {
            self.first = at;
            // The usual case: the whole message is here. It is not copied.
            if let Framing::Message { length, keep } = client.framing(self.channel, bytes)
                && length > 0
                && length <= bytes.len() as u64
            {
                let (message, rest) = bytes.split_at(length as usize);
                *bytes = rest;
                self.bulky = length - keep as u64 >= BULKY;
                let head = message.get(..keep).unwrap_or(message);
                take(client, Arrived { head, length, first: at, last: at, channel: self.channel });
                return true;
            }
        }
        if self.message.is_none() && !self.head(bytes, client) {
            return false;
        }
        if let Some((_, keep)) = self.message {
            self.keep(bytes, keep.saturating_sub(self.bytes.len()));
            let unwanted = self.unwanted().min(bytes.len() as u64);
            *bytes = bytes.get(unwanted as usize..).unwrap_or_default();
            self.drop_unread(unwanted, at, client, take);
        }
        true
    }

    /// `count` unwanted bytes were dropped at `at`. If the message is whole now it is given to `take`.
    #[inline]
    pub fn drop_unread(
        &mut self,
        count: u64,
        at: i64,
        client: &mut dyn Client,
        take: &mut dyn FnMut(&mut dyn Client, Arrived<'_>),
    ) {
        self.dropped += count;
        let Some((length, keep)) = self.message else { return };
        if self.bytes.len() as u64 + self.dropped < length {
            return;
        }
        let whole = std::mem::replace(self, Self::of(self.channel));
        self.bulky = whole.bulky;
        let head = whole.bytes.get(..keep).unwrap_or(&whole.bytes);
        take(client, Arrived { head, length, first: whole.first, last: at, channel: whole.channel });
    }

    /// Reads on until it is known how long the message is.
    #[inline]
    fn head(&mut self, bytes: &mut &[u8], client: &dyn Client) -> bool {
        loop {
            match client.framing(self.channel, &self.bytes) {
                Framing::Message { length, keep } if length > 0 && length >= self.bytes.len() as u64 => {
                    let keep = keep.min(usize::try_from(length).unwrap_or(usize::MAX));
                    self.bulky = length - keep as u64 >= BULKY;
                    self.message = Some((length, keep));
                    return true;
                }
                Framing::Need(count) if count > self.bytes.len() => {
                    if bytes.is_empty() {
                        return true;
                    }
                    self.keep(bytes, count - self.bytes.len());
                }
                _ => return false,
            }
        }
    }

    #[inline]
    fn keep(&mut self, bytes: &mut &[u8], count: usize) {
        let (kept, rest) = bytes.split_at(count.min(bytes.len()));
        self.bytes.extend_from_slice(kept);
        *bytes = rest;
    }
}
