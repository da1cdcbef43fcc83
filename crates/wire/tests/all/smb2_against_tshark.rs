//! Every request that a client sends, as tshark reads it: a second opinion on where each field goes.

// A skipped test says so.
#![allow(clippy::print_stdout)]

use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Side, Tcp, Traffic, nbss};
use plimsoll_wire::smb2::attributes::Times;
use plimsoll_wire::smb2::change_notify::ChangeNotify;
use plimsoll_wire::smb2::close::Close;
use plimsoll_wire::smb2::create::{Context, Create, Lease, OPLOCK_LEASE, OPTION_NON_DIRECTORY};
use plimsoll_wire::smb2::information::{CLASS_NETWORK_OPEN, FileBasic};
use plimsoll_wire::smb2::ioctl::{self, fsctl};
use plimsoll_wire::smb2::lock::{Element, FLAG_EXCLUSIVE, FLAG_FAIL_IMMEDIATELY, Lock, LockFlags};
use plimsoll_wire::smb2::negotiate::{CAP_LARGE_MTU, Negotiate, Offer, SIGNING_ENABLED};
use plimsoll_wire::smb2::oplock_break::Acknowledge;
use plimsoll_wire::smb2::query_directory::{Class, FLAG_RESTART, QueryDirectory};
use plimsoll_wire::smb2::query_info::{InfoType, QueryInfo};
use plimsoll_wire::smb2::set_info::{Change, SetInfo};
use plimsoll_wire::smb2::{Call, FileId, Head, cancel, empty_body, flush, read, session_setup, tree_connect, write};
use std::process::Command;

const FILE: FileId = FileId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
/// How tshark shows [`FILE`].
const FID: (&str, &str) = ("smb2.fid", "04030201-0605-0807-090a-0b0c0d0e0f10");
const GUID: [u8; 16] = [0x11; 16];

/// A request, and tshark's expected output: fields, each with all its values.
struct Said {
    bytes: Vec<u8>,
    fields: Vec<(&'static str, &'static str)>,
}

/// Requests, each in a separate segment.
#[derive(Default)]
struct Talk(Vec<Said>);

impl Talk {
    fn head(&self) -> Head {
        let message_id = self.0.len() as u64;
        Head { charge: 2, credits: 33, message_id, tree_id: 5, session_id: 0x1122, ..Head::default() }
    }

    /// `fields` are `NAME=VALUE`, and `FID` for that of [`FILE`].
    fn say(&mut self, call: &impl Call, fields: &'static str) {
        let mut bytes = Vec::new();
        call.emit(&self.head(), &mut bytes).unwrap();
        let fields = fields.split_whitespace().map(|field| field.split_once('=').unwrap_or(FID)).collect();
        self.0.push(Said { bytes, fields });
    }

    /// The capture's file, and tshark's output: one line per request, one column per field.
    fn shown(&self, fields: &[&str]) -> Vec<Vec<String>> {
        let mut traffic = Traffic::default();
        let mut tcp = Tcp::between_ports(50_000, 445);
        for said in &self.0 {
            traffic.send(&mut tcp, Side::Client, &nbss(&said.bytes));
        }
        let scratch = Scratch::new("smb2-requests");
        let path = scratch.file("requests.pcap", traffic.pcap());
        let mut command = Command::new("tshark");
        command.args(["-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=;", "-r"]);
        command.arg(&path);
        fields.iter().for_each(|field| {
            command.args(["-e", field]);
        });
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }
}

#[test]
fn tshark_reads_what_was_said() {
    if Command::new("tshark").arg("--version").output().is_err() {
        plimsoll_testkit::skip("needs tshark");
        return;
    }
    let mut talk = Talk::default();
    logon(&mut talk);
    opens(&mut talk);
    data(&mut talk);
    information(&mut talk);
    controls(&mut talk);
    // What tshark cannot make sense of it says in one of these; a request without an answer is no matter here.
    let mut fields = vec!["_ws.malformed", "_ws.expert.message", "smb2.msg_id", "smb2.credit.charge"];
    fields.extend(["smb2.credits.requested", "smb2.sesid"]);
    fields.extend(talk.0.iter().flat_map(|said| &said.fields).map(|(field, _)| *field));
    fields.sort_unstable();
    fields.dedup();
    let lines = talk.shown(&fields);
    assert_eq!(lines.len(), talk.0.len());
    let mut wrong = Vec::new();
    for (number, (line, said)) in lines.iter().zip(&talk.0).enumerate() {
        let id = number.to_string();
        let own_head = said.fields.iter().any(|(field, _)| *field == "smb2.msg_id");
        let heads = [
            ("smb2.msg_id", id.as_str()),
            ("smb2.credit.charge", "2"),
            ("smb2.credits.requested", "33"),
            ("smb2.sesid", "0x0000000000001122"),
        ];
        let heads = heads.into_iter().filter(|_| !own_head);
        let clean = [("_ws.malformed", ""), ("_ws.expert.message", "")];
        for (field, expected) in said.fields.iter().copied().chain(heads).chain(clean) {
            let column = fields.iter().position(|one| *one == field).unwrap();
            let shown = line.get(column).map_or("", String::as_str);
            if shown != expected {
                wrong.push(format!("request {number}: {field} is {shown:?} there, {expected:?} here"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    println!("{} requests, {} fields each at most", talk.0.len(), fields.len());
}

fn logon(talk: &mut Talk) {
    let contexts = Offer { salt: &[0xAB; 32], ciphers: &[2, 1], signing: &[2, 1], server: "srv" };
    let negotiate = Negotiate {
        dialects: &[0x0210, 0x0311],
        security_mode: SIGNING_ENABLED,
        capabilities: CAP_LARGE_MTU,
        client_guid: GUID,
        contexts,
    };
    talk.say(
        &negotiate,
        "smb2.cmd=0 smb2.dialect=0x0210;0x0311 smb2.client_guid=11111111-1111-1111-1111-111111111111 \
         smb2.capabilities=0x00000004 smb2.sec_mode=0x01 smb2.negotiate_context.count=4 \
         smb2.negotiate_context.type=0x0001;0x0002;0x0008;0x0005 smb2.negotiate_context.hash_algorithm=0x0001 \
         smb2.negotiate_context.salt_length=32 smb2.negotiate_context.cipher_id=0x0002;0x0001 \
         smb2.negotiate_context.signing_id=0x0002;0x0001 smb2.negotiate_context.netname=srv",
    );
    let setup = session_setup::SessionSetup {
        flags: 1,
        security_mode: 2,
        capabilities: 1,
        previous_session_id: 0x77,
        security_buffer: b"",
    };
    talk.say(
        &setup,
        "smb2.cmd=1 smb2.ses_req_flags=1 smb2.sec_mode=0x02 smb2.capabilities=0x00000001 \
         smb2.previous_sesid=0x0000000000000077",
    );
    let path = r"\\srv\share";
    talk.say(&tree_connect::TreeConnect { path }, r"smb2.cmd=3 smb2.tree=\\srv\share");
    talk.say(&empty_body::Echo, "smb2.cmd=13 smb2.tid=0x00000005");
    talk.say(&empty_body::TreeDisconnect, "smb2.cmd=4");
    talk.say(&empty_body::Logoff, "smb2.cmd=2");
    talk.say(&cancel::Cancel { async_id: Some(0x1234) }, "smb2.cmd=12 smb2.aid=0x0000000000001234");
}

fn opens(talk: &mut Talk) {
    let lease = Context::Lease2 { lease: Lease { key: GUID, state: 7 }, parent: Some([0x22; 16]), epoch: 9 };
    let durable = Context::Durable2 { timeout_ms: 60_000, persistent: true, guid: [0x33; 16] };
    let contexts = [Context::MaximalAccess, Context::DiskId, lease, durable, Context::AllocationSize(4096)];
    let call =
        Create { oplock: OPLOCK_LEASE, attributes: 0x80, options: OPTION_NON_DIRECTORY, ..Create::reading("a/b") };
    talk.say(
        &Create { contexts: &contexts, ..call },
        r"smb2.cmd=5 smb2.filename=a\b smb2.create.oplock=0xff smb2.impersonation.level=2 smb.access_mask=0x00120089
         smb2.file_attribute=0x00000080 smb.share_access=0x00000007 smb2.create.disposition=1
         smb.create_options=0x00000040 smb2.tag=MxAc;QFid;RqLs;DH2Q;AlSi
         smb2.lease.lease_key=11111111-1111-1111-1111-111111111111 smb2.lease.lease_state=0x00000007
         smb2.lease.lease_flags=0x00000004 smb2.lease.lease_oplock=0x0009 smb2.dh2x.timeout=60000
         smb2.dh2x.flags=0x00000002 smb2.dh2x.create_guid=33333333-3333-3333-3333-333333333333",
    );
    talk.say(&Create { name: "", ..call }, "smb2.cmd=5 smb2.create.disposition=1");
}

fn data(talk: &mut Talk) {
    talk.say(&Close { file: FILE, attributes: true }, "smb2.cmd=6 FID smb2.close.flags=0x0001");
    talk.say(&flush::Flush { file: FILE }, "smb2.cmd=7 FID");
    let read = read::Read { file: FILE, offset: 1 << 33, length: 65_537, minimum: 3, flags: 1 };
    talk.say(
        &read,
        "smb2.cmd=8 FID smb2.file_offset=8589934592 smb2.read_length=65537 smb2.min_count=3 smb2.read_flags=0x01 \
         smb2.read_padding=0x50",
    );
    let write = write::Write { file: FILE, offset: 7, length: 5, flags: write::FLAG_WRITE_THROUGH };
    talk.say(&write, "smb2.cmd=9 FID smb2.file_offset=7 smb2.write_length=5 smb2.write.flags=0x00000001");
    if let Some(said) = talk.0.last_mut() {
        said.bytes.extend(b"12345");
        said.fields.push(("data.data", "3132333435"));
    }
    let flags = LockFlags(FLAG_EXCLUSIVE | FLAG_FAIL_IMMEDIATELY);
    let elements = [Element { offset: 9, length: 100, flags }, Element { offset: 1 << 40, length: 1, flags }];
    talk.say(
        &Lock { file: FILE, sequence: 0, elements: &elements },
        "smb2.cmd=10 FID smb2.lock_count=2 smb2.file_offset=9;1099511627776 smb2.lock_length=100;1 \
         smb2.lock_flags=0x00000012;0x00000012",
    );
    talk.say(&Acknowledge::Oplock { file: FILE, level: 1 }, "smb2.cmd=18 FID smb2.create.oplock=0x01");
    talk.say(
        &Acknowledge::Lease(Lease { key: GUID, state: 3 }),
        "smb2.cmd=18 smb2.lease.lease_key=11111111-1111-1111-1111-111111111111 smb2.lease.lease_state=0x00000003",
    );
}

fn information(talk: &mut Talk) {
    let query =
        QueryInfo { file: FILE, info_type: InfoType::File, class: CLASS_NETWORK_OPEN, additional: 0, output_len: 4096 };
    talk.say(&query, "smb2.cmd=16 FID smb2.class=0x01 smb2.file_info.infolevel=0x22 smb2.max_response_size=4096");
    let set = |change| SetInfo { file: FILE, change };
    talk.say(
        &set(Change::Rename { name: "dir/new", replace: true }),
        r"smb2.cmd=17 FID smb2.file_info.infolevel=0x0a smb2.rename.replace_if=1 smb2.filename=dir\new",
    );
    talk.say(&set(Change::EndOfFile(77)), "smb2.cmd=17 smb.end_of_file=77");
    talk.say(&set(Change::Disposition { delete: true }), "smb2.cmd=17 smb2.disposition.delete_on_close=1");
    let times = Times { last_write: 132_000_000_000_000_000, ..Times::default() };
    talk.say(
        &set(Change::Basic(FileBasic { times, attributes: 0x20 })),
        "smb2.cmd=17 smb2.file_info.infolevel=0x04 smb2.file_attribute=0x00000020",
    );
    let list = QueryDirectory {
        directory: FILE,
        class: Class::IdBothDirectory,
        flags: FLAG_RESTART,
        index: 0,
        pattern: "*.txt",
        output_len: 65_536,
    };
    talk.say(
        &list,
        "smb2.cmd=14 FID smb2.find.infolevel=37 smb2.find.flags=0x01 smb2.find.pattern=*.txt \
         smb2.output_buffer_len=65536",
    );
    let watch = ChangeNotify { directory: FILE, tree: true, filter: 0x17, output_len: 1000 };
    talk.say(
        &watch,
        "smb2.cmd=15 FID smb2.notify.flags=0x0001 smb2.output_buffer_len=1000 \
         smb.nt.notify.completion_filter=0x00000017",
    );
}

fn controls(talk: &mut Talk) {
    let control = |control| ioctl::Ioctl { file: FILE, control, max_output: 1024 };
    talk.say(
        &control(fsctl::Control::RequestResumeKey),
        "smb2.cmd=11 FID smb2.ioctl.is_fsctl=1 smb2.ioctl.function=0x00140078 smb2.max_ioctl_out_size=1024",
    );
    let chunks = [fsctl::Chunk { source: 1, target: 2, length: 3 }, fsctl::Chunk { source: 4, target: 5, length: 6 }];
    let source = fsctl::ResumeKey([7; 24]);
    talk.say(
        &control(fsctl::Control::CopyChunk { source, chunks: &chunks, write_only: false }),
        "smb2.cmd=11 smb2.ioctl.is_fsctl=1 smb2.ioctl.function=0x001440f2 \
         smb2.fsctl.cchunk.resume_key=070707070707070707070707070707070707070707070707 smb2.fsctl.cchunk.count=2 \
         smb2.fsctl.cchunk.src_offset=1;4 smb2.fsctl.cchunk.dst_offset=2;5 smb2.fsctl.cchunk.xfer_len=3;6",
    );
    let dialects = [0x0210, 0x0300];
    talk.say(
        &control(fsctl::Control::ValidateNegotiate {
            capabilities: 4,
            guid: GUID,
            security_mode: 1,
            dialects: &dialects,
        }),
        "smb2.cmd=11 smb2.ioctl.is_fsctl=1 smb2.ioctl.function=0x00140204 smb2.capabilities=0x00000004 \
         smb2.client_guid=11111111-1111-1111-1111-111111111111 smb2.dialect=0x0210;0x0300",
    );
    talk.say(
        &control(fsctl::Control::NetworkInterfaces),
        "smb2.cmd=11 smb2.ioctl.is_fsctl=1 smb2.ioctl.function=0x001401fc",
    );
}
