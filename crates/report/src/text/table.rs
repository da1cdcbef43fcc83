//! Columns in Swartz's (1997) plain style: a name on the left, numbers on the right, no borders.
//!
//! Why not a crate: `docs/decisions/0004-terminal-tables.md`.

use super::page::{Page, Role};
use super::spark::is_spark;
use crate::safe;

/// Indent of numbers that follow below their name.
const INDENT: usize = 4;

/// Rows under shared column widths, with heads wherever they are wanted.
#[derive(Debug, Default)]
pub(super) struct Table {
    lines: Vec<Line>,
    left: Vec<usize>,
}

#[derive(Debug)]
enum Line {
    Cells(Role, Vec<String>),
    Blank,
}

impl Table {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Aligns a column (0 is the name) to the left; by default all columns except the name are aligned to the right.
    pub(super) fn left(mut self, column: usize) -> Self {
        self.left.push(column);
        self
    }

    pub(super) fn head(&mut self, cells: &[&str]) {
        self.lines.push(Line::Cells(Role::Heading, cells.iter().map(|&cell| cell.to_owned()).collect()));
    }

    /// A row; its cells are made safe here.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.row_as(Role::Plain, cells);
    }

    pub(super) fn row_as(&mut self, role: Role, cells: Vec<String>) {
        let cells = cells.iter().map(|cell| safe::for_terminal(cell).into_owned()).collect();
        self.lines.push(Line::Cells(role, cells));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn blank(&mut self) {
        self.lines.push(Line::Blank);
    }

    /// The lines as they go out, none wider than the page.
    pub(super) fn lines(&self, page: &Page<'_>) -> Vec<String> {
        let layout = self.layout(page.width());
        let mut out = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            match line {
                Line::Blank => out.push(String::new()),
                Line::Cells(role, cells) => self.push_row(&mut out, page, &layout, *role, cells),
            }
        }
        out
    }

    fn layout(&self, width: usize) -> Layout {
        let mut widths: Vec<usize> = Vec::new();
        let mut names: Vec<usize> = Vec::new();
        for line in &self.lines {
            let Line::Cells(_, cells) = line else { continue };
            widths.resize(widths.len().max(cells.len()), 0);
            for (i, cell) in cells.iter().enumerate() {
                widths[i] = widths[i].max(safe::columns(cell));
            }
            names.extend(cells.first().filter(|_| cells.len() > 1).map(|name| safe::columns(name)));
        }
        let numbers: usize = widths.iter().skip(1).sum();
        let count = widths.len().saturating_sub(1);
        let longest = names.iter().copied().max().unwrap_or(0);
        let gap = if longest + numbers + 2 * count <= width { 2 } else { 1 };
        // A name that is too long is written on a separate line instead of moving the numbers off the page.
        let room = width.saturating_sub(numbers + gap * count).max(INDENT);
        if let Some(name) = widths.first_mut() {
            *name = names.into_iter().filter(|&name| name <= room).max().unwrap_or(INDENT);
        }
        Layout { widths, gap }
    }

    fn push_row(&self, out: &mut Vec<String>, page: &Page<'_>, layout: &Layout, role: Role, cells: &[String]) {
        let Some((name, numbers)) = cells.split_first() else { return };
        let name_width = layout.widths.first().copied().unwrap_or(0);
        let mut line;
        let mut used;
        if safe::columns(name) <= name_width || numbers.iter().all(String::is_empty) {
            line = page.paint(role, &safe::fit(name, page.width()));
            used = safe::columns(name).min(page.width());
        } else {
            out.push(page.paint(role, &safe::fit(name, page.width())));
            (line, used) = (String::new(), 0);
        }
        let mut target = name_width;
        for (i, cell) in numbers.iter().enumerate() {
            let width = layout.widths.get(i + 1).copied().unwrap_or(0);
            if target + layout.gap + width > page.width() && target > INDENT {
                out.push(std::mem::take(&mut line));
                (used, target) = (0, INDENT);
            }
            target += layout.gap + width;
            if cell.is_empty() {
                continue;
            }
            let cell_width = safe::columns(cell);
            let start = if self.left.contains(&(i + 1)) { target - width } else { target.saturating_sub(cell_width) };
            line.push_str(&" ".repeat(start.saturating_sub(used)));
            let cell_role = if role == Role::Plain && is_bar(cell) { Role::Bar } else { role };
            line.push_str(&page.paint(cell_role, cell));
            used = start + cell_width;
        }
        out.push(line);
    }
}

struct Layout {
    widths: Vec<usize>,
    gap: usize,
}

fn is_bar(cell: &str) -> bool {
    cell.bytes().all(|b| b == b'*') || is_spark(cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    fn drawn(table: &Table, width: u16) -> Vec<String> {
        let mut sink = String::new();
        table.lines(&Page::new(&mut sink, &Style::plain(width)))
    }

    fn numbers() -> Table {
        let mut table = Table::new();
        table.head(&["Name", "Count", "Mean"]);
        table.row(vec!["a".into(), "12".into(), "0.5".into()]);
        table.row(vec!["a name that is longer than its column".into(), "1234567".into(), "12.5".into()]);
        table
    }

    #[test]
    fn numbers_are_aligned_to_the_right_and_long_names_stand_alone() {
        assert_eq!(
            drawn(&numbers(), 40),
            ["Name   Count Mean", "a         12  0.5", "a name that is longer than its column", "     1234567 12.5"]
        );
        assert_eq!(
            drawn(&numbers(), 80)[2],
            "a name that is longer than its column  1234567  12.5",
            "with room for all"
        );
    }

    #[test]
    fn a_number_is_never_broken() {
        let mut table = Table::new();
        table.row(std::iter::once("name".to_owned()).chain((0..8).map(|i| format!("12345.6789{i}"))).collect());
        let lines = drawn(&table, 40);
        assert!(lines.len() > 1 && lines.iter().all(|line| safe::columns(line) <= 40), "{lines:#?}");
        let all = lines.join(" ");
        assert!((0..8).all(|i| all.split(' ').any(|word| word == format!("12345.6789{i}"))), "{lines:#?}");
    }

    #[test]
    fn hostile_cells_are_harmless_and_narrow() {
        let mut table = Table::new();
        table.row(vec!["\x1b[31m\u{202e}日本".into(), "1".into()]);
        let lines = drawn(&table, 40);
        assert_eq!(lines, [r"\u{1b}[31m\u{202e}日本  1"]);
    }
}
