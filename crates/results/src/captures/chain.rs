//! Recordings that belong together: each of a file of the same capture.

use std::collections::BTreeMap;

use plimsoll_model::Reason;

use super::FileRecording;
use crate::record::Link;

/// The recordings of one capture's files, in order; of a capture in one file it is one.
pub(super) struct Chain<'r>(Vec<&'r FileRecording>);

impl<'r> Chain<'r> {
    /// The recording whose statistics cover the whole chain.
    pub(super) fn last(&self) -> &'r FileRecording {
        // It has one at least.
        self.0[self.0.len() - 1]
    }

    pub(super) fn recordings(&self) -> impl Iterator<Item = &'r FileRecording> {
        self.0.iter().copied()
    }
}

/// Sorts recordings into chains, in the order of their first packets; adds missing ones to `reasons`.
pub(super) fn chains<'r>(recordings: &'r [FileRecording], reasons: &mut Vec<Reason>) -> Vec<Chain<'r>> {
    let mut chains = Vec::new();
    let mut linked: BTreeMap<&str, Vec<(&FileRecording, &Link)>> = BTreeMap::new();
    for one in recordings {
        match &one.link {
            Some(link) => linked.entry(&link.chain).or_default().push((one, link)),
            None => chains.push(Chain(vec![one])),
        }
    }
    chains.extend(linked.into_values().map(|links| chain(links, reasons)));
    chains.sort_by_key(|chain| chain.0.first().map(|first| first.level.first_ns));
    chains
}

/// Puts links in order, from the last one back.
fn chain<'r>(mut links: Vec<(&'r FileRecording, &'r Link)>, reasons: &mut Vec<Reason>) -> Chain<'r> {
    links.sort_by_key(|(_, link)| link.number);
    let (mut chain, mut next): (Vec<&FileRecording>, Option<&Link>) = (Vec::new(), None);
    while let Some((one, link)) = links.pop() {
        let follows = match next {
            None => true,
            // The recording in between is missing.
            Some(next) if next.number > link.number + 1 => {
                reasons.push(missing(next.number - 1, link.number + 1, Some(&one.shown)));
                true
            }
            Some(next) => next.after.as_deref() == Some(link.id.as_str()),
        };
        if follows {
            chain.push(one);
            next = Some(link);
        } else {
            let (shown, number) = (&one.shown, link.number);
            let why = "the analysis of the next file did not continue from this file; analyse the later files again";
            reasons.push(Reason::invalid(format!("{shown} (file {number} of a capture) is not merged: {why}")));
        }
    }
    if let Some(first) = next.filter(|first| first.number > 1) {
        reasons.push(missing(first.number - 1, 1, None));
    }
    chain.reverse();
    Chain(chain)
}

/// `before`: the recording of the file before them, if there is one.
fn missing(last: u32, first: u32, before: Option<&str>) -> Reason {
    let which = match last - first {
        0 => format!("the recording of file {first} of a capture is missing"),
        _ => format!("the recordings of files {first} to {last} of a capture are missing"),
    };
    let before = before.map_or_else(String::new, |shown| format!(" (the recording of the previous file is {shown})"));
    Reason::invalid(format!(
        "{which}{before}: the report covers this part of the capture, because later recordings include its statistics, but intervals \
        and transaction rows lack it"
    ))
}
