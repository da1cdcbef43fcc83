//! A sink that runs in a separate thread because its work takes long: writing tables, recordings and the data of a page.

use std::panic::resume_unwind;
use std::thread::JoinHandle;

use plimsoll_model::{Names, Sink, Transaction};

use crate::thread_queue::{End, queue};

/// Transactions that are handed over together: at some 350 bytes each they stay near the processor.
const TOGETHER: usize = 256;
/// Transactions that wait, at most. As many again may be in work: together some 6 MiB.
const WAITING: usize = 32 * TOGETHER;

/// A sink that takes transactions, in their order.
pub enum OutputThread<S> {
    /// In this thread.
    Here(Box<S>),
    /// In another one.
    There(Box<Sender<S>>),
}

/// Transactions on their way to the thread of their sink.
pub struct Sender<S> {
    piece: Piece,
    /// How many names were handed over.
    names: usize,
    queue: End<Piece>,
    thread: JoinHandle<S>,
}

/// Some transactions.
#[derive(Default)]
struct Piece {
    begin_ns: Option<i64>,
    transactions: Vec<Transaction>,
    /// New names: the other thread has a separate set, with the same symbols.
    names: Vec<Box<str>>,
}

impl<S: Sink + Send + 'static> OutputThread<S> {
    /// In another thread if `there`.
    pub fn new(sink: S, there: bool) -> Self {
        if there { Self::There(Box::new(Sender::new(sink))) } else { Self::Here(Box::new(sink)) }
    }

    /// The sink, unless it is in another thread.
    pub fn here(&mut self) -> Option<&mut S> {
        match self {
            Self::Here(sink) => Some(sink),
            Self::There(_) => None,
        }
    }

    /// All transactions have come.
    pub fn finish(self, names: &Names) -> S {
        match self {
            Self::Here(sink) => *sink,
            Self::There(sender) => sender.finish(names),
        }
    }
}

impl<S: Sink + Send + 'static> Sender<S> {
    fn new(mut sink: S) -> Self {
        let (queue, other_end) = queue::<Piece>(WAITING);
        let thread = std::thread::spawn(move || {
            let (mut pieces, mut names) = (Vec::new(), Names::default());
            while other_end.take(&mut pieces, || false) {
                for piece in &mut pieces {
                    piece.give_to(&mut sink, &mut names);
                }
            }
            sink
        });
        Self { piece: Piece::default(), names: 0, queue, thread }
    }

    #[inline]
    fn take(&mut self, transaction: &Transaction, names: &Names) {
        self.piece.transactions.push(transaction.clone());
        if self.piece.transactions.len() >= TOGETHER {
            self.hand_over(names);
        }
    }

    #[inline(never)]
    fn hand_over(&mut self, names: &Names) {
        self.piece.names.extend(names.behind(self.names).map(Box::from));
        self.names = names.len();
        let piece = std::mem::take(&mut self.piece);
        let len = piece.transactions.len();
        // If the other thread has panicked, the data is lost; `finish` reports this.
        self.piece = self.queue.put(piece, len, || false).unwrap_or_default();
    }

    fn finish(mut self, names: &Names) -> S {
        self.hand_over(names);
        let Self { queue, thread, .. } = self;
        drop(queue);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Piece {
    /// Gives all of it away; it can be filled again.
    fn give_to(&mut self, sink: &mut impl Sink, names: &mut Names) {
        for name in self.names.drain(..) {
            names.intern(&name);
        }
        if let Some(begin_ns) = self.begin_ns.take() {
            sink.begin(begin_ns);
        }
        self.transactions.iter().for_each(|transaction| sink.transaction(transaction, names));
        self.transactions.clear();
    }
}

impl<S: Sink + Send + 'static> Sink for OutputThread<S> {
    fn begin(&mut self, start_ns: i64) {
        match self {
            Self::Here(sink) => sink.begin(start_ns),
            Self::There(sender) => sender.piece.begin_ns = Some(start_ns),
        }
    }

    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        match self {
            Self::Here(sink) => sink.transaction(transaction, names),
            Self::There(sender) => sender.take(transaction, names),
        }
    }
}
