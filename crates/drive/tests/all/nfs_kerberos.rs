//! NFS with Kerberos (RPCSEC_GSS): MIT's KDC, and Ganesha with its keytab.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use plimsoll_client::blocking::Blocking;
use plimsoll_client::content::Content;
use plimsoll_client::operation::{Access, Caching, Cause, Disposition};
use plimsoll_client::smb2::auth::{Realm, TicketError};
use plimsoll_client::target::{NfsVersion, Server, Target};
use plimsoll_client::{Client, Operation, Reply};
use plimsoll_drive::connect::{self, ConnectError, ConnectOptions, Connector};
use plimsoll_drive::engine::ConnectionInfo;
use plimsoll_model::{Endpoint, Names, Outcome};
use plimsoll_testkit::servers::{Export, Ganesha, Kdc, Samba, available};
use plimsoll_wire::rpc::{Call, Credential, Flavor, Protection};

/// Longer than any operation takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A realm with a server.
fn realm() -> Option<(Kdc, Ganesha)> {
    available(Kdc::start_with_ganesha())
}

/// A target of the realm; without an account where `security` is empty.
fn target(ganesha: &Ganesha, export: Export, version: &str, security: &str) -> Target {
    let mount = if version == "3" { format!("&mountport={}", ganesha.mount_port()) } else { String::new() };
    let (account, security) = match security {
        "" => (String::new(), String::new()),
        security => (format!("{}@", Samba::USER), format!("&sec={security}")),
    };
    let (port, path) = (ganesha.address().port(), export.path());
    let url = format!("nfs://{account}localhost:{port}{path}?version={version}{mount}{security}");
    let mut target = Target::parse(&url).unwrap();
    target.find_password(None, Some(Samba::PASSWORD.into())).unwrap();
    target
}

fn options(kdc: &Kdc) -> ConnectOptions {
    let address = kdc.address();
    let at = Server { host: address.ip().to_string(), port: address.port() };
    let kerberos = Some(Realm { name: Some(Kdc::REALM.to_owned()), kdc: Some(at) });
    ConnectOptions { kerberos, ..ConnectOptions::default() }
}

fn connect(target: &Target, kdc: &Kdc) -> Result<Box<dyn Connector>, ConnectError> {
    connect::open(target, &options(kdc), &mut Names::default())
}

fn client(server: &dyn Connector, index: u32) -> Blocking<Box<dyn Client>> {
    let address = server.address().unwrap();
    Blocking::open(address, PATIENCE, |local| {
        server.client(&ConnectionInfo {
            client_index: index,
            connection_index: 0,
            connections: 1,
            channels: 1,
            connection: index,
            generation: 0,
            client: Endpoint { ip: local.ip(), port: local.port() },
            server: Endpoint { ip: address.ip(), port: address.port() },
        })
    })
    .unwrap()
}

/// Writes a file, reads it, lists it, removes it, and leaves. Returns the number of rows.
fn travel(client: &mut Blocking<Box<dyn Client>>, name: &str) -> usize {
    assert_eq!(client.connect(), Ok(Reply::Nothing));
    let disposition = Disposition::Create;
    let open = Operation::Open { path: name, access: Access::ReadWrite, disposition, caching: Caching::None };
    let file = match client.act(&open) {
        Ok(Reply::Opened { file, .. }) => file,
        other => panic!("{other:?}"),
    };
    let content = Arc::new(Content::new(1));
    let length = 2_200_001;
    let write = Operation::Write { file, offset: 0, length, content: &content, key: 3 };
    assert_eq!(client.act(&write), Ok(Reply::Written { bytes: length }));
    assert_eq!(client.act(&Operation::Flush { file }), Ok(Reply::Nothing));
    client.seen.data.clear();
    let read = Operation::Read { file, offset: 0, length, keep: true };
    assert_eq!(client.act(&read), Ok(Reply::Read { bytes: length }));
    let data: Vec<u8> = client.seen.data.drain(..).flat_map(|(_, _, data)| data).collect();
    assert!(data.len() == length as usize && content.matches(3, 0, &data), "other data than written");
    let dropped = Operation::Read { file, offset: 7, length: 1_000_000, keep: false };
    assert_eq!(client.act(&dropped), Ok(Reply::Read { bytes: 1_000_000 }));
    assert!(matches!(client.act(&Operation::List { path: "" }), Ok(Reply::Listed { entries: 1.. })));
    let missing = client.act(&Operation::Getattr { path: "missing" }).unwrap_err();
    assert_eq!((missing.outcome, missing.status), (Outcome::Refused, Some(2)));
    assert_eq!(client.act(&Operation::Close { file }), Ok(Reply::Nothing));
    assert_eq!(client.act(&Operation::Remove { path: name }), Ok(Reply::Nothing));
    assert_eq!(client.leave(), Ok(Reply::Nothing));
    assert_eq!(client.client.unmatched_responses(), 0);
    client.seen.transactions.len()
}

#[test]
fn every_version_with_every_protection() {
    let Some((kdc, ganesha)) = realm() else { return };
    // Ganesha has asked for its own.
    let (accounts, services) = kdc.issued();
    let mut opened = 0;
    for version in ["3", "4.0", "4.1", "4.2"] {
        for security in ["krb5", "krb5i", "krb5p"] {
            let server = connect(&target(&ganesha, Export::Data, version, security), &kdc);
            let server = server.unwrap_or_else(|error| panic!("{version} {security}: {error}\n{}", ganesha.log()));
            opened += 1;
            for index in 0..2 {
                let mut client = client(&*server, index);
                assert!(travel(&mut client, &format!("{version} {security}")) > 10);
            }
            let facts = server.facts();
            assert!(facts.contains(&format!("Kerberos ({security})")), "{facts:?}");
            let cipher = server.take_guarantees().encryption;
            assert_eq!(cipher.as_deref(), (security == "krb5p").then_some("aes256-cts-hmac-sha1-96"));
            let issued = (accounts + opened, services + opened);
            assert_eq!(kdc.issued(), issued, "one ticket for all clients of a target:\n{}", kdc.log());
        }
    }
}

#[test]
fn an_export_that_wants_more_protection_refuses() {
    let Some((kdc, ganesha)) = realm() else { return };
    for version in ["3", "4.1"] {
        let sealed = connect(&target(&ganesha, Export::ReadOnly, version, "krb5p"), &kdc);
        assert!(sealed.is_ok(), "{version}: {:?}\n{}", sealed.err(), ganesha.log());
        for security in ["", "krb5", "krb5i"] {
            let said = match connect(&target(&ganesha, Export::ReadOnly, version, security), &kdc) {
                Err(error) => error.to_string(),
                Ok(server) => {
                    let mut client = client(&*server, 0);
                    let failure =
                        client.connect().and_then(|_| client.act(&Operation::Getattr { path: "" })).unwrap_err();
                    assert_eq!(failure.outcome, Outcome::Refused, "{version} {security}: {failure}");
                    continue;
                }
            };
            assert!(
                said.contains("sec=") || said.contains("WRONGSEC") || said.contains("rejected"),
                "{security}: {said}"
            );
        }
    }
}

#[test]
fn a_server_without_the_key_is_refused() {
    let Some((kdc, ganesha)) = realm() else { return };
    // A server under another server's name: it cannot decrypt the ticket. The name need not have an address, so the target's is changed.
    let Target::Nfs(mut nfs) = target(&ganesha, Export::Data, "4.1", "krb5") else { panic!("NFS") };
    nfs.server.host = "nowhere.plimsoll.test".to_owned();
    let unknown = connect(&Target::Nfs(nfs.clone()), &kdc).err().unwrap();
    assert!(matches!(unknown, ConnectError::Resolve { .. } | ConnectError::Ticket(_)), "{unknown}");
    nfs.server.host = "localhost".to_owned();
    nfs.credentials.password = String::from("wrong").into();
    let refused = connect(&Target::Nfs(nfs), &kdc).err().unwrap();
    let ConnectError::Ticket(TicketError::Refused { service, .. }) = &refused else { panic!("{refused}") };
    assert_eq!(service, "nfs/localhost");
    let plain = Ganesha::start().unwrap();
    let target = target(&plain, Export::Data, "4.1", "krb5");
    let refused = connect(&target, &kdc).err().unwrap();
    assert!(refused.to_string().contains(Cause::LogonRefused.label()), "{refused}");
}

/// Passes one connection on, and gives the records that the client sends.
fn relay(to: SocketAddr) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, records) = channel();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        // Either side may reset the connection at its end.
        std::thread::spawn(move || drop(std::io::copy(&mut answers, &mut back)));
        let mut mark = [0; 4];
        while client.read_exact(&mut mark).is_ok() {
            let mut record = vec![0; (u32::from_be_bytes(mark) & 0x7FFF_FFFF) as usize];
            client.read_exact(&mut record).unwrap();
            server.write_all(&[&mark[..], &record].concat()).unwrap();
            sender.send(record).unwrap();
        }
        let _ended = server.shutdown(std::net::Shutdown::Both);
    });
    (address, records)
}

/// The server is asked for its version with the protection of the target, and no call says who calls without Kerberos.
#[test]
fn the_version_is_found_with_the_protection_of_the_target() {
    let Some((kdc, ganesha)) = realm() else { return };
    for (security, protection) in
        [("krb5", Protection::None), ("krb5i", Protection::Integrity), ("krb5p", Protection::Privacy)]
    {
        let (address, records) = relay(ganesha.address());
        let Target::Nfs(mut nfs) = target(&ganesha, Export::Data, "4.1", security) else { panic!("NFS") };
        (nfs.server.port, nfs.version) = (address.port(), None);
        let mut asked = Target::Nfs(nfs);
        connect::find_version(&mut asked, &options(&kdc)).unwrap_or_else(|error| panic!("{error}\n{}", ganesha.log()));
        let Target::Nfs(mut found) = asked else { panic!("NFS") };
        assert_eq!(found.version, Some(NfsVersion::V42));
        let records: Vec<Vec<u8>> = records.into_iter().collect();
        // The context, the question, the end of the context.
        assert_eq!(records.len(), 3);
        for record in &records {
            let call = Call::new(record).unwrap();
            assert_eq!((call.program(), call.version(), call.flavor()), (100_003, 4, Some(Flavor::Gss)));
            let Some(Credential::Gss(gss)) = call.credential() else { panic!("{security}") };
            assert_eq!(gss.protection, Some(protection));
        }
        // What follows uses the version that was found.
        found.server.port = ganesha.address().port();
        let server = connect(&Target::Nfs(found), &kdc).unwrap();
        assert!(travel(&mut client(&*server, 0), security) > 10);
        assert_eq!(
            server.facts()[..3],
            ["NFS 4.2", "highest version the server speaks", &format!("Kerberos ({security})")]
        );
    }
    // A server without the key says nothing about its version.
    let plain = Ganesha::start().unwrap();
    let Target::Nfs(mut nfs) = target(&plain, Export::Data, "4.1", "krb5") else { panic!("NFS") };
    nfs.version = None;
    let refused = connect(&Target::Nfs(nfs), &kdc).err().unwrap().to_string();
    assert!(refused.contains("cannot find out which NFS versions") && refused.contains("?version=4.1"), "{refused}");
}
