//! An iteration: what is drawn for it, and how far it is.

use plimsoll_client::operation::FileKey;
use rand::Rng as _;

use super::ScriptRunner;
use super::next_action::NextAction;
use super::own_file::OwnFile;
use super::positions::Sequence;
use crate::distribution::Pick;
use crate::fileset::Directory;
use crate::program::{Amount, Transfer};
use crate::text::{At, Subject};
use crate::{Rng, seed_of};

/// An iteration that was begun.
#[derive(Debug)]
pub(super) struct Iteration {
    /// Which of the workload's iterations.
    pub(super) kind: usize,
    pub(super) on: Subject,
    /// The file or link, where the subject is one.
    pub(super) file: u64,
    /// The directory that the subject is, or is in.
    pub(super) directory: Directory,
    pub(super) step: usize,
    /// What is left of the transfer that the step is.
    pub(super) left: Option<Remaining>,
    pub(super) own: OwnFile,
    /// The directory, where the iteration has opened it.
    pub(super) folder: Option<FileKey>,
    /// It has connected to the share, it has logged on.
    pub(super) connected: bool,
    pub(super) logged_on: bool,
    /// Something failed: what was made is removed, then the iteration is over.
    pub(super) abandoned: bool,
}

/// What is left of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remaining {
    /// Requests.
    requests: u64,
    /// Where the next one begins, if they follow each other.
    pub(super) next: u64,
    /// Where they end.
    end: u64,
    /// Bytes between them, which other slots read.
    skip: u64,
    /// Of a sequence that goes on from iteration to iteration: which it is, and where it begins again after the file's end.
    round: Option<(Sequence, u64)>,
}

impl Remaining {
    /// A request moved so many bytes.
    pub(super) fn after(self, bytes: u32) -> Self {
        let next = self.next.saturating_add(u64::from(bytes)).saturating_add(self.skip);
        Self { requests: self.requests.saturating_sub(1), next, ..self }
    }

    /// The same at the file's beginning, where a sequence that goes on has come to the end.
    fn wrapped(self) -> Self {
        match self.round {
            Some((_, first)) if self.next >= self.end => Self { next: first, ..self },
            _ => self,
        }
    }
}

impl ScriptRunner {
    /// Draws the next iteration: its kind and its subject.
    pub(super) fn begin(&mut self) {
        self.begun += 1;
        self.rng = Rng::new(seed_of(self.seed, (self.begun >> 32) as u32, self.begun as u32));
        let kind = self.kind();
        let Some((on, pick)) = self.work.iterations.get(kind).map(|iteration| (iteration.on, iteration.pick)) else {
            return;
        };
        let layout = self.files.layout();
        let part = layout.part_of(self.client_index);
        let (mut file, mut directory) = (0, Directory { part, number: 0 });
        match on {
            Subject::File => {
                let (first, count) = layout.files_of(self.client_index);
                file = first + pick.draw(count, &mut self.rng);
                directory = layout.directory_of(file);
            }
            Subject::Link => {
                let (first, count) = layout.links_of(self.client_index);
                file = first + pick.draw(count, &mut self.rng);
                directory = layout.directory_of(layout.target_of(file));
            }
            Subject::Directory | Subject::Own => {
                let (first, count) = layout.working_directories();
                directory.number = first + pick.draw(count, &mut self.rng);
            }
        }
        self.path.clear();
        match on {
            Subject::File => self.files.file_path(file, &mut self.path),
            Subject::Link => self.files.link_path(file, &mut self.path),
            Subject::Directory | Subject::Own => self.files.directory_path(directory, &mut self.path),
        }
        // There are a few thousand kinds at most.
        self.kind = kind as u32;
        self.iteration = Some(Iteration {
            kind,
            on,
            file,
            directory,
            step: 0,
            left: None,
            own: OwnFile::default(),
            folder: None,
            connected: false,
            logged_on: false,
            abandoned: false,
        });
    }

    /// The next kind of iteration: dealt, or drawn by weight.
    fn kind(&mut self) -> usize {
        let place = (self.begun - 1).checked_rem(self.cards.len() as u64);
        if let Some(&card) = place.and_then(|place| self.cards.get(place as usize)) {
            return usize::from(card);
        }
        let all = self.work.weights.last().copied().unwrap_or(1);
        let drawn = self.rng.random_range(0..all.max(1));
        self.work.weights.partition_point(|sum| *sum <= drawn)
    }

    /// Whether a link of the set says this.
    pub(super) fn is_text_of_link(&self, text: &str) -> bool {
        let on_a_link = self.iteration.as_ref().filter(|iteration| iteration.on == Subject::Link);
        on_a_link.is_some_and(|iteration| text == self.files.layout().text_of_link(iteration.file))
    }

    /// The subject's key if it is open, else what must be done first.
    pub(super) fn opened(&mut self) -> Result<FileKey, NextAction> {
        let Some(iteration) = &self.iteration else { return Err(NextAction::IterationOver) };
        if iteration.on == Subject::Own {
            return iteration.own.key().ok_or(NextAction::OpenOwn);
        }
        if iteration.on == Subject::Directory {
            return iteration.folder.ok_or(NextAction::OpenFolder);
        }
        if let Some(key) = self.open.get(iteration.file) {
            return Ok(key);
        }
        if let Some((file, key)) = self.open.in_the_way() {
            self.open.forget(file);
            return Err(NextAction::CloseFile(file, key));
        }
        Err(NextAction::OpenFile(iteration.file))
    }

    pub(super) fn next_close(&mut self) -> Option<NextAction> {
        let iteration = self.iteration.as_mut()?;
        match iteration.on {
            Subject::Own => iteration.own.close(),
            Subject::Directory => iteration.folder.take().map(NextAction::Close),
            _ => self.open.forget(iteration.file).map(|key| NextAction::CloseFile(iteration.file, key)),
        }
    }

    /// Size of the subject, where it is a file.
    pub(super) fn expected_size(&self) -> Option<u64> {
        let iteration = self.iteration.as_ref()?;
        match iteration.on {
            Subject::File => Some(self.files.size(iteration.file)),
            Subject::Own => Some(iteration.own.size()).filter(|_| iteration.own.is_file()),
            Subject::Directory | Subject::Link => None,
        }
    }

    /// The least that a listing must bring: what belongs to the set.
    pub(super) fn least_entries(&self) -> u64 {
        let listed = self.iteration.as_ref().filter(|iteration| !iteration.own.is_directory());
        listed.map_or(0, |iteration| self.files.layout().entries(iteration.directory))
    }

    pub(super) fn next_read(&mut self, transfer: &Transfer) -> Option<NextAction> {
        let file = match self.opened() {
            Ok(key) => key,
            Err(first) => return Some(first),
        };
        let size = self.expected_size().unwrap_or(0);
        let offset = self.place((transfer, false), size, size)?;
        let keep = self.work.verify > 0.0 && self.rng.random::<f64>() < self.work.verify;
        let keep = keep && !self.iteration.as_ref().is_some_and(|iteration| iteration.own.has_holes());
        let expected = size.saturating_sub(offset).min(u64::from(transfer.size)) as u32;
        Some(NextAction::Read { file, key: self.content_key(), offset, length: transfer.size, expected, keep })
    }

    pub(super) fn next_write(&mut self, transfer: &Transfer) -> Option<NextAction> {
        let file = match self.opened() {
            Ok(key) => key,
            Err(first) => return Some(first),
        };
        let (size, own) = (self.expected_size().unwrap_or(0), self.iteration.as_ref()?.on == Subject::Own);
        // Files of the set keep their size; the slot's own may grow.
        let end = match transfer.amount {
            Amount::Count(_) if own => u64::MAX,
            _ => size,
        };
        let offset = self.place((transfer, true), size, end)?;
        let end = self.iteration.as_ref()?.left?.end;
        let length = end.saturating_sub(offset).min(u64::from(transfer.size)) as u32;
        Some(NextAction::Write { file, key: self.content_key(), offset, length, stable: transfer.stable })
    }

    /// Where the next request of a transfer begins in a file of `size` bytes; `None` when it is done. `end`: where it ends
    /// that has no total of its own.
    fn place(&mut self, (transfer, writes): (&Transfer, bool), size: u64, end: u64) -> Option<u64> {
        let iteration = self.iteration.as_mut()?;
        let left = match iteration.left {
            Some(left) => left,
            None => {
                let kind = self.work.iterations.get(iteration.kind)?;
                let (requests, end) = match transfer.amount {
                    Amount::Count(count) => (u64::from(count), end),
                    Amount::Whole => (u64::MAX, end),
                    Amount::Total(which) => (u64::MAX, kind.scale.of(kind.totals.get(which)?.draw(&mut self.rng))),
                };
                let (block, every) = (u64::from(transfer.size), u64::from(transfer.every.max(1)));
                let (first, skip) = (u64::from(self.slot) % every * block, (every - 1) * block);
                let sequence = (iteration.file, writes);
                let next = self.places.get(sequence).filter(|_| transfer.goes_on).unwrap_or(first);
                let round = transfer.goes_on.then_some((sequence, first));
                Remaining { requests, next, end, skip, round }
            }
        }
        .wrapped();
        iteration.left = Some(left);
        if left.requests == 0 {
            return None;
        }
        let blocks = size.div_ceil(u64::from(transfer.size));
        let pick = match transfer.at {
            At::Sequential if left.next >= left.end => return None,
            At::Sequential => {
                if let Remaining { round: Some((sequence, _)), next, .. } = left {
                    // Should it fail, the next iteration goes on behind it.
                    self.places.set(sequence, left.after(transfer.size).next.max(next));
                }
                return Some(left.next);
            }
            At::Random => Pick::Uniform,
            At::Zipf(exponent) => Pick::Zipf(exponent),
        };
        // An empty file has no place to read or write at.
        (blocks > 0).then(|| pick.draw(blocks, &mut self.rng) * u64::from(transfer.size))
    }

    /// A request of a sequence that goes on from iteration to iteration is done: the next one begins behind it.
    pub(super) fn remember(&mut self) {
        if let Some(Remaining { round: Some((sequence, _)), next, .. }) =
            self.iteration.as_ref().and_then(|iteration| iteration.left)
        {
            self.places.set(sequence, next);
        }
    }

    fn content_key(&self) -> u64 {
        match &self.iteration {
            Some(iteration) if iteration.on == Subject::File => iteration.file,
            _ => self.own_content(),
        }
    }
}
