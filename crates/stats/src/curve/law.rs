//! The Universal Scalability Law (Gunther 1993; "Guerrilla Capacity Planning", 2007, chapter 4).

/// X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): the throughput of N clients of one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// Throughput of one alone, 1/s.
    pub lambda: f64,
    /// Contention: the share of the work that is done by one at a time.
    pub sigma: f64,
    /// Coherency: the cost per pair of clients. Above 0, throughput falls again at high load.
    pub kappa: f64,
}

impl Law {
    /// Throughput at a load, 1/s.
    pub fn throughput(&self, load: f64) -> f64 {
        let others = load - 1.0;
        self.lambda * load / (1.0 + self.sigma * others + self.kappa * load * others)
    }

    /// The load at which throughput is highest, at least 1; `None` where it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| peak_of_square((1.0 - self.sigma) / self.kappa))
    }
}

/// The peak, from its square; a curve that falls from its beginning has it at one.
pub(super) fn peak_of_square(square: f64) -> f64 {
    square.max(1.0).sqrt()
}
