//! A worker without work waits for bytes or a due time; shortly before a planned start it polls.

use std::io;

use plimsoll_model::Sink;

use super::Worker;
use crate::engine::cpu;
use crate::network::{Network, Ready};

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// The clock was read: the thread looks for answers. Clients that block do so while they wait for the system.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.address.is_some() {
            self.accounting.attention.looks(self.now, self.accounting.window);
        }
    }

    /// Waits until something happens, at most until `until`; where a start is due then, awake towards the end.
    pub(super) fn wait(&mut self, until: i64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.timers.next_start() != Some(until) {
            return self.net.wait(Some(until), ready);
        }
        let now = self.net.now();
        let Some(begins) = self.busy_poll.begins(now, until) else { return self.net.wait(Some(until), ready) };
        if now < begins {
            self.net.wait(Some(begins), ready)?;
            let late = self.net.now() - begins;
            // Something happened, or a signal came.
            if !ready.is_empty() || late < 0 {
                return Ok(());
            }
            self.busy_poll.woken(late);
        }
        let before = cpu::total_ns();
        self.net.poll(until, ready)?;
        self.busy_poll.polled(cpu::total_ns().saturating_sub(before));
        Ok(())
    }
}
