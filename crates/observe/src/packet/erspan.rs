//! ERSPAN types II and III: frames that a switch mirrors to a remote host.
//!
//! Spec: draft-foschiano-erspan-03 4.2 and 4.3

use super::content::Packet;
use super::inner::{Header, Inner};
use super::layer::Layer;

const VERSION_TYPE_2: u8 = 1;
const VERSION_TYPE_3: u8 = 2;
const TYPE_2_LEN: usize = 8;
const TYPE_3_LEN: usize = 12;
/// Length of the platform-specific subheader of type III, bytes.
const SUBHEADER_LEN: usize = 8;
/// In the last 16 bits of type III: whether the platform's header follows, and the kind of frame.
const HAS_SUBHEADER: u16 = 0x0001;
const FRAME_KIND_SHIFT: u16 = 10;
const FRAME_KIND_MASK: u16 = 0x1f;
const KIND_ETHERNET: u16 = 0;
const KIND_IP: u16 = 2;

/// A packet from its ERSPAN header on.
pub(super) fn decode<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    match layer.bytes.first().map(|first| first >> 4) {
        Some(VERSION_TYPE_2) => layer.inside(TYPE_2_LEN, |packet| inner(Header::Ethernet, packet)),
        Some(VERSION_TYPE_3) => {
            let Some(last) = layer.be16(TYPE_3_LEN - 2) else { return Packet::Malformed };
            let len = if last & HAS_SUBHEADER == 0 { TYPE_3_LEN } else { TYPE_3_LEN + SUBHEADER_LEN };
            match last >> FRAME_KIND_SHIFT & FRAME_KIND_MASK {
                KIND_ETHERNET => layer.inside(len, |packet| inner(Header::Ethernet, packet)),
                KIND_IP => layer.inside(len, |packet| inner(Header::Ip, packet)),
                _ => Packet::Other,
            }
        }
        Some(_) => Packet::Other,
        None => Packet::Malformed,
    }
}
