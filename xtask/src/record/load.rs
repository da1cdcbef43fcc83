//! NetBench's load file, as dbench has it: one operation a line.

/// The first lines of a load, without the files `filler.NNN`, which the load writes first of all to fill the disk: they
/// would be most of a short load's bytes. All of the load for no lines.
pub(crate) fn shortened(load: &str, lines: usize) -> String {
    if lines == 0 {
        return load.to_owned();
    }
    let mut filler: Option<&str> = None;
    let mut written = String::new();
    for line in load.lines().take(lines) {
        let mut words = line.split(' ');
        let (verb, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if verb == "NTCreateX" && first.contains("\\filler.") {
            filler = line.split(' ').nth(4);
        } else if filler.is_some() && filler == Some(first) {
            filler = filler.filter(|_| verb != "Close");
        } else {
            written.push_str(line);
            written.push('\n');
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: &str = "\
Mkdir \"\\clients\" NT_STATUS_OK
NTCreateX \"\\clients\\client1\\filler.000\" 0x40 0x2 9938 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
WriteX 9938 65534 1 1 NT_STATUS_OK
Close 9938 NT_STATUS_OK
NTCreateX \"\\clients\\client1\\a\" 0x40 0x2 9938 NT_STATUS_OK
WriteX 9938 65534 1 1 NT_STATUS_OK
";

    #[test]
    fn a_short_load_is_without_fillers() {
        let short = shortened(LOAD, 7);
        let verbs: Vec<&str> = short.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(verbs, ["Mkdir", "QUERY_FS_INFORMATION", "NTCreateX", "WriteX"]);
        assert_eq!(shortened(LOAD, 1).lines().count(), 1);
        assert_eq!(shortened(LOAD, 0), LOAD);
    }
}
