//! Text in columns.

/// Lines of cells; the first is the header. The first `names` columns are aligned left.
pub(crate) fn render(lines: &[Vec<String>], names: usize) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let mut out = String::new();
        for (column, width) in widths.iter().enumerate() {
            let cell = line.get(column).map_or("", String::as_str);
            let pad = " ".repeat(width - cell.chars().count());
            if column > 0 {
                out.push_str("  ");
            }
            if column < names {
                out.push_str(cell);
                out.push_str(&pad);
            } else {
                out.push_str(&pad);
                out.push_str(cell);
            }
        }
        text.push_str(out.trim_end());
        text.push('\n');
        if index == 0 {
            let total: usize = widths.iter().sum();
            let rule = total + 2 * columns.saturating_sub(1);
            text.push_str(&"-".repeat(rule));
            text.push('\n');
        }
    }
    text
}

/// The same as a Markdown table.
pub(crate) fn markdown(lines: &[Vec<String>], names: usize) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        text.push_str("| ");
        text.push_str(&line.join(" | "));
        text.push_str(" |\n");
        if index == 0 {
            for column in 0..line.len() {
                text.push_str(if column < names { "|---" } else { "|---:" });
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{markdown, render};

    fn lines() -> Vec<Vec<String>> {
        let line = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        vec![line(["system", "p50 µs"]), line(["a", "1,234"])]
    }

    #[test]
    fn columns_are_aligned() {
        assert_eq!(
            render(&lines(), 1),
            "system  p50 µs\n--------------\na        1,234\n"
        );
    }

    #[test]
    fn markdown_has_the_same_cells() {
        assert_eq!(
            markdown(&lines(), 1),
            "| system | p50 µs |\n|---|---:|\n| a | 1,234 |\n"
        );
    }
}
