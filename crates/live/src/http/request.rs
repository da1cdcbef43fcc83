//! The head of a request.

use std::net::IpAddr;

/// Maximum size of a head, bytes.
pub(super) const MAX_HEAD: usize = 8 * 1024;
const MAX_HEADERS: usize = 64;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(in super::super) path: String,
    pub(super) host: Option<String>,
    pub(super) origin: Option<String>,
    /// The number of the last event that the browser has received of a stream, from `Last-Event-ID`.
    pub(in super::super) last_event: Option<u64>,
}

/// Result of parsing a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Request(Request),
    /// The head is incomplete.
    Partial,
    Invalid,
}

/// Parses a head.
pub(super) fn parse(bytes: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Head::Partial,
        Err(_) => return Head::Invalid,
    }
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else { return Head::Invalid };
    let header = |name: &str| {
        let mut all = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        let value = all.next().map(|header| String::from_utf8_lossy(header.value).into_owned());
        // With two such headers, it is unclear which one applies.
        if all.next().is_some() { None } else { Some(value) }
    };
    let (Some(host), Some(origin)) = (header("host"), header("origin")) else { return Head::Invalid };
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    // If it is not a number, the browser gets the whole stream.
    let last_event = header("last-event-id").flatten().and_then(|number| number.parse().ok());
    Head::Request(Request { method: method.to_owned(), path: path.to_owned(), host, origin, last_event })
}

impl Request {
    /// Whether the Host header is an address. A name could be a DNS rebinding attack: a foreign name that resolves to this machine.
    pub(super) fn came_to_an_address(&self) -> bool {
        self.host.as_deref().is_some_and(|host| {
            let name = match host.strip_prefix('[') {
                Some(v6) => v6.split(']').next().unwrap_or_default(),
                None => host.rsplit_once(':').map_or(host, |(name, _)| name),
            };
            name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
        })
    }

    /// Whether the request does not come from a page of another origin.
    pub(super) fn is_of_this_origin(&self) -> bool {
        match (&self.origin, &self.host) {
            (None, _) => true,
            (Some(origin), Some(host)) => {
                origin.strip_prefix("http://").is_some_and(|of| of.eq_ignore_ascii_case(host))
            }
            (Some(_), None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Head::Request(request) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_head_is_taken_apart() {
        let text = "GET /a/b?c=d?e HTTP/1.1\r\nhOsT: localhost:9\r\nOrigin: http://localhost:9\r\n\r\nrest";
        let found = request(text);
        assert_eq!((found.method.as_str(), found.path.as_str()), ("GET", "/a/b"));
        assert!(found.came_to_an_address() && found.is_of_this_origin());
        assert_eq!(parse(&text.as_bytes()[..30]), Head::Partial);
        for (value, number) in [("17", Some(17)), ("-1", None), ("", None), ("18446744073709551616", None)] {
            let text = format!("GET / HTTP/1.1\r\nHost: a\r\nLast-Event-ID: {value}\r\n\r\n");
            assert_eq!(request(&text).last_event, number, "{value:?}");
        }
        assert_eq!(found.last_event, None);
        for invalid in ["GET\r\n\r\n", "\u{1}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"] {
            assert_eq!(parse(invalid.as_bytes()), Head::Invalid, "{invalid:?}");
        }
    }

    #[test]
    fn other_host_names_and_origins_are_detected() {
        for (host, here) in [
            ("127.0.0.1:80", true),
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("LOCALHOST", true),
            ("evil.example:80", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            let found = request(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(found.came_to_an_address(), here, "{host:?}");
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:80", "http://127.0.0.1:81"] {
            let found = request(&format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nOrigin: {origin}\r\n\r\n"));
            assert!(!found.is_of_this_origin(), "{origin}");
        }
        assert!(!request("GET / HTTP/1.0\r\n\r\n").came_to_an_address());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            parse(&bytes);
            parse(&[b"GET / HTTP/1.1\r\n".as_slice(), &bytes].concat());
        }
    }
}
