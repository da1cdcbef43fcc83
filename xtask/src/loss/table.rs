//! Pairs out of a transactions table (CSV).

use std::collections::BTreeMap;

/// The identity of a pair, independent of frame numbers: client, server, id, place in a compound, and the capture times of the first
/// packets of request and response.
pub(crate) type Pair = (String, String, String, String, String, String);

/// The frames that begin a pair's request and response, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    pub(crate) request: usize,
    pub(crate) response: usize,
}

/// The columns of a [`Pair`], in its order, then those of [`Frames`], then the others that are needed.
const COLUMNS: [&str; 9] = [
    "client",
    "server",
    "id",
    "compound_position",
    "request_first_ns",
    "response_first_ns",
    "request_first_frame",
    "response_first_frame",
    "protocol",
];

/// The pairs of a table that are of a `wanted` protocol: rows of which both first frames are known. Operations of NFS 4 compounds are left
/// out: the compound itself is the pair.
pub(crate) fn pairs(csv: &str, wanted: impl Fn(&str) -> bool) -> Result<BTreeMap<Pair, Frames>, String> {
    let mut records = Records { rest: csv };
    let header = records.next().ok_or("the table is empty")?;
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let found = header.iter().position(|column| column == name);
        *place = found.ok_or_else(|| format!("the table has no column {name}"))?;
    }
    let mut pairs = BTreeMap::new();
    for record in records {
        let field = |place: usize| record.get(place).cloned().unwrap_or_default();
        let [client, server, id, position, asked, answered, request, response, protocol] = places.map(field);
        if !wanted(&protocol) || protocol.starts_with("NFS4") && !position.is_empty() {
            continue;
        }
        let (Ok(request), Ok(response)) = (request.parse(), response.parse()) else { continue };
        pairs.insert((client, server, id, position, asked, answered), Frames { request, response });
    }
    Ok(pairs)
}

/// Records of a CSV file (RFC 4180).
struct Records<'a> {
    rest: &'a str,
}

impl Iterator for Records<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        if self.rest.is_empty() {
            return None;
        }
        let (mut record, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.next_if(|&(_, next)| next == '"').is_some() => field.push('"'),
                '"' => quoted = !quoted,
                ',' if !quoted => record.push(std::mem::take(&mut field)),
                '\n' if !quoted => {
                    record.push(field);
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Some(record);
                }
                '\r' if !quoted => {}
                c => field.push(c),
            }
        }
        self.rest = "";
        record.push(field);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "protocol,path,client,server,id,compound_position,request_first_ns,response_first_ns,\
                        request_first_frame,response_first_frame\n";

    fn read(rows: &str) -> BTreeMap<Pair, Frames> {
        pairs(&format!("{HEAD}{rows}"), |_| true).unwrap()
    }

    #[test]
    fn names_in_quotes_hold_anything() {
        let found = read("SMB2,\"a,\"\"b\"\"\nc\",10.0.0.1:9,10.0.0.2:445,7,,1,2,3,4\n");
        let pair = ["10.0.0.1:9", "10.0.0.2:445", "7", "", "1", "2"].map(str::to_owned);
        assert_eq!(found.get(&pair.into()), Some(&Frames { request: 3, response: 4 }));
    }

    #[test]
    fn a_row_without_both_frames_is_no_pair_nor_is_an_operation_of_a_compound() {
        assert!(read("SMB2,,a,b,7,,1,,3,\nSMB2,,a,b,7,,,1,,3\nNFS4,,a,b,7,0,1,2,3,4\n").is_empty());
        assert_eq!(read("NFS4,,a,b,7,,1,2,3,4\nSMB2,,a,b,7,0,1,2,3,4\n").len(), 2);
    }

    #[test]
    fn a_table_without_the_columns_is_told() {
        assert!(pairs("", |_| true).is_err() && pairs("protocol,id\n", |_| true).is_err());
    }
}
