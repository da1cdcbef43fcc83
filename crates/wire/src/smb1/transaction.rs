//! Transactions: requests and answers that are cut into several messages, each with a part of the parameters and the data.
//! Spec: MS-CIFS 2.2.4.33, 2.2.4.34, 2.2.4.46, 2.2.4.47, 2.2.4.62, 2.2.4.63

use super::andx::Link;
use super::command;
use super::fields::{clipped, u16_at, u32_at};
use super::string::{Reader, SmbString};
use super::subcommand::nt;

/// Where the fields are in the words of one kind of message, in bytes.
struct Layout {
    /// Whether counts, offsets and displacements have 32 bits, otherwise 16.
    wide: bool,
    parameters: Places,
    data: Places,
    setup_count: Option<usize>,
    function: Option<usize>,
}

/// Where the four numbers of the parameters, or of the data, are.
struct Places {
    total: usize,
    count: usize,
    offset: usize,
    displacement: Option<usize>,
}

impl Places {
    const fn new(total: usize, count: usize, offset: usize, displacement: Option<usize>) -> Self {
        Self { total, count, offset, displacement }
    }
}

/// MS-CIFS 2.2.4.33.1, 2.2.4.46.1.
const REQUEST: Layout = Layout {
    wide: false,
    parameters: Places::new(0, 18, 20, None),
    data: Places::new(2, 22, 24, None),
    setup_count: Some(26),
    function: Some(28),
};
/// MS-CIFS 2.2.4.34.1, 2.2.4.47.1.
const SECONDARY: Layout = Layout {
    wide: false,
    parameters: Places::new(0, 4, 6, Some(8)),
    data: Places::new(2, 10, 12, Some(14)),
    setup_count: None,
    function: None,
};
/// MS-CIFS 2.2.4.33.2, 2.2.4.46.2.
const RESPONSE: Layout = Layout {
    wide: false,
    parameters: Places::new(0, 6, 8, Some(10)),
    data: Places::new(2, 12, 14, Some(16)),
    setup_count: Some(18),
    function: None,
};
/// MS-CIFS 2.2.4.62.1.
const NT_REQUEST: Layout = Layout {
    wide: true,
    parameters: Places::new(3, 19, 23, None),
    data: Places::new(7, 27, 31, None),
    setup_count: Some(35),
    function: Some(36),
};
/// MS-CIFS 2.2.4.63.1; the response (2.2.4.62.2) has a setup count behind it.
const NT_SECONDARY: Layout = Layout {
    wide: true,
    parameters: Places::new(3, 11, 15, Some(19)),
    data: Places::new(7, 23, 27, Some(31)),
    setup_count: None,
    function: None,
};
/// MS-CIFS 2.2.4.62.2.
const NT_RESPONSE: Layout = Layout { setup_count: Some(35), ..NT_SECONDARY };

/// Bytes from SetupCount to Setup in TRANSACTION and TRANSACTION2; NT_TRANSACT has its function there in a request.
const SETUP_AFTER_COUNT: usize = 2;
const NT_REQUEST_SETUP: usize = 38;
const NT_RESPONSE_SETUP: usize = 36;
/// FID, in the words of a TRANSACTION2_SECONDARY.
const SECONDARY_FID: usize = 16;
/// Timeout in milliseconds, in the words of a TRANSACTION or TRANSACTION2 request.
const TIMEOUT: usize = 12;

/// One message's part of the parameters, or of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Bytes in all messages together, as this message says (a later message may lower it).
    pub total: u32,
    /// Bytes in this message, as it says.
    pub count: u32,
    /// Bytes before them in earlier messages, as this message says.
    pub displacement: u32,
    /// Bytes from the start of the header to the part.
    pub offset: u32,
    /// The captured bytes of the part.
    pub bytes: &'a [u8],
}

impl Part<'_> {
    /// Whether everything is in this part.
    pub fn is_complete(&self) -> bool {
        self.displacement == 0 && self.count >= self.total
    }

    /// Whether the last byte is in this part.
    pub fn reaches_end(&self) -> bool {
        self.displacement.saturating_add(self.count) >= self.total
    }
}

/// One message of a transaction: a request, a secondary request, or a response.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    link: Link<'a>,
    /// Its part of the parameters.
    pub parameters: Part<'a>,
    /// Its part of the data.
    pub data: Part<'a>,
    setup: &'a [u8],
    setup_count: Option<u8>,
    function: Option<u16>,
}

impl<'a> Transaction<'a> {
    /// The view of a link; `None` if it is no transaction message, or its counts are not all there (an interim answer
    /// and an error have none).
    pub fn new(link: &Link<'a>) -> Option<Self> {
        let layout = layout(link)?;
        let setup_count = layout.setup_count.and_then(|at| link.u8(at));
        let setup_at = match (layout.wide, link.is_response()) {
            (true, false) => NT_REQUEST_SETUP,
            (true, true) => NT_RESPONSE_SETUP,
            (false, _) => layout.setup_count.map_or(usize::MAX, |at| at + SETUP_AFTER_COUNT),
        };
        let setup = clipped(link.words, setup_at, usize::from(setup_count.unwrap_or(0)) * 2);
        // RAP has no setup words: what stands there is no function (MS-RAP 2.5.1 has its opcode in the parameters).
        let has_function = layout.wide || setup_count != Some(0);
        let function = layout.function.filter(|_| has_function).and_then(|at| link.u16(at));
        Some(Self {
            link: *link,
            parameters: part(link, &layout, &layout.parameters)?,
            data: part(link, &layout, &layout.data)?,
            setup,
            setup_count,
            function,
        })
    }

    /// Setup words of this message, as it says; `None` where a message has none or it was cut.
    pub fn setup_count(&self) -> Option<u8> {
        self.setup_count
    }

    /// The setup word at an index.
    pub fn setup(&self, index: usize) -> Option<u16> {
        u16_at(self.setup, index.checked_mul(2)?)
    }

    /// Function code of a request, see [`super::subcommand`]: the first setup word of TRANSACTION (for RAP there is
    /// none) and TRANSACTION2, the function of NT_TRANSACT. Secondary requests and responses do not repeat it.
    pub fn function(&self) -> Option<u16> {
        self.function
    }

    /// Whether this message carries all parameters and all data.
    pub fn is_complete(&self) -> bool {
        self.parameters.is_complete() && self.data.is_complete()
    }

    /// Whether this message carries the end of the transaction: enough when messages before it were lost. Parameters go
    /// before data, so a message with data alone comes after them. See [`Progress`] when all messages were seen.
    pub fn reaches_end(&self) -> bool {
        let parameters_done = self.parameters.reaches_end() || (self.parameters.count == 0 && self.data.count > 0);
        parameters_done && self.data.reaches_end()
    }

    /// The name that a TRANSACTION request is for (`\PIPE\…`, `\MAILSLOT\…`).
    pub fn name(&self) -> Option<SmbString<'a>> {
        if self.link.command != command::TRANSACTION || !self.link.is_request() {
            return None;
        }
        self.link.reader()?.string()
    }

    /// How long the server may wait, in milliseconds (0 not at all, 0xFFFFFFFF for ever): first requests but NT_TRANSACT.
    pub fn timeout_ms(&self) -> Option<u32> {
        let first = matches!(self.link.command, command::TRANSACTION | command::TRANSACTION2);
        if first && self.link.is_request() { self.link.u32(TIMEOUT) } else { None }
    }

    /// FID, where this message names one: named pipe calls (second setup word; MS-CIFS 2.2.5), TRANSACTION2_SECONDARY,
    /// and the functions of NT_TRANSACT on an open file (2.2.7). For TRANSACTION2 see [`super::trans2`].
    pub fn fid(&self) -> Option<u16> {
        if !self.link.is_request() {
            return None;
        }
        match self.link.command {
            command::TRANSACTION => {
                self.name().filter(|name| name.starts_with_ignore_case("\\PIPE\\"))?;
                // WAIT and CALL are for the name: their second setup word is a priority.
                let by_name = [super::subcommand::pipe::WAIT_NMPIPE, super::subcommand::pipe::CALL_NMPIPE];
                if by_name.contains(&self.function?) { None } else { self.setup(1) }
            }
            command::TRANSACTION2_SECONDARY => self.link.u16(SECONDARY_FID),
            command::NT_TRANSACT => match self.function? {
                nt::IOCTL | nt::NOTIFY_CHANGE => u16_at(self.setup, 4),
                nt::SET_SECURITY_DESC
                | nt::QUERY_SECURITY_DESC
                | nt::RENAME
                | nt::GET_USER_QUOTA
                | nt::SET_USER_QUOTA => u16_at(self.parameters.bytes, 0),
                _ => None,
            },
            _ => None,
        }
    }

    /// Path of an NT_TRANSACT CREATE request (MS-CIFS 2.2.7.1.1): relative to another FID if that is not 0.
    pub fn nt_create_path(&self) -> Option<SmbString<'a>> {
        const NAME_LENGTH: usize = 44;
        const NAME: usize = 53;
        if self.link.command != command::NT_TRANSACT || !self.link.is_request() || self.function != Some(nt::CREATE) {
            return None;
        }
        let length = u32_at(self.parameters.bytes, NAME_LENGTH)?;
        self.parameter_reader(NAME)?.string_of(usize::try_from(length).ok()?)
    }

    /// The FID in the answer to an NT_TRANSACT CREATE (MS-CIFS 2.2.7.1.2). The response does not name its request: the caller knows it.
    pub fn nt_created_fid(&self) -> Option<u16> {
        const FID: usize = 2;
        let is_answer = self.link.is_response() && self.link.command == command::NT_TRANSACT;
        if is_answer && self.parameters.displacement == 0 { u16_at(self.parameters.bytes, FID) } else { None }
    }

    pub(super) fn link(&self) -> &Link<'a> {
        &self.link
    }

    /// Reads from an offset in the parameters of this message.
    pub(super) fn parameter_reader(&self, at: usize) -> Option<Reader<'a>> {
        let start = usize::try_from(self.parameters.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.parameters.count).ok()?)?;
        let at = start.checked_add(at)?;
        let unicode = self.link.header().unicode()?;
        (at <= end && self.parameters.displacement == 0).then(|| Reader::new(self.link.message(), at, end, unicode))
    }
}

/// Whether a response says only that the further parts of a request may be sent: no words, no error.
/// Spec: MS-CIFS 2.2.4.33.2. An error ends the transaction instead.
pub fn is_interim(link: &Link<'_>) -> bool {
    let is_transaction = matches!(link.command, command::TRANSACTION | command::TRANSACTION2 | command::NT_TRANSACT);
    let success = link.header().status().is_some_and(|status| status.is_success());
    is_transaction && link.is_response() && link.is_empty() && success
}

/// Bytes seen so far of a transaction in several messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    parameters: u64,
    data: u64,
}

impl Progress {
    /// A transaction with these numbers of parameter and data bytes.
    pub fn of_bytes((parameters, data): (u64, u64)) -> Self {
        Self { parameters, data }
    }

    /// Bytes of parameters and of data.
    pub fn bytes(&self) -> (u64, u64) {
        (self.parameters, self.data)
    }

    /// Adds a message, once each; whether the transaction is complete with it.
    pub fn add(&mut self, message: &Transaction<'_>) -> bool {
        self.parameters += u64::from(message.parameters.count);
        self.data += u64::from(message.data.count);
        self.parameters >= u64::from(message.parameters.total) && self.data >= u64::from(message.data.total)
    }
}

fn layout(link: &Link<'_>) -> Option<Layout> {
    let answer = link.is_response();
    match link.command {
        command::TRANSACTION | command::TRANSACTION2 => Some(if answer { RESPONSE } else { REQUEST }),
        command::NT_TRANSACT => Some(if answer { NT_RESPONSE } else { NT_REQUEST }),
        command::TRANSACTION_SECONDARY | command::TRANSACTION2_SECONDARY if !answer => Some(SECONDARY),
        command::NT_TRANSACT_SECONDARY if !answer => Some(NT_SECONDARY),
        _ => None,
    }
}

fn part<'a>(link: &Link<'a>, layout: &Layout, places: &Places) -> Option<Part<'a>> {
    let number = |at| if layout.wide { link.u32(at) } else { link.u16(at).map(u32::from) };
    let (total, count, offset) = (number(places.total)?, number(places.count)?, number(places.offset)?);
    let displacement = match places.displacement {
        Some(at) => number(at)?,
        None => 0,
    };
    let bytes = clipped(link.message(), usize::try_from(offset).ok()?, usize::try_from(count).ok()?);
    Some(Part { total, count, displacement, offset, bytes })
}

#[cfg(test)]
pub(super) mod tests;
