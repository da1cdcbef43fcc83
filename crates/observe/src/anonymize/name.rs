//! Replacement of names. A replacement has as many folders and as many characters as the original. Equal names get equal replacements,
//! wherever they stand, and different names different ones (with one exception, below).
//!
//! The extension of a well-known file type stays. Another short one, which may be a family name or a domain, is replaced on its own: files
//! with equal extensions have equal extensions afterwards.
//!
//! Each letter or digit becomes another of its kind, chosen by the key and all other characters of the name: three passes, forward, back
//! and forward, each of which moves a character by a number that depends on the characters it has passed. Every step can be undone with
//! the key, so no two names get the same replacement. Letter case stays, because SMB compares names without case. Other ASCII characters
//! stay as well.
//!
//! An IPv4 address as a name must not become another host's address: it becomes what its address becomes, where that is as long, and
//! otherwise letters with `|` between them. No other name becomes an address. The exception: a file of NFS whose name consists of such
//! letters and `|` may get the replacement of an address. (SMB allows no `|` in names, MS-FSCC 2.1.5.1.)

use std::net::{IpAddr, Ipv4Addr};

use super::address::Addresses;
use super::key::{Block, Key, Kind};
use crate::pairing::is_pipe_name;

/// Maximum length of an extension, characters: a longer one is a part of the name.
const EXTENSION_MAX: usize = 4;
/// Extensions that stay. No domain of a country and no frequent family name is among them: users and hosts have dots in their names, too.
const FILE_TYPES: &[&str] = &[
    "7z", "avi", "bmp", "cfg", "conf", "csv", "db", "dbf", "dll", "dmg", "doc", "docm", "docx", "dotx", "dwg", "dxf",
    "eml", "exe", "flac", "gif", "gz", "htm", "html", "ico", "ini", "iso", "jpeg", "jpg", "js", "json", "ldf", "lnk",
    "log", "mdb", "mdf", "mkv", "mov", "mp3", "mp4", "mpg", "msg", "msi", "nsf", "ods", "odt", "ost", "pdf", "php",
    "ppt", "pptx", "psd", "pst", "rar", "rtf", "sql", "svg", "swp", "tar", "tgz", "tif", "tiff", "tmp", "ttf", "txt",
    "vhd", "vhdx", "vmdk", "wav", "wmv", "xls", "xlsb", "xlsm", "xlsx", "xml", "xz", "yaml", "yml", "zip", "zst",
];
/// Parts of paths that the protocols give a meaning.
const WORDS: [&str; 7] = ["IPC$", "PIPE", "LANMAN", "MAILSLOT", "BROWSE", "NETLOGON", "SYSVOL"];
/// Characters that are no letters or digits of ASCII move within these ranges, so that they stay as long in UTF-8 and UTF-16.
const RANGES: [(u32, u32); 4] = [(0x80, 0x7ff), (0x800, 0xd7ff), (0xe000, 0xffff), (0x1_0000, 0x10_ffff)];

/// A name in UTF-16LE.
pub(super) fn wide(key: &Key, bytes: &mut [u8]) {
    let (units, _) = bytes.as_chunks::<2>();
    let mut text: Vec<u32> = Vec::with_capacity(units.len());
    for found in char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit))) {
        text.push(found.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from));
    }
    replace(key, &mut text);
    let mut units = Vec::with_capacity(bytes.len());
    for code in text {
        match char::from_u32(code) {
            Some(found) => found.encode_utf16(&mut [0; 2]).iter().for_each(|unit| units.extend(unit.to_le_bytes())),
            None => units.extend((code as u16).to_le_bytes()),
        }
    }
    // An odd last byte is no character.
    units.resize(bytes.len(), 0);
    bytes.copy_from_slice(&units);
}

/// A name in UTF-8. In another code page each byte is a character.
pub(super) fn narrow(key: &Key, bytes: &mut [u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let mut text: Vec<u32> = text.chars().map(u32::from).collect();
            replace(key, &mut text);
            let text: String = text.into_iter().filter_map(char::from_u32).collect();
            if text.len() == bytes.len() {
                bytes.copy_from_slice(text.as_bytes());
            } else {
                bytes.fill(b'x');
            }
        }
        Err(_) => {
            let mut text: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
            replace_in(key, &mut text, &[(0x80, 0xff)]);
            bytes.iter_mut().zip(text).for_each(|(byte, code)| *byte = code as u8);
        }
    }
}

fn replace(key: &Key, text: &mut [u32]) {
    replace_in(key, text, &RANGES);
}

/// Replaces each part of a path.
fn replace_in(key: &Key, text: &mut [u32], ranges: &[(u32, u32)]) {
    for part in text.split_mut(|code| matches!(u8::try_from(*code), Ok(b'/' | b'\\' | 0))) {
        if part.is_empty() || is_word(part) {
            continue;
        }
        let address = address_of(part);
        if address.is_some_and(|address| replace_address(key, address, part)) {
            continue;
        }
        let stem = stem_len(part);
        loop {
            mix(key, &mut part[..stem], ranges);
            // A replacement that happens to be a reserved word would have another meaning, and an address would be another host's.
            if !is_word(part) && (address.is_some() || address_of(part).is_none()) {
                break;
            }
        }
        if let Some(extension) = part.get_mut(stem + 1..).filter(|extension| !is_file_type(extension)) {
            loop {
                mix(key, extension, ranges);
                // A replacement that is the extension of a file type would belong to another name.
                if !is_file_type(extension) {
                    break;
                }
            }
        }
        if address.is_some() {
            part.iter_mut().for_each(|code| *code = no_digit(*code));
        }
    }
}

/// Replaces an address by what it is in the headers of packets, if that has as many characters.
fn replace_address(key: &Key, address: Ipv4Addr, part: &mut [u32]) -> bool {
    let text = Ipv4Addr::from(Addresses::default().v4(key, address.octets())).to_string();
    let is_as_long = text.len() == part.len();
    if is_as_long {
        part.iter_mut().zip(text.bytes()).for_each(|(code, byte)| *code = u32::from(byte));
    }
    is_as_long
}

fn address_of(part: &[u32]) -> Option<Ipv4Addr> {
    ascii(part)?.parse().ok()
}

/// A letter for each digit of an address, and `|` for each dot.
fn no_digit(code: u32) -> u32 {
    let digit = char::from_u32(code).and_then(|found| found.to_digit(10));
    u32::from(digit.map_or(b'|', |digit| b'a' + digit as u8))
}

fn ascii(part: &[u32]) -> Option<String> {
    part.iter().map(|code| u8::try_from(*code).ok().filter(u8::is_ascii).map(char::from)).collect()
}

fn is_word(part: &[u32]) -> bool {
    ascii(part).is_some_and(|text| {
        let is_known = WORDS.iter().any(|word| word.eq_ignore_ascii_case(&text));
        is_known || is_pipe_name(&text) || text == "." || text == ".."
    })
}

fn is_file_type(extension: &[u32]) -> bool {
    ascii(extension).is_some_and(|text| FILE_TYPES.iter().any(|known| known.eq_ignore_ascii_case(&text)))
}

/// Characters in front of a short extension.
fn stem_len(part: &[u32]) -> usize {
    let Some(dot) = part.iter().rposition(|code| *code == u32::from(b'.')).filter(|dot| *dot > 0) else {
        return part.len();
    };
    let extension = ascii(&part[dot + 1..]).filter(|text| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (1..=EXTENSION_MAX).contains(&text.len()) && is_plain && text.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    let is_address = ascii(part).is_some_and(|text| text.parse::<IpAddr>().is_ok());
    if extension.is_some() && !is_address { dot } else { part.len() }
}

/// The three passes.
fn mix(key: &Key, part: &mut [u32], ranges: &[(u32, u32)]) {
    let len = part.len() as u32;
    for pass in 0..3_u8 {
        let mut state = key.digest(Kind::Name, &[&[pass][..], &len.to_be_bytes()].concat());
        let last = part.len().saturating_sub(1);
        for at in 0..part.len() {
            let code = &mut part[if pass == 1 { last - at } else { at }];
            let before = *code;
            *code = moved(before, &state, ranges);
            // Each pass chains the characters as they were before the pass, so the shifts can be recomputed when the passes are undone.
            state = chained(key, state, before);
        }
    }
}

fn chained(key: &Key, mut state: Block, code: u32) -> Block {
    // Without letter case.
    let code = char::from_u32(code).map_or(code, |found| u32::from(found.to_ascii_lowercase()));
    state.iter_mut().zip(code.to_be_bytes()).for_each(|(byte, other)| *byte ^= other);
    key.encrypt(state)
}

/// Shifts a character within its range (letters, digits).
fn moved(code: u32, by: &Block, ranges: &[(u32, u32)]) -> u32 {
    let by = u64::from_be_bytes([by[0], by[1], by[2], by[3], by[4], by[5], by[6], by[7]]);
    let within = |first: u32, last: u32| {
        let size = u64::from(last - first + 1);
        first + ((u64::from(code - first) + by % size) % size) as u32
    };
    match u8::try_from(code) {
        Ok(b'a'..=b'z') => within(u32::from(b'a'), u32::from(b'z')),
        Ok(b'A'..=b'Z') => within(u32::from(b'A'), u32::from(b'Z')),
        Ok(b'0'..=b'9') => within(u32::from(b'0'), u32::from(b'9')),
        _ => match ranges.iter().find(|(first, last)| (*first..=*last).contains(&code)) {
            Some((first, last)) => within(*first, *last),
            None => code,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn key() -> Key {
        Key::of(b"a secret of enough bytes").unwrap()
    }

    fn replaced(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        narrow(&key(), &mut bytes);
        let mut units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        wide(&key(), &mut units);
        let wide = char::decode_utf16(units.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])));
        let wide: String = wide.map(Result::unwrap).collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), wide, "the same in both encodings");
        wide
    }

    #[test]
    fn depth_length_and_extension_stay() {
        let path = replaced(r"Customers\Smith & Sons\Offer 2024.docx");
        let parts: Vec<&str> = path.split('\\').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [9, 12, 15], "{path}");
        assert!(path.ends_with(".docx") && !path.contains("Smith") && !path.contains("2024"), "{path}");
        for kept in [r"\\", r"\PIPE\srvsvc", ".", "..", "IPC$", "*", ""] {
            assert_eq!(replaced(kept), kept);
        }
        let server = replaced(r"\\10.11.12.13\IPC$");
        assert!(server.ends_with(r"\IPC$") && !server.contains(".13"), "{server}");
        assert_eq!(replaced("report.pdf").split('.').next(), replaced("report.doc").split('.').next());
    }

    #[test]
    fn only_extensions_of_file_types_stay() {
        for (name, secret) in [("mary.lee", "lee"), ("FS01.Acme", "Acme"), ("corp.bank", "bank"), ("x.acme", "acme")] {
            let found = replaced(name);
            assert!(!found.to_lowercase().ends_with(&secret.to_lowercase()), "{name} becomes {found}");
        }
        assert!(replaced("Offer.PDF").ends_with(".PDF") && replaced("a.b.tiff").ends_with(".tiff"));
        let share = replaced(r"\\fs01.acme\loan.data");
        assert_eq!(share, format!(r"\\{}\{}", replaced("fs01.acme"), replaced("loan.data")), "the same in each place");
        let extension = |name: &str| replaced(name).rsplit_once('.').unwrap().1.to_owned();
        assert_eq!(extension("first.acme"), extension("second.acme"));
        let letters = || ('a'..='z').chain('0'..='9');
        let names: Vec<String> = letters().flat_map(|a| letters().map(move |b| format!("x.{a}{b}"))).collect();
        assert_eq!(names.iter().map(|name| replaced(name)).collect::<HashSet<_>>().len(), names.len());
    }

    #[test]
    fn an_address_as_a_name_names_no_other_host() {
        let mut addresses = Addresses::default();
        let mut names = HashSet::new();
        for last in 0..=255 {
            let address = Ipv4Addr::new(10, 77, 0, last);
            let expected = Ipv4Addr::from(addresses.v4(&key(), address.octets()));
            let found = replaced(&address.to_string());
            assert_eq!(found.len(), address.to_string().len());
            match found.parse::<Ipv4Addr>() {
                Ok(found) => assert_eq!(found, expected),
                Err(_) => assert!(found.bytes().all(|byte| byte == b'|' || byte.is_ascii_lowercase()), "{found}"),
            }
            names.insert(found);
        }
        assert_eq!(names.len(), 256);
    }

    #[test]
    fn no_other_name_becomes_an_address() {
        let mut names = HashSet::new();
        for first in 256..1_000 {
            let found = replaced(&format!("{first}.1.2.3"));
            assert!(found.parse::<Ipv4Addr>().is_err(), "{first}.1.2.3 becomes {found}");
            names.insert(found);
        }
        assert_eq!(names.len(), 744);
        // 100.1.2.3 and such, of which some become letters and others addresses.
        let addresses: Vec<String> = (100..256).map(|first| replaced(&format!("{first}.1.2.3"))).collect();
        let letters = addresses.iter().filter(|name| name.contains('|')).count();
        assert!(letters > 0 && letters < 156, "{addresses:?}");
        names.extend(addresses);
        assert_eq!(names.len(), 900);
    }

    #[test]
    fn no_two_names_meet() {
        let names: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
        assert_eq!(names.iter().map(|name| replaced(name)).collect::<HashSet<_>>().len(), names.len());
        let letters: HashSet<String> = ('a'..='z').map(|letter| replaced(&letter.to_string())).collect();
        assert_eq!(letters.len(), 26);
    }

    #[test]
    fn letter_case_means_nothing_and_stays() {
        assert_eq!(replaced("Report"), {
            let lower = replaced("report");
            lower[..1].to_uppercase() + &lower[1..]
        });
    }

    #[test]
    fn bytes_of_another_code_page_and_lone_surrogates_are_replaced() {
        let mut bytes = b"M\x81ller".to_vec();
        narrow(&key(), &mut bytes);
        assert!(bytes.len() == 6 && bytes != b"M\x81ller");
        let mut units = vec![0x00, 0xd8, b'a', 0, 7];
        wide(&key(), &mut units);
        assert_eq!(units.len(), 5);
    }

    proptest! {
        #[test]
        fn any_text_becomes_text_of_the_same_length(text in "\\PC{0,30}") {
            let found = replaced(&text);
            prop_assert_eq!(found.len(), text.len());
            prop_assert_eq!(found.encode_utf16().count(), text.encode_utf16().count());
        }
    }
}
