//! MKNOD: makes a device, a socket or a named pipe.
//!
//! Spec: RFC 1813 3.3.11

use super::answer::Call;
use super::{Place, SetAttributes};
use crate::xdr::Emit;

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A character device of these two numbers.
    Character(u32, u32),
    /// A block device of these two numbers.
    Block(u32, u32),
    /// A socket.
    Socket,
    /// A named pipe.
    Fifo,
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct MakeNode<'a> {
    /// Its place.
    pub place: Place<'a>,
    /// What to make.
    pub node: Node,
    /// Its attributes.
    pub attributes: SetAttributes,
}

impl Call for MakeNode<'_> {
    const PROCEDURE: u32 = 11;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.place.emit(out);
        // NF3BLK, NF3CHR, NF3SOCK, NF3FIFO.
        let (kind, device) = match self.node {
            Node::Block(major, minor) => (3, Some((major, minor))),
            Node::Character(major, minor) => (4, Some((major, minor))),
            Node::Socket => (6, None),
            Node::Fifo => (7, None),
        };
        out.put_u32(kind);
        self.attributes.emit(out);
        if let Some((major, minor)) = device {
            out.put_u32(major);
            out.put_u32(minor);
        }
    }
}

pub use super::create::parse;
