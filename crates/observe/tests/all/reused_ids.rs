//! SMB2 ids that servers use again, for another user or another file.

use plimsoll_model::Transaction;
use plimsoll_observe::capture::{Frame, LinkType};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::smb2::{self, command};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss};

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

    fn echo(&mut self, id: u64) {
        self.asks(&smb2::echo(id).session(SESSION));
        self.says(&smb2::echoed(id).session(SESSION));
    }

    fn observe(self) -> Observed<Vec<Transaction>> {
        let mut observer = Observer::new(Vec::new());
        for (number, frame) in (1..).zip(&self.0.frames) {
            let (time_ns, link) = (Some(frame.time_ns), LinkType::Ethernet);
            observer.frame(&Frame { number, time_ns, link, captured: &frame.bytes, original_len: frame.original_len });
        }
        observer.finish()
    }
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
