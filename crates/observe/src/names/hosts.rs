//! Names of hosts in answers of DNS, multicast DNS and NetBIOS' name service.

use std::net::{Ipv4Addr, Ipv6Addr};

use plimsoll_model::{HostNameFrom, HostNames};
use simple_dns::rdata::RData;
use simple_dns::{Packet, PacketFlag};

const DNS: u16 = 53;
const MULTICAST_DNS: u16 = 5353;
/// RFC 1002: messages like those of DNS, with names of 16 bytes in 32 letters.
const NETBIOS: u16 = 137;
/// RFC 1002, 4.2.1.3: type NB, an address of a name.
const NB: u16 = 32;
/// Suffix of a NetBIOS name for the file server service. Other suffixes are for groups, users and browsers.
const FILE_SERVER: u8 = 0x20;
/// NB_FLAGS: the name is a group's.
const GROUP: u8 = 0x80;

/// Notes the names in a datagram from `port`, if it is such an answer.
pub fn learn(port: u16, payload: &[u8], hosts: &mut HostNames) {
    if !matches!(port, DNS | MULTICAST_DNS | NETBIOS) {
        return;
    }
    let Ok(packet) = Packet::parse(payload) else { return };
    if !packet.has_flags(PacketFlag::RESPONSE) {
        return;
    }
    for answer in &packet.answers {
        let name = answer.name.to_string();
        let from = HostNameFrom::Answer;
        match &answer.rdata {
            RData::A(a) if port != NETBIOS => hosts.learn(Ipv4Addr::from(a.address).into(), &name, from),
            RData::AAAA(a) if port != NETBIOS => hosts.learn(Ipv6Addr::from(a.address).into(), &name, from),
            RData::NULL(NB, data) if port == NETBIOS => {
                let Some(name) = netbios_name(&name) else { continue };
                let (addresses, _) = data.get_data().as_chunks::<6>();
                for [_, _, a, b, c, d] in addresses.iter().filter(|entry| entry[0] & GROUP == 0) {
                    hosts.learn([*a, *b, *c, *d].into(), &name, from);
                }
            }
            _ => {}
        }
    }
}

/// RFC 1001, 14.1: each half byte is a letter from A on; 15 bytes of name, one of service.
fn netbios_name(encoded: &str) -> Option<String> {
    let half = |letter: u8| letter.checked_sub(b'A').filter(|half| *half < 16);
    let label = encoded.split('.').next()?;
    let (pairs, []) = label.as_bytes().as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(half(*high)? << 4 | half(*low)?)).collect();
    let bytes = bytes?;
    let (service, name) = bytes.split_last()?;
    let text = std::str::from_utf8(name).ok()?;
    (*service == FILE_SERVER && name.len() == 15).then(|| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use simple_dns::rdata::{A, NULL};
    use simple_dns::{CLASS, Name, ResourceRecord};

    use super::*;

    fn answer(name: &str, rdata: RData<'static>) -> Vec<u8> {
        let mut packet = Packet::new_reply(7);
        packet.set_flags(PacketFlag::RESPONSE);
        packet.answers.push(ResourceRecord::new(Name::new(name).unwrap().into_owned(), CLASS::IN, 60, rdata));
        packet.build_bytes_vec().unwrap()
    }

    fn learnt(port: u16, payload: &[u8]) -> Option<String> {
        let mut hosts = HostNames::default();
        learn(port, payload, &mut hosts);
        hosts.name(IpAddr::from([10, 0, 0, 1])).map(str::to_owned)
    }

    /// RFC 1001's way of writing a name.
    fn encoded(name: &str, service: u8) -> String {
        let bytes = format!("{name:<15}").into_bytes().into_iter().chain([service]);
        bytes.flat_map(|byte| [byte >> 4, byte & 15].map(|half| char::from(b'A' + half))).collect()
    }

    #[test]
    fn answers_of_dns_name_hosts() {
        let payload = answer("filer.example", RData::A(A { address: 0x0a00_0001 }));
        assert_eq!(learnt(DNS, &payload).as_deref(), Some("filer.example"));
        assert_eq!(learnt(MULTICAST_DNS, &payload).as_deref(), Some("filer.example"));
        assert_eq!(learnt(2049, &payload), None, "of another service");
        for cut in 0..payload.len() {
            assert_eq!(learnt(DNS, &payload[..cut]), None, "cut at {cut}");
        }
        let mut question = payload;
        question[2] &= 0x7f;
        assert_eq!(learnt(DNS, &question), None, "no answer");
    }

    #[test]
    fn answers_of_netbios_name_file_servers() {
        let entry = |flags: u8| RData::NULL(NB, NULL::new(&[flags, 0, 10, 0, 0, 1]).unwrap().into_owned());
        let named = |service, flags| learnt(NETBIOS, &answer(&encoded("FILER", service), entry(flags)));
        assert_eq!(named(FILE_SERVER, 0).as_deref(), Some("FILER"));
        assert_eq!(named(0x1c, 0), None, "domain controllers");
        assert_eq!(named(FILE_SERVER, GROUP), None, "a group");
    }
}
