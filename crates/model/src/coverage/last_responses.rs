//! When each server last sent a response.

use std::collections::BTreeMap;

use super::Coverage;
use crate::Endpoint;

impl Coverage {
    /// When a server last sent a response, ns: `None` if this is not known, `Some(None)` if the capture has none of it.
    pub fn last_response_ns(&self, server: Endpoint) -> Option<Option<i64>> {
        let all = self.last_responses.as_ref()?;
        Some(all.iter().find(|(of, _)| *of == server).map(|(_, ns)| *ns))
    }

    /// Adds the last responses of another capture. Unless those of both are known, none is.
    pub(super) fn add_last_responses(&mut self, other: &Coverage) {
        let both = self.last_responses.take().zip(other.last_responses.as_ref());
        let sum = both.map(|(mine, theirs)| {
            let mut all: BTreeMap<Endpoint, i64> = mine.into_iter().collect();
            for &(server, ns) in theirs {
                all.entry(server).and_modify(|last_ns| *last_ns = ns.max(*last_ns)).or_insert(ns);
            }
            all.into_iter().collect()
        });
        self.last_responses = sum.filter(|all: &Vec<_>| all.len() <= Self::LAST_RESPONSES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(port: u16) -> Endpoint {
        Endpoint { ip: [10, 0, 0, 1].into(), port }
    }

    fn of(servers: impl IntoIterator<Item = (u16, i64)>) -> Coverage {
        let all = servers.into_iter().map(|(port, ns)| (server(port), ns)).collect();
        Coverage { last_responses: Some(all), ..Coverage::default() }
    }

    #[test]
    fn of_two_captures_the_later_response_of_a_server_is_its_last() {
        let mut sum = of([(445, 50), (446, 70)]);
        sum.add(&of([(446, 60), (445, 80), (447, 1)]));
        assert_eq!(sum.last_responses, of([(445, 80), (446, 70), (447, 1)]).last_responses);
        assert_eq!([445, 448].map(|port| sum.last_response_ns(server(port))), [Some(Some(80)), Some(None)]);
        sum.add(&Coverage::default());
        assert_eq!(sum.last_response_ns(server(445)), None, "those of the other capture are not known");
        let mut many = of((0..600).map(|port| (port, 1)));
        many.add(&of((300..1_000).map(|port| (port, 2))));
        assert_eq!(many.last_responses.as_ref().map(Vec::len), Some(1_000));
        many.add(&of([(1_000, 3)]));
        assert_eq!(many.last_responses, None, "too many");
    }
}
