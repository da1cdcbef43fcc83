//! Arrays of more than 32 elements: `serde` has them only up to there. For `#[serde(with = "plimsoll_model::wide")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// As a list.
///
/// # Errors
/// Those of `to`.
pub fn serialize<S: Serializer, T: Serialize, const N: usize>(of: &[T; N], to: S) -> Result<S::Ok, S::Error> {
    of.as_slice().serialize(to)
}

/// From a list of the same length.
///
/// # Errors
/// It has another length, or is none.
pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>, const N: usize>(
    from: D,
) -> Result<[T; N], D::Error> {
    array(Vec::deserialize(from)?)
}

fn array<E: Error, T, const N: usize>(list: Vec<T>) -> Result<[T; N], E> {
    let length = list.len();
    list.try_into().map_err(|_| E::invalid_length(length, &"another number of elements"))
}

/// One in a box.
pub mod boxed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// As a list.
    ///
    /// # Errors
    /// Those of `to`.
    #[expect(clippy::borrowed_box, reason = "serde hands over a field as it is")]
    pub fn serialize<S: Serializer, T: Serialize, const N: usize>(of: &Box<[T; N]>, to: S) -> Result<S::Ok, S::Error> {
        of.as_slice().serialize(to)
    }

    /// From a list of the same length.
    ///
    /// # Errors
    /// It has another length, or is none.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>, const N: usize>(
        from: D,
    ) -> Result<Box<[T; N]>, D::Error> {
        super::array(Vec::deserialize(from)?).map(Box::new)
    }
}

/// Two of them.
pub mod pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// As a list.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn serialize<S: Serializer, T: Serialize, const N: usize>(of: &[[T; N]; 2], to: S) -> Result<S::Ok, S::Error> {
        [&of[0][..], &of[1][..]].serialize(to)
    }

    /// From a list of the same length.
    ///
    /// # Errors
    /// It has another length, or is none.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>, const N: usize>(
        from: D,
    ) -> Result<[[T; N]; 2], D::Error> {
        let [low, high]: [Vec<T>; 2] = Deserialize::deserialize(from)?;
        Ok([super::array(low)?, super::array(high)?])
    }
}
