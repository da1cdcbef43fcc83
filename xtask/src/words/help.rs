//! Help texts of the command: the documentation comments of the types from which clap makes arguments.

const DERIVES: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];
/// Attributes of arguments whose comment is not their help.
const WITHOUT: [&str; 6] = ["hide = true", "flatten", "arg(skip", " help = ", "(help = ", "about = "];

/// Help texts with their lines, 1-based; the comment of the main file's parser is the help of the command itself.
pub(super) fn texts(code: &str, is_main: bool) -> Vec<(usize, String)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut texts = Vec::new();
    for at in (0..lines.len()).filter(|at| is_derived(lines[*at])) {
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("///")).count();
        if is_main && lines[at].contains("Parser") {
            texts.extend(comments(&lines[at - above..=at], at - above));
        }
        let open = (at..lines.len()).find(|i| lines[*i].contains("struct ") || lines[*i].contains("enum "));
        let Some(open) = open.filter(|open| lines[*open].ends_with('{')) else { continue };
        let is_end = |line: &&str| line.trim_start() == "}" && indent(line) == indent(lines[open]);
        let length = lines[open..].iter().position(is_end).unwrap_or_default();
        texts.extend(comments(&lines[open..open + length], open));
    }
    texts
}

fn is_derived(line: &str) -> bool {
    let names = line.trim_start().strip_prefix("#[derive(").unwrap_or_default();
    names.split(|c: char| !c.is_alphanumeric()).any(|name| DERIVES.contains(&name))
}

/// Comments with their first lines. The attributes between a comment and its field tell whether it is a help text.
fn comments(lines: &[&str], first: usize) -> Vec<(usize, String)> {
    let (mut comments, mut i) = (Vec::new(), 0);
    while i < lines.len() {
        let comment = lines[i..].iter().map_while(|line| line.trim_start().strip_prefix("///"));
        let comment: Vec<&str> = comment.map(str::trim).collect();
        let is_field =
            |line: &str| indent(line) == indent(lines[i]) && line.trim_start().starts_with(char::is_alphabetic);
        let attributes = lines[i + comment.len()..].iter().take_while(|line| !is_field(line));
        let attributes: Vec<&str> = attributes.map(|line| line.trim()).collect();
        let attributes = attributes.join(" ");
        if !comment.is_empty() && !WITHOUT.iter().any(|mark| attributes.contains(mark)) {
            let text = comment.join(" ");
            // clap drops it, too.
            comments.push((first + i + 1, text.strip_suffix('.').unwrap_or(&text).to_owned()));
        }
        i += comment.len().max(1);
    }
    comments
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_arguments_are_help_texts_and_others_are_not() {
        let code = "/// A.\n#[derive(Debug, clap::Parser)]\nstruct A {\n    /// B\n    /// c.\n    #[arg(\n        long\n    )]\n    \
                    b: bool,\n    /// D.\n    #[arg(hide = true)]\n    d: bool,\n    #[command(flatten)]\n    e: E,\n    /// F\n    \
                    #[command(after_help = G)]\n    F { /* */\n        /// H\n        h: u8,\n    },\n}\n/// I.\nstruct I {\n    \
                    /// J.\n    j: u8,\n}\n";
        let found = |is_main| texts(code, is_main).into_iter().map(|(line, text)| format!("{line} {text}"));
        assert_eq!(found(false).collect::<Vec<_>>(), ["4 B c", "15 F", "18 H"]);
        assert_eq!(found(true).next().as_deref(), Some("1 A"));
    }
}
