//! One line of a scenario: its words, and a reader that hands them out by name.
//!
//! A line is `[TIME] WORD args... [: items...]`. An argument is a bare word or `key=value`; quotes
//! keep spaces together, `""` inside quotes is one quote. `\u{D83D}` is a UTF-16 unit (also a lone
//! surrogate), `\x{E4}` a single byte of narrow text; a backslash is otherwise itself.

use std::cell::RefCell;

use crate::body::{Guid, lone_unit, raw_byte};
use crate::time::{self, Ns};

/// One word of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    /// The text without its quotes.
    pub(crate) text: String,
    /// Position of the first `=` outside quotes.
    pub(crate) equals: Option<usize>,
    /// Whether any part stood in quotes.
    pub(crate) quoted: bool,
}

/// Splits a line into words; `#` at a word's start begins a comment.
pub(crate) fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.peek() {
            None | Some('#') => return Ok(found),
            Some(_) => found.push(token(&mut chars)?),
        }
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn token(chars: &mut Chars<'_>) -> Result<Token, String> {
    let mut token = Token { text: String::new(), equals: None, quoted: false };
    let mut in_quotes = false;
    while let Some(&c) = chars.peek() {
        if !in_quotes && c.is_whitespace() {
            break;
        }
        chars.next();
        match c {
            '"' if in_quotes && chars.next_if_eq(&'"').is_some() => token.text.push('"'),
            '"' => {
                in_quotes = !in_quotes;
                token.quoted = true;
            }
            '\\' => escape(chars, &mut token.text)?,
            '=' if !in_quotes && token.equals.is_none() => {
                token.equals = Some(token.text.len());
                token.text.push('=');
            }
            _ => token.text.push(c),
        }
    }
    if in_quotes { Err("a quote is not closed".into()) } else { Ok(token) }
}

fn escape(chars: &mut Chars<'_>, text: &mut String) -> Result<(), String> {
    let mut ahead = chars.clone();
    let kind = ahead.next();
    if !matches!(kind, Some('u' | 'x')) || ahead.next() != Some('{') {
        text.push('\\');
        return Ok(());
    }
    let digits: String = ahead.by_ref().take_while(|&c| c != '}').collect();
    *chars = ahead;
    let code = u32::from_str_radix(&digits, 16).map_err(|_| format!("'{digits}' is no code"))?;
    let c = match kind {
        Some('x') => raw_byte(code),
        _ => char::from_u32(code).or_else(|| lone_unit(code)),
    };
    text.push(c.ok_or_else(|| format!("'{digits}' is no code"))?);
    Ok(())
}

/// One argument of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arg {
    /// A bare word.
    Word(String),
    /// `key=value`.
    Pair(String, String),
}

/// One statement, times and variables already put in.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// Line in the scenario, from 1.
    pub(crate) line: usize,
    /// The file section it stands in.
    pub(crate) file: usize,
    /// The leading time.
    pub(crate) time_ns: Option<Ns>,
    /// What `+` counts from in this statement's other times.
    pub(crate) base_ns: Ns,
    /// The verb.
    pub(crate) word: String,
    /// Words and pairs after it.
    pub(crate) args: Vec<Arg>,
    /// Items after a lone colon.
    pub(crate) items: Vec<String>,
    /// Lines of a `<<END` text.
    pub(crate) text: String,
}

impl Statement {
    /// Builds a statement from a line's words.
    pub(crate) fn from_tokens(
        line: usize,
        base_ns: Ns,
        tokens: Vec<Token>,
    ) -> Result<Statement, String> {
        let mut rest = tokens.into_iter().peekable();
        let leading = rest.next_if(|t| !t.quoted && time::looks_like_time(&t.text));
        let time_ns = leading.map(|t| time::parse(&t.text, base_ns)).transpose()?;
        let word = rest.next().ok_or("a time without a statement")?.text;
        let mut statement = Statement {
            line,
            file: 0,
            time_ns,
            base_ns,
            word,
            args: Vec::new(),
            items: Vec::new(),
            text: String::new(),
        };
        let mut in_items = false;
        for token in rest {
            if in_items {
                statement.items.push(token.text);
            } else if token.text == ":" && !token.quoted {
                in_items = true;
            } else {
                statement.args.push(argument(token));
            }
        }
        Ok(statement)
    }

    /// A reader of this statement's arguments.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { statement: self, used: RefCell::new(vec![false; self.args.len()]) }
    }
}

fn argument(token: Token) -> Arg {
    match token.equals {
        Some(at) if is_key(&token.text[..at]) => {
            Arg::Pair(token.text[..at].to_string(), token.text[at + 1..].to_string())
        }
        _ => Arg::Word(token.text),
    }
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.')
}

/// Reads a whole number: decimal, `0x` hexadecimal, `_` between digits, a sign.
pub(crate) fn number(text: &str) -> Result<i128, String> {
    let bare = text.replace('_', "");
    let (negative, digits) = match bare.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, bare.as_str()),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let value = value.map_err(|_| format!("'{text}' is no number"))?;
    Ok(if negative { -value } else { value })
}

/// Reads a number into a field of `T`; negative values of unsigned fields wrap as on Windows (-1).
pub(crate) fn field<T: TryFrom<i128>>(text: &str) -> Result<T, String> {
    let value = number(text)?;
    T::try_from(value).map_err(|_| format!("{text} does not fit"))
}

/// Reads a 32-bit field, signed or unsigned.
pub(crate) fn field32(text: &str) -> Result<u32, String> {
    match number(text)? {
        value @ 0..=0xFFFF_FFFF => Ok(value as u32),
        value @ -0x8000_0000..0 => Ok(value as i32 as u32),
        _ => Err(format!("{text} does not fit into 32 bits")),
    }
}

/// Reads `0-3,5` into a list of numbers.
pub(crate) fn number_list(text: &str) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((low, high)) => {
                let (low, high) = (field::<u32>(low)?, field::<u32>(high)?);
                if high < low || high - low > 100_000 {
                    return Err(format!("'{part}' is no range"));
                }
                all.extend(low..=high);
            }
            None => all.push(field(part)?),
        }
    }
    Ok(all)
}

/// Hands out a statement's arguments and remembers which were asked for, so that a misspelt key is
/// an error and not silence.
pub(crate) struct Reader<'a> {
    pub(crate) statement: &'a Statement,
    used: RefCell<Vec<bool>>,
}

impl<'a> Reader<'a> {
    /// The next bare word nobody has taken yet.
    pub(crate) fn word(&self) -> Option<&'a str> {
        let mut used = self.used.borrow_mut();
        for (at, arg) in self.statement.args.iter().enumerate() {
            if let Arg::Word(word) = arg
                && !used[at]
            {
                used[at] = true;
                return Some(word);
            }
        }
        None
    }

    /// The next bare word, which must be there.
    pub(crate) fn need_word(&self, what: &str) -> Result<&'a str, String> {
        self.word().ok_or_else(|| format!("'{}' needs {what}", self.statement.word))
    }

    /// Whether the bare word `flag` stands among the arguments.
    pub(crate) fn flag(&self, flag: &str) -> bool {
        let mut used = self.used.borrow_mut();
        for (at, arg) in self.statement.args.iter().enumerate() {
            if matches!(arg, Arg::Word(word) if word == flag) && !used[at] {
                used[at] = true;
                return true;
            }
        }
        false
    }

    /// The value of `key`.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        let mut used = self.used.borrow_mut();
        for (at, arg) in self.statement.args.iter().enumerate() {
            if let Arg::Pair(name, value) = arg
                && name == key
                && !used[at]
            {
                used[at] = true;
                return Some(value);
            }
        }
        None
    }

    /// The value of `key` as a number of type `T`.
    pub(crate) fn get<T: TryFrom<i128>>(&self, key: &str) -> Result<Option<T>, String> {
        self.text(key).map(|t| field(t).map_err(|e| format!("{key}: {e}"))).transpose()
    }

    /// The value of `key` as a number, or `default`.
    pub(crate) fn or<T: TryFrom<i128>>(&self, key: &str, default: T) -> Result<T, String> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// The value of `key` as a 32-bit field, signed or unsigned, or `default`.
    pub(crate) fn or32(&self, key: &str, default: u32) -> Result<u32, String> {
        match self.text(key) {
            Some(text) => field32(text).map_err(|e| format!("{key}: {e}")),
            None => Ok(default),
        }
    }

    /// The value of `key`, which must be there.
    pub(crate) fn need<T: TryFrom<i128>>(&self, key: &str) -> Result<T, String> {
        self.get(key)?.ok_or_else(|| format!("'{}' needs {key}=", self.statement.word))
    }

    /// The text of `key`, which must be there.
    pub(crate) fn need_text(&self, key: &str) -> Result<&'a str, String> {
        self.text(key).ok_or_else(|| format!("'{}' needs {key}=", self.statement.word))
    }

    /// The value of `key` as a time.
    pub(crate) fn time(&self, key: &str) -> Result<Option<Ns>, String> {
        self.text(key)
            .map(|t| time::parse(t, self.statement.base_ns).map_err(|e| format!("{key}: {e}")))
            .transpose()
    }

    /// The value of `key` as a GUID.
    pub(crate) fn guid(&self, key: &str) -> Result<Option<Guid>, String> {
        self.text(key)
            .map(|t| Guid::parse(t).ok_or_else(|| format!("{key}: '{t}' is no GUID")))
            .transpose()
    }

    /// The statement's leading time.
    pub(crate) fn at(&self) -> Result<Ns, String> {
        self.statement.time_ns.ok_or_else(|| format!("'{}' needs a time", self.statement.word))
    }

    /// Refuses arguments that nobody asked for.
    pub(crate) fn finish(&self) -> Result<(), String> {
        let used = self.used.borrow();
        for (at, arg) in self.statement.args.iter().enumerate() {
            if used[at] {
                continue;
            }
            let name = match arg {
                Arg::Word(word) => word.clone(),
                Arg::Pair(key, _) => format!("{key}="),
            };
            return Err(format!("'{}' does not know '{name}'", self.statement.word));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        tokens(line).unwrap().into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn quotes_comments_and_escapes() {
        assert_eq!(words(r#"a "b c" d="e ""f""" # no"#), ["a", "b c", "d=e \"f\""]);
        assert_eq!(words(r"path=C:\u\x"), [r"path=C:\u\x"]);
        assert_eq!(words(r"\u{41}\x{42}").len(), 1);
        assert!(tokens("\"open").is_err());
        assert!(tokens(r"\u{zz}").is_err());
    }

    #[test]
    fn a_statement_has_time_word_arguments_items() {
        let all = tokens("1.5s ready 101 cpu=2 : u32:5 z16:\"a=b\"").unwrap();
        let statement = Statement::from_tokens(1, 0, all).unwrap();
        assert_eq!(statement.time_ns, Some(1_500_000_000));
        assert_eq!(statement.word, "ready");
        assert_eq!(statement.items, ["u32:5", "z16:a=b"]);
        let reader = statement.reader();
        assert_eq!(reader.word(), Some("101"));
        assert!(reader.finish().is_err());
        assert_eq!(reader.or("cpu", 0u16), Ok(2));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn numbers_and_lists() {
        assert_eq!(number("0x1_0"), Ok(16));
        assert_eq!(field32("-1"), Ok(u32::MAX));
        assert_eq!(number_list("0-2,7"), Ok(vec![0, 1, 2, 7]));
        assert!(number_list("3-1").is_err());
        assert!(field::<u8>("256").is_err());
    }
}
