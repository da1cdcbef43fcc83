//! A connection as `nfs3_server` should see it: records of a sane length, and answers that leave in one piece.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The longest record, bytes: a WRITE of 1 MiB and what goes with it. The library would make room for any length.
const LONGEST: u64 = (1 << 20) + (64 << 10);
/// Bytes of a record mark (RFC 5531 11).
const MARK: usize = 4;

/// Wraps the socket.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// Bytes that were read before, and how many of them were passed on.
    early: (Vec<u8>, usize),
    incoming: Records,
    /// A record mark that was written and waits for its record: each alone would be a system call and a packet.
    mark: Vec<u8>,
    /// How much of the mark went out.
    sent: usize,
}

impl Connection {
    /// `early`: what was read of the stream already.
    pub(super) fn new(stream: TcpStream, early: Vec<u8>) -> Self {
        let incoming = Records::default();
        Self { stream, early: (early, 0), incoming, mark: Vec::with_capacity(MARK), sent: 0 }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let (early, passed) = &mut self.early;
        match early.get(*passed..) {
            Some(rest) if !rest.is_empty() => {
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(rest.get(..count).unwrap_or(rest));
                *passed += count;
                if *passed == early.len() {
                    self.early = (Vec::new(), 0);
                }
            }
            _ => ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?,
        }
        let fresh = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(self.incoming.check(fresh))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.mark.is_empty() && bytes.len() == MARK {
            this.mark.extend_from_slice(bytes);
            this.sent = 0;
            return Poll::Ready(Ok(MARK));
        }
        loop {
            let mark = this.mark.get(this.sent..).unwrap_or_default();
            let both = [IoSlice::new(mark), IoSlice::new(bytes)];
            let count = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, &both))?;
            if count <= mark.len() && !mark.is_empty() {
                if count == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                this.sent += count;
                continue;
            }
            let of_bytes = count - mark.len();
            this.mark.clear();
            return Poll::Ready(Ok(of_bytes));
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Follows the record marks of a stream.
#[derive(Debug, Default)]
struct Records {
    mark: [u8; MARK],
    /// Received bytes of the mark.
    have: usize,
    /// Bytes of the fragment that are still to come.
    rest: u64,
    /// Bytes of the record so far.
    record: u64,
}

impl Records {
    fn check(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.rest > 0 {
                let count = bytes.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
                self.rest -= count as u64;
                bytes = bytes.get(count..).unwrap_or_default();
                continue;
            }
            let (head, later) = bytes.split_at(bytes.len().min(MARK - self.have));
            for (kept, byte) in self.mark.iter_mut().skip(self.have).zip(head) {
                *kept = *byte;
            }
            self.have += head.len();
            bytes = later;
            if self.have == MARK {
                let mark = u32::from_be_bytes(self.mark);
                self.have = 0;
                self.rest = u64::from(mark & 0x7fff_ffff);
                self.record += self.rest;
                if self.record > LONGEST {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                if mark & 0x8000_0000 != 0 {
                    self.record = 0;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(length: u32, last: bool) -> Vec<u8> {
        let mut bytes = (length | (u32::from(last) << 31)).to_be_bytes().to_vec();
        bytes.resize(MARK + length as usize, 0xff);
        bytes
    }

    /// In pieces of any size, the same: many records pass, one that is too long does not, in one fragment or in several.
    #[test]
    fn only_too_long_records_are_refused() {
        let short: Vec<u8> = (0..9).flat_map(|number| fragment(400_000, number % 2 == 1)).collect();
        let mut long = fragment(8, true);
        long.extend((0..4).flat_map(|_| fragment(400_000, false)));
        let huge = (0x7fff_ffff_u32).to_be_bytes().to_vec();
        for size in [1, 3, 4, 4096, usize::MAX] {
            let passes = |bytes: &[u8]| {
                let mut records = Records::default();
                bytes.chunks(size).all(|chunk| records.check(chunk).is_ok())
            };
            assert!(passes(&short), "{size}");
            assert!(!passes(&long), "{size}");
            assert!(!passes(&huge), "{size}");
        }
    }
}
