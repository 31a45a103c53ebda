//! Text cut into words that stand in for a model's tokens.

#[cfg(test)]
mod tests;

/// The words of `text`, each with the white space before it, as most tokenizers have them; white
/// space at the end is a piece of its own. The pieces put together are the text again.
pub(super) fn split(text: &str) -> Words<'_> {
    Words { rest: text }
}

/// See [`split`].
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let word_starts = self.rest.len() - self.rest.trim_start().len();
        let word = &self.rest[word_starts..];
        let word_len = word.find(char::is_whitespace).unwrap_or(word.len());
        let (piece, rest) = self.rest.split_at(word_starts + word_len);
        self.rest = rest;
        Some(piece)
    }
}
