//! The state that all connections share.

use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::message::LongMessages;
use crate::names::Handles;
use crate::pairing::Output;
use crate::pairing::smb2::Smb2Shared;
use crate::stream::HoldBudget;
use crate::tracer::Tracer;

/// State shared by all connections.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = "S: Default"))]
pub(crate) struct Shared<S> {
    pub(crate) output: Output<S>,
    pub(crate) handles: Handles,
    pub(crate) smb2: Smb2Shared,
    pub(crate) account: Account,
    /// Memory for segments that wait behind holes.
    pub(crate) hold_budget: HoldBudget,
    /// Memory for long messages.
    pub(crate) long_messages: LongMessages,
    /// Learns where packets and messages stand, for a second pass over the capture.
    #[serde(skip)]
    pub(crate) tracer: Option<Box<dyn Tracer + Send>>,
}

impl<S> Shared<S> {
    pub(crate) fn new(output: Output<S>) -> Self {
        Self {
            output,
            handles: Handles::default(),
            smb2: Smb2Shared::default(),
            account: Account::default(),
            hold_budget: HoldBudget::default(),
            long_messages: LongMessages::default(),
            tracer: None,
        }
    }

    /// The same with another sink.
    pub(crate) fn with_sink<T>(self, sink: T) -> Shared<T> {
        let Self { output, handles, smb2, account, hold_budget, long_messages, tracer } = self;
        Shared { output: output.with_sink(sink), handles, smb2, account, hold_budget, long_messages, tracer }
    }
}
