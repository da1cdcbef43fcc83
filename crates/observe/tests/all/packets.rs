//! Packets of a capture, owned, so that tests drop, cut and exchange them.

use std::path::Path;

use plimsoll_observe::capture::{Captures, Frame, Input, LinkType};

#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) number: u64,
    pub(crate) time_ns: Option<i64>,
    pub(crate) link: LinkType,
    pub(crate) bytes: Vec<u8>,
    pub(crate) original_len: u32,
}

impl Packet {
    /// As a capture with this snap length has it.
    pub(crate) fn frame(&self, snaplen: usize) -> Frame<'_> {
        let &Self { number, time_ns, link, ref bytes, original_len } = self;
        Frame { number, time_ns, link, captured: &bytes[..bytes.len().min(snaplen)], original_len }
    }
}

pub(crate) fn read(capture: &Path) -> Vec<Packet> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())]).expect("the capture opens");
    let mut packets = Vec::new();
    while let Some(frame) = captures.next().expect("the capture reads") {
        let Frame { number, time_ns, link, captured, original_len } = frame;
        packets.push(Packet { number, time_ns, link, bytes: captured.to_vec(), original_len });
    }
    packets
}
