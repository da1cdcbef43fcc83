//! Writes XDR for tests, so that a vector reads like the specification's struct.
//!
//! Spec: RFC 4506 4

/// XDR under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Xdr(pub(crate) Vec<u8>);

impl Xdr {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The bytes, for the rest of the test run.
    pub(crate) fn bytes(self) -> &'static [u8] {
        self.0.leak()
    }

    pub(crate) fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// Several words.
    pub(crate) fn words(self, numbers: &[u32]) -> Self {
        numbers.iter().fold(self, |xdr, &number| xdr.u32(number))
    }

    pub(crate) fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// Fixed-length opaque data of one repeated byte.
    pub(crate) fn fixed(mut self, length: usize) -> Self {
        self.0.extend(std::iter::repeat_n(0xA5, length));
        self
    }

    /// Variable-length opaque data, or a string.
    pub(crate) fn opaque(self, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref();
        let mut xdr = self.u32(data.len() as u32);
        xdr.0.extend(data);
        xdr.0.resize(xdr.0.len().next_multiple_of(4), 0);
        xdr
    }

    /// What another builder made.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// A call with AUTH_SYS (stamp, machine name "client", uid 1000, gid 100, one group) and an empty verifier.
pub(crate) fn call(xid: u32, program: u32, version: u32, procedure: u32, arguments: Xdr) -> Xdr {
    let credential = Xdr::new().u32(0x5EED).opaque("client").words(&[1000, 100]).words(&[1, 100]);
    Xdr::new()
        .words(&[xid, 0, 2, program, version, procedure])
        .u32(1)
        .opaque(credential.0)
        .words(&[0, 0])
        .then(arguments)
}

/// A reply that was accepted and succeeded, with an empty verifier.
pub(crate) fn reply(xid: u32, results: Xdr) -> Xdr {
    Xdr::new().words(&[xid, 1, 0, 0, 0, 0]).then(results)
}

/// A record of one fragment, as on TCP.
pub(crate) fn record(message: Xdr) -> Xdr {
    Xdr::new().u32(0x8000_0000 | message.0.len() as u32).then(message)
}

/// Hands every truncation and every single-byte corruption of a message to `read`.
pub(crate) fn damage(message: &[u8], mut read: impl FnMut(&[u8])) {
    for end in 0..=message.len() {
        read(&message[..end]);
    }
    let mut bytes = message.to_vec();
    for at in 0..bytes.len() {
        let sound = bytes[at];
        for wrong in [0x00, 0x01, 0x7F, 0x80, 0xFF, sound.wrapping_add(1), sound ^ 0x10] {
            bytes[at] = wrong;
            read(&bytes);
        }
        bytes[at] = sound;
    }
}
