//! Just enough of Rust's grammar to tell code from comments and literals.

#[cfg(test)]
mod tests;

/// The text with comments and the insides of literals turned to spaces. Lines and columns stay
/// where they are, and literals keep their quotes.
pub(crate) fn code_only(text: &str) -> String {
    strip(
        text,
        Style {
            blank_comments: true,
            keep_columns: true,
        },
    )
}

/// The text without the insides of its literals, for rules that no literal can be bent to. Lines
/// stay where they are.
pub(crate) fn without_literals(text: &str) -> String {
    strip(
        text,
        Style {
            blank_comments: false,
            keep_columns: false,
        },
    )
}

fn strip(text: &str, style: Style) -> String {
    let mut stripper = Stripper {
        rest: text,
        out: String::with_capacity(text.len()),
        style,
    };
    while !stripper.rest.is_empty() {
        stripper.step();
    }
    stripper.out
}

/// Whether `code` holds `word` as a whole word.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[derive(Clone, Copy)]
struct Style {
    blank_comments: bool,
    /// Literals turn to spaces of the same width, instead of vanishing.
    keep_columns: bool,
}

struct Stripper<'a> {
    rest: &'a str,
    out: String,
    style: Style,
}

impl Stripper<'_> {
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.comment(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.comment(block_comment_len(rest));
        } else if let Some(hashes) = raw_string_hashes(rest) {
            self.raw_string(hashes);
        } else if rest.starts_with('"') {
            self.quoted('"');
        } else if rest.starts_with('\'') && is_char_literal(rest) {
            self.quoted('\'');
        } else {
            self.word_or_sign();
        }
    }

    /// Copies a whole identifier, so that the `r` of `for"` or `bar#` starts no raw string.
    fn word_or_sign(&mut self) {
        let word_len = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let len = match word_len {
            Some(0) => self.rest.chars().next().map_or(1, char::len_utf8),
            Some(len) => len,
            None => self.rest.len(),
        };
        self.copy(len);
    }

    fn copy(&mut self, len: usize) {
        self.out.push_str(&self.rest[..len]);
        self.rest = &self.rest[len..];
    }

    fn comment(&mut self, len: usize) {
        if self.style.blank_comments {
            self.blank(len, true);
        } else {
            self.copy(len);
        }
    }

    fn literal(&mut self, len: usize) {
        self.blank(len, self.style.keep_columns);
    }

    fn blank(&mut self, len: usize, keep_columns: bool) {
        let blanked = self.rest[..len].chars().filter_map(|c| match c {
            '\n' => Some('\n'),
            _ => keep_columns.then_some(' '),
        });
        self.out.extend(blanked);
        self.rest = &self.rest[len..];
    }

    fn quoted(&mut self, quote: char) {
        self.copy(1);
        let mut escaped = false;
        let end = self.rest.find(|c: char| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        self.literal(end.unwrap_or(self.rest.len()));
        self.copy(self.rest.len().min(1));
    }

    fn raw_string(&mut self, hashes: usize) {
        let open = self.rest.find('"').map_or(self.rest.len(), |at| at + 1);
        self.copy(open);
        let close = format!("\"{}", "#".repeat(hashes));
        self.literal(self.rest.find(&close).unwrap_or(self.rest.len()));
        self.copy(self.rest.len().min(close.len()));
    }
}

/// How many `#` a raw string at the start of `rest` has; `None` when there is no raw string.
fn raw_string_hashes(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].iter().find(|prefix| {
        rest.strip_prefix(**prefix)
            .is_some_and(|tail| tail.starts_with(['"', '#']))
    })?;
    let tail = &rest[prefix.len()..];
    let hashes = tail.len() - tail.trim_start_matches('#').len();
    tail[hashes..].starts_with('"').then_some(hashes)
}

/// `'a'` and `'\n'` are literals, `'a` is a lifetime.
fn is_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// The length of a block comment, which may hold others.
fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}
