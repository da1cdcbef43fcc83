//! Replacement of addresses and user numbers.
//!
//! IP addresses keep their common prefixes: if two addresses share exactly n leading bits, so do their replacements.
//! Spec: Xu, Fan, Ammar, Moon, "Prefix-Preserving IP Address Anonymization" (Crypto-PAn), ICNP 2002, 3.2

use std::collections::HashMap;

use super::key::{Block, Key, Kind};

/// Addresses remembered, at most: to find a replacement takes as many encryptions as the address has bits.
const REMEMBERED_MAX: usize = 1 << 18;
/// First byte of IPv4's multicast, reserved and broadcast addresses, and those above: they begin with three ones.
const NO_HOST: u8 = 224;
const NO_HOST_ONES: usize = 3;
/// First byte of IPv6's multicast addresses, of eight ones; the flags and scope behind it are kept.
const MULTICAST_V6: u8 = 0xff;
const MULTICAST_V6_ONES: usize = 8;

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
        let found = prefix_preserving(key, address, 0, NO_HOST_ONES);
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
        let kept = if address[0] == MULTICAST_V6 { 16 } else { 0 };
        let found = prefix_preserving(key, address, kept, MULTICAST_V6_ONES);
        if self.v6.len() < REMEMBERED_MAX {
            self.v6.insert(address, found);
        }
        found
    }
}

/// Flips each bit or not, by the bits before it; the first `kept` stay.
///
/// Addresses that begin with `ones` ones are of another kind and stay among themselves, with the same common prefixes as before. So the
/// ones at the beginning of an address stay, as far as they are these, and the zero that ends them.
fn prefix_preserving<const N: usize>(key: &Key, address: [u8; N], kept: usize, ones: usize) -> [u8; N] {
    let mut found = address;
    let pad = key.pad();
    let mut block: Block = pad;
    // The byte separates this use of the key from the others: no digest begins with a block with the pad's last bytes and this byte.
    block[15] ^= Kind::Address as u8;
    let mut only_ones = true;
    for bit in 0..N * 8 {
        let (byte, mask) = (bit / 8, 0x80_u8 >> (bit % 8));
        let stays = bit < kept || only_ones && bit < ones;
        if !stays {
            found[byte] ^= if key.encrypt(block)[0] & 0x80 != 0 { mask } else { 0 };
        }
        block[byte] = (block[byte] & !mask) | (address[byte] & mask);
        only_ones &= address[byte] & mask != 0;
    }
    found
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
        fn what_addresses_share_they_share_afterwards(secret: [u8; 16], a: [u8; 4], b: [u8; 4], v6: [[u8; 16]; 2]) {
            let (key, mut addresses) = (Key::of(&secret).unwrap(), Addresses::default());
            prop_assume!(a[0] < NO_HOST && b[0] < NO_HOST && a != [0; 4] && b != [0; 4]);
            let shared = |a: [u8; 4], b: [u8; 4]| (u32::from_be_bytes(a) ^ u32::from_be_bytes(b)).leading_zeros();
            prop_assert_eq!(shared(addresses.v4(&key, a), addresses.v4(&key, b)), shared(a, b));
            let shared = |v6: [[u8; 16]; 2]| (u128::from_be_bytes(v6[0]) ^ u128::from_be_bytes(v6[1])).leading_zeros();
            prop_assume!(v6.iter().all(|v6| v6[0] != MULTICAST_V6));
            prop_assert_eq!(shared(v6.map(|v6| addresses.v6(&key, v6))), shared(v6));
        }
    }

    /// Addresses that differ in an early bit; with some keys one of them alone would become a multicast address.
    #[test]
    fn neighbours_of_multicast_addresses_keep_their_common_prefixes() {
        for secret in 0..200_u128 {
            let (key, mut addresses) = (Key::of(&secret.to_be_bytes()).unwrap(), Addresses::default());
            for (shared, first, second) in
                [(7, 0xf0, 0xf1), (2, 0xc0, 0xe1), (0, 0x10, 0x90), (1, 0x90, 0xd0), (7, 0xfc, 0xfd)]
            {
                let [first, second] = [first, second].map(|byte| addresses.v6(&key, [byte; 16])[0]);
                assert_eq!((first ^ second).leading_zeros(), shared, "{secret}");
                assert!(first != MULTICAST_V6 && second != MULTICAST_V6);
            }
            for (shared, first, second) in [(0, 10, 192), (1, 172, 192), (3, 192, 208)] {
                let [first, second] = [first, second].map(|byte| addresses.v4(&key, [byte; 4])[0]);
                assert_eq!((first ^ second).leading_zeros(), shared, "{secret}");
                assert!(first < NO_HOST && second < NO_HOST);
            }
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
