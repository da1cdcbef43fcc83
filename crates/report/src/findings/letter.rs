//! Names of sides.

/// A, B, …, Z, then numbers.
pub fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place) if place < 26 => char::from(b'A' + place).to_string(),
        _ => (place + 1).to_string(),
    }
}
