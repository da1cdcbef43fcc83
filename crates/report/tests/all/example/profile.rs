//! Samples of a server, made by hand. Names of functions come from the program that was sampled.

use plimsoll_report::findings::profile::*;

/// Two calls; one function has no symbol, and one a name that is markup and moves the cursor.
pub(crate) fn profile() -> Profile {
    let call = |call: &str, samples, without_symbol| ProfiledCall { call: call.into(), samples, without_symbol };
    let kind = |kind: &str, samples: [u64; 2]| ProfiledKind { kind: kind.into(), samples: samples.to_vec() };
    let function = |name: Option<&str>, module: &str, samples: [u64; 2]| {
        let (name, module) = (name.map(str::to_owned), Some(module.to_owned()));
        ProfiledFunction { name, module, samples: samples.to_vec() }
    };
    let frame = |depth, name: Option<&str>, module: Option<&str>, samples| {
        let (name, module) = (name.map(str::to_owned), module.map(str::to_owned));
        StackFrame { depth, name, module, samples }
    };
    let (smbd, hostile) = (Some("smbd"), "<script>alert(7)</script>\u{1b}[2J\u{202e}");
    Profile {
        side: "server".into(),
        processes: "process 4711 and its children".into(),
        samples_per_s: 499,
        calls: vec![call("getattr", 60, 0), call("ahead", 40, 5)],
        kinds: vec![kind("program", [45, 10]), kind("kernel: network", [15, 10]), kind("kernel: files", [0, 20])],
        functions: vec![
            function(Some(hostile), "smbd", [45, 5]),
            function(Some("tcp_sendmsg"), KERNEL, [15, 10]),
            function(Some("filemap_read"), KERNEL, [0, 20]),
            function(None, "smbd", [0, 5]),
        ],
        other_functions: 0,
        frames: vec![
            frame(0, Some("getattr"), None, 60),
            frame(1, Some(hostile), smbd, 60),
            frame(2, Some("tcp_sendmsg"), Some(KERNEL), 15),
            frame(0, Some("ahead"), None, 40),
            frame(1, Some(hostile), smbd, 35),
            frame(2, Some("filemap_read"), Some(KERNEL), 20),
            frame(2, Some("tcp_sendmsg"), Some(KERNEL), 10),
            frame(1, None, smbd, 5),
        ],
    }
}
