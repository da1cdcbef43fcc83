//! Elements of DER: tag, length, content.
//!
//! Spec: X.690 8.1, 10.1 (DER)

pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0A;
pub(crate) const SEQUENCE: u8 = 0x30;

/// The tag of the field `[n]`.
pub(crate) const fn field(n: u8) -> u8 {
    0xA0 | n
}

/// The tag of `[APPLICATION n]`.
pub(crate) const fn application(n: u8) -> u8 {
    0x60 | n
}

/// The content of the element, if `bytes` contain exactly one.
pub(crate) fn sole(mut bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let content = optional(&mut bytes, tag)?;
    bytes.is_empty().then_some(content)
}

/// The content of the next element; `bytes` then begin after it. `None` if the element has another tag or is truncated; `bytes` are then
/// unchanged, so a later read reports the truncated element.
pub(crate) fn optional<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&found, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7F => (usize::from(short), rest),
        // Four bytes of length are more than any token has; 0x80 is an indefinite length, which DER has not.
        0x81..=0x84 => {
            let (long, rest) = rest.split_at_checked(usize::from(short & 0x7F))?;
            (long.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    (found == tag).then(|| *bytes = rest)?;
    Some(content)
}

/// The elements before the first one with this tag, and the rest; `None` if no element has this tag.
#[cfg(feature = "kerberos")]
pub(crate) fn before(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let mut rest = bytes;
    while *rest.first()? != tag {
        let found = *rest.first()?;
        optional(&mut rest, found)?;
    }
    bytes.split_at_checked(bytes.len() - rest.len())
}

/// An element of a content.
pub(crate) fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short @ 0..=0x7F) => bytes.push(short),
        _ => {
            let length = content.len().to_be_bytes();
            let zeros = length.iter().take_while(|byte| **byte == 0).count();
            let digits = length.get(zeros..).unwrap_or_default();
            // At most the 8 bytes of a usize.
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}
