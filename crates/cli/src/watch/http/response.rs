//! A response, and what a browser may do with it.

use std::sync::Arc;

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Status {
    Ok,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    HeadTooLarge,
    Unavailable,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(in super::super) struct Response {
    pub(super) status: Status,
    content_type: &'static str,
    pub(super) body: Arc<[u8]>,
}

impl Response {
    pub(in super::super) fn new(content_type: &'static str, body: Arc<[u8]>) -> Self {
        Self { status: Status::Ok, content_type, body }
    }

    /// A status, and for people why.
    pub(in super::super) fn says(status: Status, why: &str) -> Self {
        let body = format!("{why}\n").into_bytes().into();
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }

    /// Nobody else may embed, store or guess what it is.
    pub(super) fn head(&self) -> String {
        let allow = if self.status == Status::MethodNotAllowed { "Allow: GET, HEAD\r\n" } else { "" };
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n{allow}\r\n",
            self.status.line(),
            self.content_type,
            self.body.len()
        )
    }
}
