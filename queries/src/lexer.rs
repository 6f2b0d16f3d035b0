//! Cuts SQL text into tokens, just well enough to find statements, parameters, columns and comments.
//! It knows strings, quoted names, comments and brackets; it does not know grammar. Called by
//! [`crate::front_matter`].

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `-- text` up to the end of the line, or `/* text */`.
    Comment,
    /// A keyword or a plain name.
    Word,
    /// `"name"`.
    Quoted,
    /// `'text'` or `$$text$$`.
    Text,
    /// A number.
    Number,
    /// Anything else, one character (`:=`, `::` and the like come as one).
    Symbol,
}

/// A piece of SQL text.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// The piece as written.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Line of its beginning, counted from 1.
    pub line: usize,
    /// Line of its end.
    pub end_line: usize,
    /// How many brackets are open around it.
    pub depth: usize,
}

impl Token<'_> {
    /// Where it ends, in bytes.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this keyword, in any case.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this symbol.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }
}

/// Every token of `sql` in order. Text that ends inside a string or comment gives a last token up
/// to the end.
pub fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let (mut at, mut line, mut depth) = (0, 1, 0usize);
    while let Some(first) = sql[at..].chars().next() {
        if first.is_whitespace() {
            line += usize::from(first == '\n');
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = next(&sql[at..], first);
        let text = &sql[at..at + length];
        if kind == Kind::Symbol && matches!(text, ")" | "]" | "}") {
            depth = depth.saturating_sub(1);
        }
        let end_line = line + text.matches('\n').count();
        out.push(Token { kind, text, start: at, line, end_line, depth });
        if kind == Kind::Symbol && matches!(text, "(" | "[" | "{") {
            depth += 1;
        }
        line = end_line;
        at += length;
    }
    out
}

/// Kind and length of the token that `rest`, whose first character is `first`, begins with.
fn next(rest: &str, first: char) -> (Kind, usize) {
    let up_to = |end: &str, skip: usize| {
        rest[skip..].find(end).map_or(rest.len(), |found| skip + found + end.len())
    };
    if rest.starts_with("--") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, up_to("*/", 2));
    }
    if rest.starts_with("$$") {
        return (Kind::Text, up_to("$$", 2));
    }
    match first {
        // A doubled quote inside closes one string and opens the next: no difference here.
        '\'' => (Kind::Text, up_to("'", 1)),
        '"' => (Kind::Quoted, up_to("\"", 1)),
        c if c.is_alphabetic() || c == '_' => {
            let word = |c: char| !(c.is_alphanumeric() || c == '_');
            (Kind::Word, rest.find(word).unwrap_or(rest.len()))
        }
        c if c.is_ascii_digit() => {
            let number = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.');
            (Kind::Number, rest.find(number).unwrap_or(rest.len()))
        }
        _ if [":=", "::", "//"].iter().any(|two| rest.starts_with(two)) => (Kind::Symbol, 2),
        c => (Kind::Symbol, c.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).iter().map(|t| t.text).collect()
    }

    #[test]
    fn strings_and_comments_hide_what_is_in_them() {
        assert_eq!(texts("a 'b;(' \"c,\" -- d;\ne"), ["a", "'b;('", "\"c,\"", "-- d;", "e"]);
        assert_eq!(texts("x := 'it''s'"), ["x", ":=", "'it'", "'s'"]);
    }

    #[test]
    fn depth_counts_brackets_and_lines_count_from_one() {
        let all = tokens("f(\n[1]\n)");
        let seen: Vec<_> = all.iter().map(|t| (t.text, t.depth, t.line)).collect();
        assert_eq!(
            seen,
            [("f", 0, 1), ("(", 0, 1), ("[", 1, 2), ("1", 2, 2), ("]", 1, 2), (")", 0, 3)]
        );
    }

    #[test]
    fn no_text_is_too_odd() {
        for odd in ["'", "\"", "--", "/*", "$$", ")", "é", "\u{0}", "1.5e3"] {
            assert!(!tokens(odd).is_empty(), "{odd:?}");
        }
    }
}
