//! All names as they are, with the numbers of their symbols.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Names, Symbol};
use crate::HostNames;

/// Texts in the order of their symbols; shares; bytes, limit and how many were refused; hosts.
type Read = (Vec<Box<str>>, Vec<(String, Symbol)>, (usize, usize, u64), HostNames);

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<&str> = self.texts.iter().map(AsRef::as_ref).collect();
        let shares: Vec<(&str, Symbol)> = self.shares.iter().map(|(share, &symbol)| (share.as_str(), symbol)).collect();
        (texts, shares, (self.bytes, self.limit, self.refused), &self.hosts).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (texts, shares, (bytes, limit, refused), hosts) = Read::deserialize(from)?;
        Ok(Self {
            texts: texts.into_iter().collect(),
            shares: shares.into_iter().collect(),
            bytes,
            limit,
            refused,
            hosts,
        })
    }
}
