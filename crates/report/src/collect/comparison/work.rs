//! Whether two sides ran the same workload. Other work takes another time: that is no difference of servers.

use crate::findings::{Findings, Parameter, Run, letter};

/// Between the values of a parameter that was varied.
const AND: &str = ", ";

/// How the workload of the side at `place` (from 1) differs from the baseline's, as a sentence; `None` if it does not, or only by its text:
/// that may be another version of the same file.
pub fn differing_work(baseline: &Findings, other: &Findings, place: usize) -> Option<String> {
    let (ours, theirs) = baseline.run.as_ref().zip(other.run.as_ref())?;
    let [was, is] = other_work(ours, theirs)?;
    Some(format!("A ran {was}, {} ran {is}: the workloads differ", letter(place)))
}

fn other_work(ours: &Run, theirs: &Run) -> Option<[String; 2]> {
    if ours.workload_sha256 == theirs.workload_sha256 {
        return None;
    }
    if ours.workload != theirs.workload {
        return Some([ours, theirs].map(|run| run.workload.clone()));
    }
    // Of a parameter that was varied, the words of the levels have the values. Old recordings have no parameters.
    let is_single = |parameter: &&Parameter| !parameter.value.contains(AND);
    ours.parameters.iter().filter(is_single).find_map(|our| {
        let their = theirs.parameters.iter().filter(is_single).find(|their| their.name == our.name)?;
        let words = |one: &Parameter| format!("{} with {}={}", ours.workload, one.name, one.value);
        // 1GiB and 1024MiB are one size.
        let is_same = their.value == our.value || our.bytes.is_some() && our.bytes == their.bytes;
        (!is_same).then(|| [words(our), words(their)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(workload: &str, sha256: &str, parameters: &[(&str, &str)]) -> Findings {
        let parameter = |&(name, value): &(&str, &str)| Parameter {
            name: name.to_owned(),
            value: value.to_owned(),
            ..Parameter::default()
        };
        let parameters = parameters.iter().map(parameter).collect();
        let (workload, workload_sha256) = (workload.to_owned(), sha256.to_owned());
        let run = Run { workload, workload_sha256, parameters, ..Run::default() };
        Findings { run: Some(run), ..Findings::default() }
    }

    #[test]
    fn another_workload_or_parameter_is_other_work_and_another_version_of_the_text_is_not() {
        let one = ran("random-read", "1", &[("block", "4 KiB"), ("size", "1 GiB")]);
        let differ = |other: &Findings| differing_work(&one, other, 1);
        assert_eq!(differ(&one), None);
        assert_eq!(
            differ(&ran("getattr", "2", &[])).unwrap(),
            "A ran random-read, B ran getattr: the workloads differ"
        );
        let sized = |value, bytes| {
            let mut sized = ran("random-read", value, &[("size", value)]);
            sized.run.as_mut().unwrap().parameters[0].bytes = Some(bytes);
            sized
        };
        assert_eq!(
            differing_work(&sized("1GiB", 1 << 30), &sized("1024MiB", 1 << 30), 1),
            None,
            "one size in two notations"
        );
        assert!(differing_work(&sized("1GiB", 1 << 30), &sized("2GiB", 2 << 30), 1).is_some());
        assert_eq!(
            differ(&ran("random-read", "2", &[("block", "256 KiB"), ("size", "1 GiB")])).unwrap(),
            "A ran random-read with block=4 KiB, B ran random-read with block=256 KiB: the workloads differ"
        );
        for same in [
            ran("random-read", "2", &[("block", "4 KiB"), ("size", "1 GiB")]),
            ran("random-read", "2", &[("block", "4 KiB"), ("size", "1 GiB"), ("new", "1")]),
            ran("random-read", "2", &[]),
            ran("random-read", "2", &[("block", "4 KiB, 8 KiB"), ("size", "1 GiB")]),
            ran("copy", "1", &[]),
            Findings::default(),
        ] {
            assert_eq!(differ(&same), None, "{:?}", same.run);
        }
    }
}
