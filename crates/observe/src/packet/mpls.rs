//! MPLS: a stack of labels; no field says what follows it. The version field identifies IP; an Ethernet frame with IP identifies an
//! Ethernet pseudowire.
//!
//! Spec: RFC 3032 2.1; RFC 4448 4.6 (Ethernet pseudowires); RFC 4928 3 (the first nibble); RFC 4023 (MPLS in IP)

use super::content::Packet;
use super::inner::{Header, Inner};
use super::layer::Layer;

/// A label with its class, the end of the stack and a time to live.
const LABEL_LEN: usize = 4;
/// Labels in one stack; networks use up to five or six.
const LABELS_MAX: usize = 16;
/// The control word of a pseudowire; its first four bits are 0.
const CONTROL_WORD_LEN: usize = 4;

/// A packet from its first label on.
pub(super) fn decode<'a>(mut layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    for _ in 0..LABELS_MAX {
        let (Some(&[.., end, _]), Some(behind)) = (layer.bytes.first_chunk::<LABEL_LEN>(), layer.after(LABEL_LEN))
        else {
            return Packet::Malformed;
        };
        layer = behind;
        // The bit that ends the stack.
        if end & 1 == 1 {
            return unlabelled(layer, inner);
        }
    }
    Packet::Malformed
}

fn unlabelled<'a>(layer: Layer<'a>, inner: impl Inner<'a>) -> Packet<'a> {
    let nibble = layer.bytes.first().map(|first| first >> 4);
    let likely = match nibble {
        Some(4 | 6) => layer.inside(0, |packet| inner(Header::Ip, packet)),
        Some(0) => layer.inside(CONTROL_WORD_LEN, |packet| inner(Header::Ethernet, packet)),
        Some(_) => Packet::Other,
        None => Packet::Malformed,
    };
    // Fragments are not enough: of the bytes of an address, half look like one.
    if matches!(likely, Packet::Tcp(..) | Packet::Udp(..)) {
        return likely;
    }
    // Without a control word, a pseudowire begins with an address, and any nibble is possible.
    let pseudowire = layer.inside(0, |packet| inner(Header::Ethernet, packet));
    if pseudowire.is_decoded() { pseudowire } else { likely }
}
