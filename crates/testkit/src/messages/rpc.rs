//! ONC RPC calls and replies.
//!
//! Spec: RFC 5531 9, 11

/// NFS.
pub const NFS: u32 = 100_003;
/// MOUNT.
pub const MOUNT: u32 = 100_005;

/// XDR words as bytes.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Variable-length opaque data or a string, as XDR has it.
pub fn opaque(data: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[data.len() as u32]);
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A call of uid 1000 with AUTH_SYS.
pub fn call(xid: u32, program: u32, version: u32, procedure: u32, arguments: &[u8]) -> Vec<u8> {
    let credential = [words(&[0x5eed]), opaque(b"client"), words(&[1000, 100, 0])].concat();
    let head = words(&[xid, 0, 2, program, version, procedure, 1]);
    [head, opaque(&credential), words(&[0, 0]), arguments.to_vec()].concat()
}

/// A reply that was accepted and succeeded.
pub fn reply(xid: u32, results: &[u8]) -> Vec<u8> {
    [words(&[xid, 1, 0, 0, 0, 0]), results.to_vec()].concat()
}

/// A message as a record of one fragment.
pub fn record(message: &[u8]) -> Vec<u8> {
    [words(&[0x8000_0000 | message.len() as u32]), message.to_vec()].concat()
}

/// A message as a record of fragments of at most `most` bytes.
pub fn record_in_fragments(message: &[u8], most: usize) -> Vec<u8> {
    let count = message.chunks(most).count();
    let fragments = message.chunks(most).enumerate();
    fragments
        .flat_map(|(index, piece)| {
            let last = if index + 1 == count { 0x8000_0000 } else { 0 };
            [words(&[last | piece.len() as u32]), piece.to_vec()].concat()
        })
        .collect()
}

/// NFS 3 GETATTR of a handle.
pub fn getattr(xid: u32, handle: &[u8]) -> Vec<u8> {
    call(xid, NFS, 3, 1, &opaque(handle))
}

/// NFS 3 LOOKUP of a name in a directory.
pub fn lookup(xid: u32, directory: &[u8], name: &str) -> Vec<u8> {
    call(xid, NFS, 3, 3, &[opaque(directory), opaque(name.as_bytes())].concat())
}

/// NFS 3 READ.
pub fn read(xid: u32, handle: &[u8], len: u32) -> Vec<u8> {
    call(xid, NFS, 3, 6, &[opaque(handle), words(&[0, 0, len])].concat())
}

/// NFS 3 WRITE, FILE_SYNC.
pub fn write(xid: u32, handle: &[u8], data: &[u8]) -> Vec<u8> {
    let len = data.len() as u32;
    call(xid, NFS, 3, 7, &[opaque(handle), words(&[0, 0, len, 2]), opaque(data)].concat())
}

/// NFS 3 READ's answer without attributes.
pub fn read_reply(xid: u32, data: &[u8]) -> Vec<u8> {
    reply(xid, &[words(&[0, 0, data.len() as u32, 1]), opaque(data)].concat())
}

/// NFS 4 compound of operations, each its number and arguments.
pub fn compound(xid: u32, minor: u32, operations: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut arguments = [opaque(b""), words(&[minor, operations.len() as u32])].concat();
    for (code, operation) in operations {
        arguments.extend(words(&[*code]));
        arguments.extend(operation);
    }
    call(xid, NFS, 4, 1, &arguments)
}

/// NFS 4 compound's answer: all operations succeeded, each its number and results.
pub fn compound_reply(xid: u32, operations: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut results = [words(&[0]), opaque(b""), words(&[operations.len() as u32])].concat();
    for (code, operation) in operations {
        results.extend(words(&[*code, 0]));
        results.extend(operation);
    }
    reply(xid, &results)
}
