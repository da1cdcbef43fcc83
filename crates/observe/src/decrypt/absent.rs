//! Replaces decryption in builds without it: a type without values.

use super::Opened;
use crate::message::Message;

/// Not compiled in: there are no keys.
#[derive(Debug)]
pub(crate) enum Decryption {}

impl Decryption {
    pub(crate) fn recycle(&mut self, _plain: Vec<u8>) {
        match *self {}
    }
}

/// Not compiled in.
#[derive(Debug, Default)]
pub(crate) struct Channel;

impl Channel {
    pub(crate) fn note(&mut self, _message: &Message<'_>, decryption: &mut Decryption) {
        match *decryption {}
    }

    pub(crate) fn open(&mut self, _message: &Message<'_>, _direction: usize, decryption: &mut Decryption) -> Opened {
        match *decryption {}
    }
}
