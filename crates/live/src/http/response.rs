//! A response, and its restrictions for browsers.

use std::sync::Arc;

/// The status.
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
    /// The content security policy of a page; all other content forbids everything.
    policy: Option<&'static str>,
    pub(super) body: Arc<[u8]>,
}

impl Response {
    pub(in super::super) fn new(content_type: &'static str, body: Arc<[u8]>) -> Self {
        Self { status: Status::Ok, content_type, policy: None, body }
    }

    /// A status with a reason in words.
    pub(in super::super) fn says(status: Status, why: &str) -> Self {
        let body = format!("{why}\n").into_bytes().into();
        Self { status, content_type: "text/plain; charset=utf-8", policy: None, body }
    }

    /// The same response with this policy.
    pub(in super::super) fn with_policy(self, policy: &'static str) -> Self {
        Self { policy: Some(policy), ..self }
    }

    pub(super) fn head(&self) -> String {
        let length = format!("Content-Length: {}\r\n", self.body.len());
        let allow = if self.status == Status::MethodNotAllowed { "Allow: GET, HEAD\r\n" } else { "" };
        head(self.status, self.content_type, self.policy, &format!("{length}{allow}"))
    }
}

/// The head of a response without an end.
pub(super) fn stream_head(content_type: &str) -> String {
    head(Status::Ok, content_type, None, "")
}

/// Forbids embedding, storing and content sniffing, and sends no Referer, because the address contains the token.
fn head(status: Status, content_type: &str, policy: Option<&str>, more: &str) -> String {
    let policy = policy.unwrap_or("default-src 'none'; frame-ancestors 'none'");
    format!(
        "HTTP/1.1 {}\r\nContent-Type: {content_type}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Content-Security-Policy: {policy}\r\n{more}\r\n",
        status.line()
    )
}
