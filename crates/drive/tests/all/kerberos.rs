//! Kerberos logons: MIT's KDC, Samba with its keytab, and KDCs that are no good.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::blocking::Blocking;
use plimsoll_client::calls::Identity;
use plimsoll_client::content::Content;
use plimsoll_client::kerberos::Purpose;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::smb2::auth::kerberos::ServiceTicket;
use plimsoll_client::smb2::auth::{Authentication, Credentials, Realm, Secret, TicketError};
use plimsoll_client::smb2::signing::SigningAlgorithm;
use plimsoll_client::smb2::{Dialect, Negotiated, Requirement, SmbClient, SmbOptions};
use plimsoll_client::target::{Server, Target};
use plimsoll_client::{Operation, Reply};
use plimsoll_drive::connect::{self, ConnectError, ConnectOptions};
use plimsoll_model::{Endpoint, Names, Symbol};
use plimsoll_testkit::servers::{Kdc, Samba, Share, available};
use plimsoll_wire::smb2::negotiate::Cipher;

/// Longer than any operation takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SERVICE: &str = "cifs/localhost";

/// A realm with a server.
fn realm() -> Option<(Kdc, Samba)> {
    available(Kdc::start_with_samba())
}

fn user(password: &str) -> Credentials {
    let (domain, user) = (String::new(), Samba::USER.to_owned());
    Credentials { domain, user, password: Secret::new(password.to_owned()) }
}

fn at(kdc: SocketAddr) -> Realm {
    let kdc = Server { host: kdc.ip().to_string(), port: kdc.port() };
    Realm { name: Some(Kdc::REALM.to_owned()), kdc: Some(kdc) }
}

fn ticket(kdc: &Kdc, service: &str) -> Arc<ServiceTicket> {
    let ticket = ServiceTicket::request(&user(Samba::PASSWORD), &at(kdc.address()), service, Purpose::Smb);
    Arc::new(ticket.unwrap_or_else(|error| panic!("{error}\n{}", kdc.log())))
}

fn options(ticket: &Arc<ServiceTicket>) -> SmbOptions {
    // No password: the ticket is enough.
    let mut options = SmbOptions::new("localhost", Share::Data.name(), user(""));
    options.accounts[0].authentication = Authentication::Kerberos(Arc::clone(ticket));
    options
}

fn open(samba: &Samba, options: Arc<SmbOptions>) -> Blocking<SmbClient> {
    let server = Endpoint { ip: samba.address().ip(), port: samba.address().port() };
    Blocking::open(samba.address(), PATIENCE, |local| {
        let client = Endpoint { ip: local.ip(), port: local.port() };
        let identity = Identity { client, server, connection: 0, share: Symbol::NONE, user: Symbol::NONE };
        let mut guid = [7; 16];
        guid[..2].copy_from_slice(&local.port().to_le_bytes());
        SmbClient::new(options, identity, guid)
    })
    .unwrap()
}

/// Logs on, writes a file, reads it, and leaves; returns the negotiated parameters.
fn travel(samba: &Samba, options: SmbOptions) -> Negotiated {
    let options = Arc::new(options);
    let mut client = open(samba, Arc::clone(&options));
    assert_eq!(client.connect(), Ok(Reply::Nothing), "{}", samba.log());
    let disposition = Disposition::OpenOrCreate;
    let operation = Operation::Open { path: "file", access: Access::ReadWrite, disposition, caching: Caching::None };
    let file = match client.act(&operation) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{other:?}"),
    };
    let content = Arc::new(Content::new(1));
    let write = Operation::Write { file, offset: 0, length: 100_000, content: &content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: 100_000 }));
    let written = std::fs::read(samba.folder(Share::Data).unwrap().join("file")).unwrap();
    assert!(written.len() == 100_000 && content.matches(3, 0, &written));
    let read = Operation::Read { file, offset: 0, length: 60_000, keep: true };
    assert_eq!(client.act(&read), Ok(Reply::Read { bytes: 60_000 }));
    let data: Vec<u8> = client.seen.data.drain(..).flat_map(|(_, _, data)| data).collect();
    assert_eq!(data, written[..60_000]);
    assert_eq!(client.act(&Operation::Close { file }), Ok(Reply::Nothing));
    assert_eq!(client.leave(), Ok(Reply::Nothing));
    *options.negotiated.get().unwrap()
}

#[test]
fn one_ticket_opens_every_dialect_signed_and_encrypted() {
    let Some((kdc, samba)) = realm() else { return };
    let ticket = ticket(&kdc, SERVICE);
    for dialect in Dialect::ALL {
        let forced = || SmbOptions { dialects: dialect..=dialect, ..options(&ticket) };
        let agreed = travel(&samba, forced());
        assert_eq!((agreed.dialect, agreed.signing, agreed.encryption), (dialect, None, None));
        let expected = match dialect {
            Dialect::V202 | Dialect::V210 => SigningAlgorithm::HmacSha256,
            Dialect::V300 | Dialect::V302 => SigningAlgorithm::AesCmac,
            Dialect::V311 => SigningAlgorithm::AesGmac,
        };
        let agreed = travel(&samba, SmbOptions { signing: Requirement::Demanded, ..forced() });
        assert_eq!(agreed.signing, Some(expected), "{}", dialect.name());
    }
    let sealed = || SmbOptions { encryption: Requirement::Demanded, ..options(&ticket) };
    let old = travel(&samba, SmbOptions { dialects: Dialect::V300..=Dialect::V300, ..sealed() });
    assert_eq!(old.encryption, Some(Cipher::Aes128Ccm));
    // AES-256 uses all 32 bytes of the key, the other ciphers 16.
    for cipher in [Cipher::Aes128Gcm, Cipher::Aes128Ccm, Cipher::Aes256Gcm, Cipher::Aes256Ccm] {
        let agreed = travel(&samba, SmbOptions { ciphers: vec![cipher], ..sealed() });
        assert_eq!(agreed.encryption, Some(cipher));
    }
    assert_eq!(kdc.issued(), (1, 1), "15 logons, and the KDC was asked for one:\n{}", kdc.log());
}

/// As in `plimsoll run`: from the target and the options to a server whose clients log on with the ticket.
#[test]
fn a_target_is_reached_with_a_ticket_of_its_own() {
    let Some((kdc, samba)) = realm() else { return };
    let url = format!("smb://{}@localhost:{}/data", Samba::USER, samba.address().port());
    let mut target = Target::parse(&url).unwrap();
    target.find_password(None, Some(Samba::PASSWORD.into())).unwrap();
    let kerberos = Some(at(kdc.address()));
    let reached =
        connect::open(&target, &ConnectOptions { kerberos, ..ConnectOptions::default() }, &mut Names::default())
            .unwrap();
    assert_eq!(kdc.issued(), (1, 1), "before the first client");
    let address = reached.address().unwrap();
    assert_eq!((address.ip().is_loopback(), address.port()), (true, samba.address().port()));
    let nobody = ConnectOptions { kerberos: Some(Realm { name: None, kdc: None }), ..ConnectOptions::default() };
    let refused = connect::open(&target, &nobody, &mut Names::default()).err().unwrap();
    assert!(matches!(refused, ConnectError::Ticket(TicketError::NoRealm)), "{refused}");
}

fn refusal(credentials: &Credentials, realm: &Realm, service: &str) -> String {
    match ServiceTicket::request(credentials, realm, service, Purpose::Smb) {
        Err(error @ TicketError::Refused { .. }) => {
            let text = error.to_string();
            assert!(!format!("{text} {error:?}").contains("Load-line"), "{text}");
            text
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_gets_no_ticket_is_told_why() {
    let Some((kdc, _)) = realm() else { return };
    let realm = at(kdc.address());
    let right = user(Samba::PASSWORD);
    for (account, service, why) in [
        (user("Load-line 8"), SERVICE, "password"),
        (Credentials { user: "nobody".into(), ..right.clone() }, SERVICE, "not found"),
        (right.clone(), "cifs/nowhere.plimsoll.test", "not found"),
    ] {
        let said = refusal(&account, &realm, service);
        assert!(said.to_lowercase().contains(why) && said.contains(service) && said.contains(Kdc::REALM), "{said}");
    }
    let elsewhere = Realm { name: Some("ELSEWHERE.TEST".into()), ..realm.clone() };
    refusal(&right, &elsewhere, SERVICE);
    let none = |credentials: &Credentials, realm: &Realm| {
        ServiceTicket::request(credentials, realm, SERVICE, Purpose::Smb).err()
    };
    assert_eq!(none(&Credentials::anonymous(), &realm), Some(TicketError::NoAccount));
    assert_eq!(none(&user(""), &realm), Some(TicketError::NoAccount));
    assert_eq!(none(&right, &Realm { name: None, ..realm.clone() }), Some(TicketError::NoRealm));
    // The realm may stand in the account, as a domain or as a part of its name; it is written in capitals or not.
    for (domain, name) in [("plimsoll.test", Samba::USER.to_owned()), ("", format!("{}@{}", Samba::USER, Kdc::REALM))] {
        let account = Credentials { domain: domain.into(), user: name, ..right.clone() };
        assert!(none(&account, &Realm { name: None, ..realm.clone() }).is_none(), "{account:?}");
    }
}

#[test]
fn a_kdc_that_is_not_there_or_makes_no_sense() {
    let right = user(Samba::PASSWORD);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = refusal(&right, &at(closed), SERVICE);
    assert!(said.contains(&closed.to_string()), "{said}");
    for answer in
        [&b""[..], b"\xff\xff\xff\xff", b"\0\0\0\x05abc", b"\0\0\0\x03abc", b"\0\0\0\0", b"\0\0\0\x02\x7e\x80"]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut length = [0; 4];
                stream.read_exact(&mut length).unwrap();
                let mut question = vec![0; u32::from_be_bytes(length) as usize];
                stream.read_exact(&mut question).unwrap();
                stream.write_all(answer).unwrap();
            });
            refusal(&right, &at(address), SERVICE);
        });
    }
    let nonsense = Server { host: "a b".into(), port: 88 };
    let realm = Realm { name: Some("X".into()), kdc: Some(nonsense) };
    assert!(ServiceTicket::request(&right, &realm, SERVICE, Purpose::Smb).is_err());
}

#[test]
fn servers_that_take_no_ticket_or_not_this_one() {
    let Some((kdc, samba)) = realm() else { return };
    let logon = |samba: &Samba, ticket: &Arc<ServiceTicket>| open(samba, Arc::new(options(ticket))).connect();
    let good = ticket(&kdc, SERVICE);
    assert_eq!(logon(&samba, &good), Ok(Reply::Nothing));
    // The server does not have this key, like a server under another server's name.
    let other = ticket(&kdc, &format!("cifs/{}", Kdc::WITHOUT_KEYTAB));
    assert_eq!(logon(&samba, &other).unwrap_err().cause, Cause::LogonRefused, "{}", samba.log());
    assert_eq!(logon(&samba, &good), Ok(Reply::Nothing));
    drop(samba);
    let Ok(without) = Samba::start(&[]) else { panic!("it started before") };
    assert_eq!(logon(&without, &good).unwrap_err().cause, Cause::LogonRefused, "it offers NTLM alone");
}
