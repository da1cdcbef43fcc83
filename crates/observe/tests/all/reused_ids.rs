//! SMB ids that servers use again, for another user, share or file.

use plimsoll_model::{Anomaly, Outcome, Transaction};
use plimsoll_observe::Observed;
use plimsoll_testkit::smb2::{self, command};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, smb1};

use crate::conversation::observed;

const SESSION: u64 = 33;

struct Talk(Traffic, Tcp);

impl Talk {
    fn new() -> Self {
        let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
        traffic.all(&tcp.handshake());
        Self(traffic, tcp)
    }

    fn asks(&mut self, message: &smb2::Message) {
        self.0.send(&mut self.1, Side::Client, &nbss(&message.bytes()));
    }

    fn says(&mut self, message: &smb2::Message) {
        self.0.send(&mut self.1, Side::Server, &nbss(&message.bytes()));
    }

    /// A logon of one step.
    fn logs_on(&mut self, id: u64, token: &[u8]) {
        let len = u16::try_from(token.len()).unwrap().to_le_bytes();
        let fixed = [&[25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 88, 0][..], &len, &[0; 8], token].concat();
        self.asks(&smb2::request(command::SESSION_SETUP, id).session(0).body(&fixed));
        let response = smb2::response(command::SESSION_SETUP, id, 0).session(SESSION);
        self.says(&response.body(&[9, 0, 0, 0, 72, 0, 0, 0]));
    }

    /// Continues with a connection of another client; returns the previous one.
    fn changes_client(&mut self) -> Tcp {
        let mut other = Tcp::new(([10, 0, 0, 7], 701).into(), ([10, 0, 0, 2], 445).into());
        self.0.all(&other.handshake());
        std::mem::replace(&mut self.1, other)
    }

    /// TREE_CONNECT of a share, whose request the capture may lose.
    fn connects(&mut self, id: u64, share: &str, loses: bool) {
        let path: Vec<u8> = share.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let len = u16::try_from(path.len()).unwrap().to_le_bytes();
        let request = smb2::request(command::TREE_CONNECT, id).session(SESSION);
        let request = request.body(&[&[9, 0, 0, 0, 72, 0][..], &len, &path].concat());
        match loses {
            true => drop(self.1.data(Side::Client, &nbss(&request.bytes()))),
            false => self.asks(&request),
        }
        let response = smb2::response(command::TREE_CONNECT, id, 0).session(SESSION);
        self.says(&response.body(&[16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    }

    fn opens(&mut self, id: u64, path: &str) {
        self.asks(&smb2::create(id, path).session(SESSION));
        self.says(&smb2::created(id, smb2::file(1)).session(SESSION));
    }

    fn reads(&mut self, id: u64) {
        self.asks(&smb2::read(id, smb2::file(1), 100).session(SESSION));
        self.says(&smb2::read_answer(id, &[7; 100]).session(SESSION));
    }

    /// A request and its response without data.
    fn exchanges(&mut self, command: u16, id: u64) {
        self.asks(&smb2::request(command, id).session(SESSION).body(&[4, 0, 0, 0]));
        self.says(&smb2::response(command, id, 0).session(SESSION).body(&[4, 0, 0, 0]));
    }

    fn echo(&mut self, id: u64) {
        self.asks(&smb2::echo(id).session(SESSION));
        self.says(&smb2::echoed(id).session(SESSION));
    }

    fn observe(self) -> Observed<Vec<Transaction>> {
        observed(&self.0)
    }
}

/// User, share and path of the operations with this name.
fn named<'o>(observed: &'o Observed<Vec<Transaction>>, operation: &str) -> Vec<[Option<&'o str>; 3]> {
    let rows = observed.sink.iter().filter(|row| row.procedure.row().name == operation);
    rows.map(|row| [row.user, row.share, row.path].map(|symbol| observed.names.text(symbol))).collect()
}

/// NTLM's AUTHENTICATE of this user, in single bytes (MS-NLMP 2.2.1.3).
fn authenticate(user: &[u8]) -> Vec<u8> {
    let mut token = b"NTLMSSP\0\x03\0\0\0".to_vec();
    token.resize(64, 0);
    let len = u8::try_from(user.len()).unwrap();
    (token[36], token[38], token[40], token[60]) = (len, len, 64, 2);
    token.extend(user);
    token
}

#[test]
fn a_new_session_with_the_id_of_an_earlier_one_does_not_have_its_user() {
    let mut talk = Talk::new();
    talk.logs_on(1, &authenticate(b"anna"));
    talk.echo(2);
    talk.logs_on(3, b"a Kerberos token");
    talk.echo(4);
    let observed = talk.observe();
    let echoes = observed.sink.iter().filter(|row| row.procedure.row().name == "ECHO");
    let users: Vec<_> = echoes.map(|row| observed.names.text(row.user)).collect();
    assert_eq!(users, [Some("anna"), None]);
}

/// Kerberos needs one step. A step that fails, or that another one follows, sets up nothing.
#[test]
fn a_logon_of_one_step_has_the_session_of_its_response() {
    const MORE_PROCESSING_REQUIRED: u32 = 0xC000_0016;
    const LOGON_FAILURE: u32 = 0xC000_006D;
    let mut talk = Talk::new();
    talk.logs_on(1, b"a Kerberos token");
    for (id, status) in [(2, MORE_PROCESSING_REQUIRED), (3, LOGON_FAILURE)] {
        let mut fixed = [0; 24];
        fixed[0] = 25;
        talk.asks(&smb2::request(command::SESSION_SETUP, id).session(0).body(&fixed));
        let response = smb2::response(command::SESSION_SETUP, id, status).session(SESSION);
        talk.says(&response.body(&[9, 0, 0, 0, 72, 0, 0, 0]));
    }
    let sessions: Vec<_> = talk.observe().sink.iter().map(|row| row.session).collect();
    assert_eq!(sessions, [Some(SESSION), None, None]);
}

#[test]
fn a_file_whose_create_request_was_lost_does_not_have_the_path_of_an_earlier_one() {
    let mut talk = Talk::new();
    talk.asks(&smb2::create(1, "earlier"));
    talk.says(&smb2::created(1, smb2::file(1)));
    drop(talk.1.data(Side::Client, &nbss(&smb2::create(2, "later").bytes())));
    talk.says(&smb2::created(2, smb2::file(1)));
    talk.asks(&smb2::read(3, smb2::file(1), 100));
    talk.says(&smb2::read_answer(3, &[7; 100]));
    let observed = talk.observe();
    let read = observed.sink.iter().find(|row| row.procedure.row().name == "READ").unwrap();
    assert_eq!(observed.names.text(read.path), None);
}

/// Samba 3 numbers the SMB2 sessions of each connection on its own.
#[test]
fn sessions_with_the_same_id_on_several_connections_keep_their_names() {
    let mut talk = Talk::new();
    talk.logs_on(1, &authenticate(b"alice"));
    talk.connects(2, r"\\srv\finance", false);
    talk.opens(3, "salaries.xlsx");
    let first = talk.changes_client();
    talk.logs_on(1, &authenticate(b"bob"));
    talk.connects(2, r"\\srv\games", false);
    talk.opens(3, "doom.exe");
    talk.reads(4);
    talk.1 = first;
    talk.reads(4);
    let bob = [Some("bob"), Some(r"\\srv\games"), Some("doom.exe")];
    let alice = [Some("alice"), Some(r"\\srv\finance"), Some("salaries.xlsx")];
    assert_eq!(named(&talk.observe(), "READ"), [bob, alice]);
}

/// A durable handle belongs to its server, whatever the IDs of the sessions before and after.
#[test]
fn a_durable_handle_has_its_path_in_a_session_whose_id_is_used_again() {
    let mut talk = Talk::new();
    talk.logs_on(1, &authenticate(b"alice"));
    talk.changes_client();
    talk.logs_on(1, &authenticate(b"bob"));
    talk.opens(2, "db.mdb");
    talk.1 = Tcp::new(([10, 0, 0, 7], 702).into(), ([10, 0, 0, 2], 445).into());
    let handshake = talk.1.handshake();
    talk.0.all(&handshake);
    talk.logs_on(1, &authenticate(b"bob"));
    // MS-SMB2 2.2.13.2.4: an empty name, and one create context.
    let mut reconnect = smb2::create(2, "").session(SESSION).bytes();
    reconnect[64 + 48..64 + 56].copy_from_slice(&[120, 0, 0, 0, 40, 0, 0, 0]);
    reconnect.extend([0, 0, 0, 0, 16, 0, 4, 0, 0, 0, 24, 0, 16, 0, 0, 0]);
    reconnect.extend(b"DHnC\0\0\0\0");
    reconnect.extend(smb2::file(1));
    talk.0.send(&mut talk.1, Side::Client, &nbss(&reconnect));
    talk.says(&smb2::created(2, smb2::file(1)).session(SESSION));
    talk.reads(3);
    let observed = talk.observe();
    let paths = |operation: &str| named(&observed, operation).iter().map(|[.., path]| *path).collect::<Vec<_>>();
    assert_eq!((paths("CREATE"), paths("READ")), (vec![Some("db.mdb"); 2], vec![Some("db.mdb")]));
}

#[test]
fn a_share_whose_tree_connect_request_was_lost_does_not_have_the_name_of_an_earlier_one() {
    const TREE_DISCONNECT: u16 = 4;
    for disconnects in [true, false] {
        let mut talk = Talk::new();
        talk.connects(1, r"\\srv\finance", false);
        talk.reads(2);
        if disconnects {
            talk.exchanges(TREE_DISCONNECT, 3);
        }
        talk.connects(4, r"\\srv\games", true);
        talk.reads(5);
        let observed = talk.observe();
        let shares: Vec<_> = named(&observed, "READ").iter().map(|[_, share, _]| *share).collect();
        assert_eq!(shares, [Some(r"\\srv\finance"), None], "TREE_DISCONNECT: {disconnects}");
    }
}

#[test]
fn ids_that_are_free_have_no_names() {
    const LOGOFF: u16 = 2;
    const TREE_DISCONNECT: u16 = 4;
    let mut talk = Talk::new();
    talk.logs_on(1, &authenticate(b"anna"));
    talk.connects(2, r"\\srv\data", false);
    talk.exchanges(TREE_DISCONNECT, 3);
    talk.reads(4);
    talk.exchanges(LOGOFF, 5);
    talk.reads(6);
    let observed = talk.observe();
    assert_eq!(named(&observed, "READ"), [[Some("anna"), None, None], [None; 3]]);
    assert_eq!(named(&observed, "LOGOFF")[0][0], Some("anna"));
}

/// MS-CIFS 2.2.4.53: VcNumber 0 ends earlier sessions, and their UIDs are free.
#[test]
fn a_new_smb1_session_with_the_uid_of_an_earlier_one_does_not_have_its_user() {
    const SESSION_SETUP_ANDX: u8 = 0x73;
    let mut talk = Talk::new();
    let mut logs_on = |mid: u16, token: &[u8]| {
        let len = u16::try_from(token.len()).unwrap();
        let words = [0xff, 0, 0x1104, 50, 0, 0, 0, len, 0, 0, 0, 0];
        let mut request = smb1::request(SESSION_SETUP_ANDX, 300, mid).words(&words).data(token).bytes();
        // The client does not know its UID yet.
        request[28..30].fill(0);
        talk.0.send(&mut talk.1, Side::Client, &nbss(&request));
        let response = smb1::response(SESSION_SETUP_ANDX, 300, mid).words(&[0xff, 0, 0, 0]);
        talk.0.send(&mut talk.1, Side::Server, &nbss(&response.bytes()));
        let [close, closed] = [smb1::request, smb1::response].map(|make| make(smb1::CLOSE, 300, mid + 1).bytes());
        talk.0.send(&mut talk.1, Side::Client, &nbss(&close));
        talk.0.send(&mut talk.1, Side::Server, &nbss(&closed));
    };
    logs_on(1, &authenticate(b"anna"));
    logs_on(3, b"a Kerberos token");
    let users: Vec<_> = named(&talk.observe(), "CLOSE").iter().map(|[user, ..]| user.map(str::to_owned)).collect();
    assert_eq!(users, [Some("anna".to_owned()), None]);
}

/// The server restarted, or numbers the sessions of each connection on its own. The capture lost the request of the second client, which
/// logged on before the first one asked, or after.
#[test]
fn a_response_with_an_async_id_ends_no_request_of_another_clients_session() {
    for is_before in [false, true] {
        let mut talk = Talk::new();
        let begins = |talk: &mut Talk| {
            let first = talk.changes_client();
            talk.logs_on(1, &authenticate(b"bob"));
            std::mem::replace(&mut talk.1, first)
        };
        talk.logs_on(1, &authenticate(b"alice"));
        let before = is_before.then(|| begins(&mut talk));
        talk.asks(&smb2::read(2, smb2::file(1), 100).session(SESSION));
        let interim = smb2::response(command::READ, 2, smb2::PENDING).session(SESSION).asynchronous(905);
        talk.says(&interim.body(&[9, 0, 0, 0, 0, 0, 0, 0, 0]));
        talk.1 = before.unwrap_or_else(|| begins(&mut talk));
        talk.says(&smb2::read_answer(2, &[7; 100]).session(SESSION).asynchronous(905));
        let observed = talk.observe();
        let reads = observed.sink.iter().filter(|row| row.procedure.row().name == "READ");
        assert_eq!(reads.map(|row| row.outcome).collect::<Vec<_>>(), [Outcome::Unanswered], "before: {is_before}");
        assert_eq!(observed.coverage.anomalies.count(Anomaly::ResponseWithoutRequest), 1, "before: {is_before}");
    }
}
