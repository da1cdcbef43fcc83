//! Replacement of addresses and user numbers.
//!
//! IP addresses keep their common prefixes: if two addresses share exactly n leading bits, so do their replacements.
//! Spec: Xu, Fan, Ammar, Moon, "Prefix-Preserving IP Address Anonymization" (Crypto-PAn), ICNP 2002, 3.2

use std::collections::HashMap;

use super::key::{Block, Key, Kind};

/// Addresses remembered, at most: to find a replacement takes as many encryptions as the address has bits.
const REMEMBERED_MAX: usize = 1 << 18;
/// First byte of IPv4's multicast, reserved and broadcast addresses, and those above.
const NO_HOST: u8 = 224;
/// First byte of IPv6's multicast addresses; the flags and scope behind it are kept.
const MULTICAST_V6: u8 = 0xff;

/// Addresses and their replacements.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    v4: HashMap<[u8; 4], [u8; 4], foldhash::fast::RandomState>,
    v6: HashMap<[u8; 16], [u8; 16], foldhash::fast::RandomState>,
}

impl Addresses {
    /// Replaces an IPv4 address. Addresses of no host stay: multicast, broadcast, 0.0.0.0.
    pub(super) fn v4(&mut self, key: &Key, address: [u8; 4]) -> [u8; 4] {
        if address[0] >= NO_HOST || address == [0; 4] {
            return address;
        }
        if let Some(known) = self.v4.get(&address) {
            return *known;
        }
        let mut found = address;
        // Addresses with the same first four bits need the same number of rounds, so the rounds preserve common prefixes.
        loop {
            prefix_preserving(key, &mut found, 0);
            if found[0] < NO_HOST {
                break;
            }
        }
        if self.v4.len() < REMEMBERED_MAX {
            self.v4.insert(address, found);
        }
        found
    }

    /// In place of an IPv6 address. `::` stays, and of a multicast address its scope.
    pub(super) fn v6(&mut self, key: &Key, address: [u8; 16]) -> [u8; 16] {
        if address == [0; 16] {
            return address;
        }
        if let Some(known) = self.v6.get(&address) {
            return *known;
        }
        let mut found = address;
        if address[0] == MULTICAST_V6 {
            prefix_preserving(key, &mut found, 16);
        } else {
            loop {
                prefix_preserving(key, &mut found, 0);
                if found[0] != MULTICAST_V6 {
                    break;
                }
            }
        }
        if self.v6.len() < REMEMBERED_MAX {
            self.v6.insert(address, found);
        }
        found
    }
}

/// Flips each bit or not, by the bits before it; the first `kept` stay.
fn prefix_preserving<const N: usize>(key: &Key, address: &mut [u8; N], kept: usize) {
    let original = *address;
    let pad = key.pad();
    let mut block: Block = pad;
    // The byte separates this use of the key from the others: no digest begins with a block with the pad's last bytes and this byte.
    block[15] ^= Kind::Address as u8;
    for bit in 0..N * 8 {
        let (byte, mask) = (bit / 8, 0x80_u8 >> (bit % 8));
        if bit >= kept {
            address[byte] ^= if key.encrypt(block)[0] & 0x80 != 0 { mask } else { 0 };
        }
        block[byte] = (block[byte] & !mask) | (original[byte] & mask);
    }
}

/// In place of an Ethernet address: it says as before whether it is one of a group, and whether it was given locally.
pub(super) fn mac(key: &Key, address: &mut [u8]) {
    let Some(first) = address.first().copied() else { return };
    // Addresses of no single machine: all zeros, broadcast, IPv4 multicast, and bridge groups.
    let is_known = address.iter().all(|byte| *byte == 0xff || *byte == 0)
        || address.starts_with(&[0x01, 0x00, 0x5e])
        || address.starts_with(&[0x01, 0x80, 0xc2]);
    if is_known {
        return;
    }
    key.replace(Kind::Mac, address);
    address[0] = (address[0] & !0x03) | (first & 0x03);
}

/// Replaces a user's or group's number; different numbers get different ones. 0 stays: the number of root is no secret.
pub(super) fn user(key: &Key, number: u32) -> u32 {
    match number {
        0 => 0,
        _ => match mixed(key, number) {
            // Gets the replacement of 0, which is not used.
            0 => mixed(key, 0),
            found => found,
        },
    }
}

/// Four rounds of a Feistel network: each number comes from one.
fn mixed(key: &Key, number: u32) -> u32 {
    let (mut left, mut right) = ((number >> 16) as u16, number as u16);
    for round in 0..4_u8 {
        let [low, high] = right.to_be_bytes();
        let digest = key.digest(Kind::User, &[round, low, high]);
        (left, right) = (right, left ^ u16::from_be_bytes([digest[0], digest[1]]));
    }
    u32::from(left) << 16 | u32::from(right)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn key() -> Key {
        Key::of(b"a secret of enough bytes").unwrap()
    }

    proptest! {
        #[test]
        fn what_addresses_share_they_share_afterwards(a: [u8; 4], b: [u8; 4], v6: [[u8; 16]; 2]) {
            let (key, mut addresses) = (key(), Addresses::default());
            prop_assume!(a[0] < NO_HOST && b[0] < NO_HOST && a != [0; 4] && b != [0; 4]);
            let shared = |a: [u8; 4], b: [u8; 4]| (u32::from_be_bytes(a) ^ u32::from_be_bytes(b)).leading_zeros();
            prop_assert_eq!(shared(addresses.v4(&key, a), addresses.v4(&key, b)), shared(a, b));
            let shared = |v6: [[u8; 16]; 2]| (u128::from_be_bytes(v6[0]) ^ u128::from_be_bytes(v6[1])).leading_zeros();
            prop_assume!(v6.iter().all(|v6| v6[0] != MULTICAST_V6));
            prop_assert_eq!(shared(v6.map(|v6| addresses.v6(&key, v6))), shared(v6));
        }
    }

    #[test]
    fn what_names_no_host_stays() {
        let (key, mut addresses) = (key(), Addresses::default());
        for address in [[0; 4], [224, 0, 0, 251], [255; 4]] {
            assert_eq!(addresses.v4(&key, address), address);
        }
        let mut broadcast = [0xff; 6];
        mac(&key, &mut broadcast);
        assert_eq!(broadcast, [0xff; 6]);
        let mut own = [0x02, 1, 2, 3, 4, 5];
        mac(&key, &mut own);
        assert!(own != [0x02, 1, 2, 3, 4, 5] && own[0] & 3 == 2, "{own:02x?}");
    }

    #[test]
    fn users_stay_apart() {
        let key = key();
        let found: HashSet<u32> = (0..20_000).map(|number| user(&key, number)).collect();
        assert_eq!((found.len(), user(&key, 0)), (20_000, 0));
    }
}
