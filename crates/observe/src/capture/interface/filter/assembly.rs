//! Assembles a program of classic BPF: instructions, and jumps to places behind them.

use libc::sock_filter;

use crate::capture::MAX_PACKET_BYTES;

/// Loads into register A: a byte or a half word at a place; a byte, a half word or a word at a distance from register X; a stored word.
pub(super) const LOAD_BYTE: u16 = 0x30;
pub(super) const LOAD_HALF: u16 = 0x28;
pub(super) const LOAD_BYTE_AT_X: u16 = 0x50;
pub(super) const LOAD_HALF_AT_X: u16 = 0x48;
pub(super) const LOAD_WORD_AT_X: u16 = 0x40;
pub(super) const LOAD_STORED: u16 = 0x60;
pub(super) const STORE: u16 = 0x02;
pub(super) const SHIFT_RIGHT: u16 = 0x74;
pub(super) const SHIFT_LEFT: u16 = 0x64;
pub(super) const AND: u16 = 0x54;
pub(super) const ADD_X: u16 = 0x0c;
/// Sets X: to a number, or to A.
pub(super) const SET_X: u16 = 0x01;
pub(super) const A_TO_X: u16 = 0x07;
pub(super) const JUMP: u16 = 0x05;
pub(super) const IF_EQUAL: u16 = 0x15;
pub(super) const IF_ANY_BIT: u16 = 0x45;
pub(super) const RETURN: u16 = 0x06;
/// Numbers that one jump of at most 255 instructions can pass over.
const NUMBERS_MAX: usize = 128;

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Pass,
    Drop,
    /// The IPv4 or IPv6 header, at X.
    Four,
    Six,
    /// The hop-by-hop options behind the IPv6 header, which is at X.
    SixOptions,
    /// The ports of an IPv6 packet, which are stored.
    SixPorts,
    /// One more VLAN tag.
    Tagged(u32),
}

/// A program in the making; all jumps go forward.
#[derive(Default)]
pub(super) struct Program {
    code: Vec<sock_filter>,
    jumps: Vec<(usize, Label)>,
    places: Vec<(Label, usize)>,
}

impl Program {
    pub(super) fn add(&mut self, code: u16, k: u32) {
        self.code.push(statement(code, k));
    }

    pub(super) fn place(&mut self, label: Label) {
        self.places.push((label, self.code.len()));
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.add(JUMP, 0);
    }

    /// A conditional jump reaches 255 instructions, so it jumps over one that reaches all.
    pub(super) fn jump_if(&mut self, condition: u16, k: u32, to: Label) {
        self.code.push(sock_filter { code: condition, jt: 0, jf: 1, k });
        self.jump(to);
    }

    /// Skips this many of the next instructions if A is `k`, and that many if it is not.
    pub(super) fn skip(&mut self, k: u32, (equal, other): (u8, u8)) {
        self.code.push(sock_filter { code: IF_EQUAL, jt: equal, jf: other, k });
    }

    /// Passes a packet if A is one of these numbers.
    pub(super) fn pass_if_any(&mut self, numbers: &[u16]) {
        for numbers in numbers.chunks(NUMBERS_MAX) {
            for (number, left) in numbers.iter().zip((1..=numbers.len()).rev()) {
                self.skip(u32::from(*number), (left as u8, 0));
            }
            self.add(JUMP, 1);
            self.add(RETURN, MAX_PACKET_BYTES);
        }
    }

    /// Puts the distances into the jumps.
    pub(super) fn finish(mut self) -> Vec<sock_filter> {
        for (at, to) in self.jumps {
            let place = self.places.iter().find(|(label, _)| *label == to).map_or(at, |(_, place)| *place);
            if let Some(jump) = self.code.get_mut(at) {
                jump.k = place.saturating_sub(at + 1) as u32;
            }
        }
        self.code
    }
}

pub(super) const fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}
