//! Statistics that two threads work on: whichever of them would otherwise wait, one at a time, and in the order of the transactions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_model::{Names, Sink, Transaction};

use crate::Statistics;

/// Transactions that are handed over together: at some 350 bytes each they stay near the processor.
const TOGETHER: usize = 64;
/// Pieces of them that wait, at most: together less than 3 MiB.
const WAITING: usize = 128;

/// Statistics of one thread, or of this one and another that helps.
pub struct SharedStatistics {
    /// Without what is shared now.
    own: Statistics,
    /// `None` if nobody helps.
    giver: Option<Box<Giver>>,
}

/// Collects transactions for whoever has time for them.
struct Giver {
    piece: Vec<Transaction>,
    work: Work,
}

/// Work on the statistics of another thread.
#[derive(Clone)]
pub struct Work(Arc<Shared>);

struct Shared {
    /// Taken before `pieces`: who works on a piece has both taken it and counts it before anyone takes the next one.
    statistics: Mutex<Statistics>,
    pieces: Mutex<Pieces>,
}

#[derive(Default)]
struct Pieces {
    waiting: VecDeque<Vec<Transaction>>,
    /// Empty ones, for reuse.
    used: Vec<Vec<Transaction>>,
}

impl SharedStatistics {
    /// Of one thread.
    pub fn new(statistics: Statistics) -> Self {
        Self { own: statistics, giver: None }
    }

    /// From now on another thread may help, by what this returns.
    pub fn share(&mut self) -> Work {
        let statistics = Mutex::new(std::mem::take(self.settled()));
        let work = Work(Arc::new(Shared { statistics, pieces: Mutex::default() }));
        self.giver = Some(Box::new(Giver { piece: Vec::with_capacity(TOGETHER), work: work.clone() }));
        work
    }

    /// The statistics of all transactions so far. From now on nobody helps.
    pub fn settled(&mut self) -> &mut Statistics {
        if let Some(giver) = self.giver.take() {
            self.own = giver.finish();
        }
        &mut self.own
    }
}

impl Giver {
    /// Apart, so that the path of a single thread stays short.
    #[cold]
    #[inline(never)]
    fn take(&mut self, transaction: &Transaction) {
        self.piece.push(transaction.clone());
        if self.piece.len() >= TOGETHER {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let piece = std::mem::take(&mut self.piece);
        self.piece = loop {
            let mut pieces = self.work.pieces();
            if pieces.waiting.len() < WAITING {
                pieces.waiting.push_back(piece);
                break pieces.used.pop().unwrap_or_else(|| Vec::with_capacity(TOGETHER));
            }
            drop(pieces);
            self.work.on_next(self.work.statistics());
        }
    }

    fn finish(mut self) -> Statistics {
        self.hand_over();
        while self.work.on_next(self.work.statistics()) {}
        std::mem::take(&mut *self.work.statistics())
    }
}

impl Work {
    /// Works on some transactions. False if none wait, or if another thread is at it.
    pub fn some(&self) -> bool {
        self.0.statistics.try_lock().is_ok_and(|statistics| self.on_next(statistics))
    }

    /// Works on the piece that has waited longest. False if none waits.
    fn on_next(&self, mut statistics: MutexGuard<'_, Statistics>) -> bool {
        let Some(mut piece) = self.pieces().waiting.pop_front() else { return false };
        piece.iter().for_each(|transaction| statistics.record(transaction));
        piece.clear();
        self.pieces().used.push(piece);
        true
    }

    fn statistics(&self) -> MutexGuard<'_, Statistics> {
        self.0.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.0.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for SharedStatistics {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        match &mut self.giver {
            None => self.own.record(transaction),
            Some(giver) => giver.take(transaction),
        }
    }
}
