//! From the text of a scenario to its flat list of statements: comments, `let`, `repeat`, `$(...)`.
//!
//! Truth blocks are cut out before (see `truth.rs`). Every limit is named, so that no text, however
//! odd, takes unbounded time or memory.

use crate::Error;
use crate::text::{Statement, Token, tokens};
use crate::time::Ns;

/// Most statements after all repeats.
const STATEMENTS_MAX: usize = 1_000_000;
/// Most lines and rounds looked at, also those that yield no statement.
const STEPS_MAX: usize = 4_000_000;
/// Deepest nesting of repeats.
const NESTING_MAX: usize = 8;

/// A line of the scenario that is not truth.
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    pub(crate) text: &'a str,
}

/// Turns lines into statements.
pub(crate) fn expand(lines: &[Line<'_>]) -> Result<Vec<Statement>, Error> {
    let mut expander = Expander { lines, variables: Vec::new(), statements: Vec::new(), steps: 0 };
    let end = expander.block(0, lines.len(), 0, None)?;
    debug_assert_eq!(end, lines.len());
    Ok(expander.statements)
}

struct Expander<'a> {
    lines: &'a [Line<'a>],
    variables: Vec<(String, i128)>,
    statements: Vec<Statement>,
    steps: usize,
}

impl Expander<'_> {
    /// Handles lines `from..to`; inside a repeat `fixed_ns` is the start of the iteration.
    fn block(
        &mut self,
        from: usize,
        to: usize,
        depth: usize,
        fixed_ns: Option<Ns>,
    ) -> Result<usize, Error> {
        let mut base_ns = fixed_ns.unwrap_or(0);
        let mut at = from;
        while at < to {
            let number = self.lines[at].number;
            let fail = |message: String| Error { line: number, message };
            let text = substitute(self.lines[at].text, &self.variables).map_err(fail)?;
            let words = tokens(&text).map_err(fail)?;
            at += 1;
            let Some(first) = words.first() else { continue };
            match first.text.as_str() {
                "repeat" => at = self.repeat(words, number, at, to, depth, base_ns)?,
                "let" => self.define(&words).map_err(fail)?,
                _ => {
                    let (statement, after) = self.statement(words, number, base_ns, at, to)?;
                    at = after;
                    if fixed_ns.is_none() {
                        base_ns = statement.time_ns.unwrap_or(base_ns);
                    }
                    self.statements.push(statement);
                }
            }
            self.steps += 1;
            if self.statements.len() > STATEMENTS_MAX || self.steps > STEPS_MAX {
                return Err(fail(format!("more than {STATEMENTS_MAX} statements")));
            }
        }
        Ok(at)
    }

    /// One statement, with the lines of its `<<END` text.
    fn statement(
        &self,
        mut words: Vec<Token>,
        number: usize,
        base_ns: Ns,
        mut at: usize,
        to: usize,
    ) -> Result<(Statement, usize), Error> {
        let fail = |message: String| Error { line: number, message };
        let ending = words.last().and_then(|w| w.text.strip_prefix("<<").map(str::to_string));
        if ending.is_some() {
            words.pop();
        }
        let mut statement = Statement::from_tokens(number, base_ns, words).map_err(fail)?;
        if let Some(ending) = ending {
            loop {
                if at >= to {
                    return Err(fail(format!("no line '{ending}' ends the text")));
                }
                let line = self.lines[at].text;
                at += 1;
                if line.trim() == ending {
                    break;
                }
                statement.text.push_str(line);
                statement.text.push('\n');
            }
        }
        Ok((statement, at))
    }

    fn define(&mut self, words: &[Token]) -> Result<(), String> {
        let joined: Vec<&str> = words[1..].iter().map(|w| w.text.as_str()).collect();
        let joined = joined.concat();
        let (name, value) = joined.split_once('=').ok_or("'let' needs NAME = VALUE")?;
        let value = Expression::evaluate(value, &self.variables)?;
        self.set(name, value);
        Ok(())
    }

    fn set(&mut self, name: &str, value: i128) {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.variables.push((name.to_string(), value)),
        }
    }

    /// `repeat N [as NAME] [every=TIME] [from=TIME] {` and its lines up to the matching `}`.
    fn repeat(
        &mut self,
        words: Vec<Token>,
        number: usize,
        from: usize,
        to: usize,
        depth: usize,
        base_ns: Ns,
    ) -> Result<usize, Error> {
        let fail = |message: String| Error { line: number, message };
        if depth >= NESTING_MAX {
            return Err(fail(format!("repeats nest deeper than {NESTING_MAX}")));
        }
        let head = RepeatHead::read(&words, base_ns).map_err(fail)?;
        let end = self.closing(from, to).ok_or_else(|| fail("no '}' closes it".into()))?;
        for round in 0..head.count {
            let start_ns = (head.every_ns as i128)
                .checked_mul(round as i128)
                .and_then(|offset| offset.checked_add(head.from_ns as i128))
                .and_then(|start| Ns::try_from(start).ok())
                .ok_or_else(|| fail("it runs too long".into()))?;
            self.set(&head.variable, round as i128);
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return Err(fail("it repeats too often".into()));
            }
            self.block(from, end, depth + 1, Some(start_ns))?;
        }
        Ok(end + 1)
    }

    fn closing(&self, from: usize, to: usize) -> Option<usize> {
        let mut open = 0;
        for at in from..to {
            let line = self.lines[at].text.trim();
            if line == "}" {
                if open == 0 {
                    return Some(at);
                }
                open -= 1;
            } else if line.starts_with("repeat ") {
                open += 1;
            }
        }
        None
    }
}

struct RepeatHead {
    count: u64,
    variable: String,
    every_ns: Ns,
    from_ns: Ns,
}

impl RepeatHead {
    fn read(words: &[Token], base_ns: Ns) -> Result<RepeatHead, String> {
        let plain: Vec<Token> = words.to_vec();
        let statement = Statement::from_tokens(0, base_ns, plain)?;
        let reader = statement.reader();
        let count = crate::text::field(reader.need_word("a count")?)?;
        let mut variable = "i".to_string();
        if reader.flag("as") {
            variable = reader.need_word("a name after 'as'")?.to_string();
        }
        let every_ns = reader.time("every")?.unwrap_or(0);
        let from_ns = reader.time("from")?.unwrap_or(base_ns);
        if !reader.flag("{") {
            return Err("'repeat' ends with '{'".into());
        }
        reader.finish()?;
        Ok(RepeatHead { count, variable, every_ns, from_ns })
    }
}

/// Puts variables in: `$name` and `$(expression)`.
fn substitute(line: &str, variables: &[(String, i128)]) -> Result<String, String> {
    if !line.contains('$') {
        return Ok(line.to_string());
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if rest.starts_with('(') {
            let end = matching(rest).ok_or("'$(' is not closed")?;
            out.push_str(&Expression::evaluate(&rest[1..end], variables)?.to_string());
            rest = &rest[end + 1..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        match variables.iter().find(|(name, _)| *name == rest[..end]) {
            Some((_, value)) => out.push_str(&value.to_string()),
            None => {
                out.push('$');
                out.push_str(&rest[..end]);
            }
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    Ok(out)
}

fn matching(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whole-number arithmetic: `+ - * / %`, parentheses, variables, and `= < >` which give 1 or 0.
/// Overflow is an error.
struct Expression<'a> {
    rest: &'a str,
    variables: &'a [(String, i128)],
    depth: usize,
}

impl<'a> Expression<'a> {
    fn evaluate(text: &'a str, variables: &'a [(String, i128)]) -> Result<i128, String> {
        let mut expression = Expression { rest: text, variables, depth: 0 };
        let value = expression.comparison()?;
        expression.skip();
        if expression.rest.is_empty() { Ok(value) } else { Err(format!("'{text}' is no sum")) }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, choices: &[char]) -> Option<char> {
        self.skip();
        let c = self.rest.chars().next().filter(|c| choices.contains(c))?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn comparison(&mut self) -> Result<i128, String> {
        let left = self.sum()?;
        let Some(sign) = self.take(&['=', '<', '>']) else { return Ok(left) };
        let right = self.sum()?;
        Ok(i128::from(match sign {
            '=' => left == right,
            '<' => left < right,
            _ => left > right,
        }))
    }

    fn sum(&mut self) -> Result<i128, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            let result =
                if sign == '+' { value.checked_add(other) } else { value.checked_sub(other) };
            value = result.ok_or("a sum overflows")?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i128, String> {
        let mut value = self.atom()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.atom()?;
            let result = match sign {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = result.ok_or("a product overflows or divides by zero")?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<i128, String> {
        if self.take(&['(']).is_some() {
            self.depth += 1;
            if self.depth > 64 {
                return Err("too many parentheses".into());
            }
            let value = self.comparison()?;
            self.depth -= 1;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "')' is missing".into());
        }
        self.skip();
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return crate::text::number(word);
        }
        let known = self.variables.iter().find(|(name, _)| name == word);
        known.map(|(_, value)| *value).ok_or_else(|| format!("'{word}' has no value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<Vec<Statement>, Error> {
        let lines: Vec<Line<'_>> =
            text.lines().enumerate().map(|(i, text)| Line { number: i + 1, text }).collect();
        expand(&lines)
    }

    #[test]
    fn repeats_move_time_and_variables() {
        let all = run("let n = 3\n1s a\nrepeat $n every=10us {\n+1us b tid=$(100+i*2)\n}\n+1s c")
            .unwrap();
        let times: Vec<_> = all.iter().map(|s| s.time_ns.unwrap()).collect();
        assert_eq!(
            times,
            [1_000_000_000, 1_000_001_000, 1_000_011_000, 1_000_021_000, 2_000_000_000]
        );
        assert_eq!(all[3].reader().get::<u32>("tid"), Ok(Some(104)));
        let all = run("a x=$((3 = 3) * 5 + (2 > 3) * 7 + (2 < 3))").unwrap();
        assert_eq!(all[0].reader().get::<u32>("x"), Ok(Some(6)));
    }

    #[test]
    fn what_cannot_be_expanded_names_its_line() {
        assert_eq!(run("a\nrepeat 2 {\nb").unwrap_err().line, 2);
        assert_eq!(run("a $(1/0)").unwrap_err().line, 1);
        assert_eq!(run("a $(x)").unwrap_err().line, 1);
        assert!(run("repeat 99999999999 {\nb\n}").is_err());
        assert!(run("repeat 99999999999 {\n}").is_err());
        assert!(run("x <<END\ny").is_err());
    }

    #[test]
    fn texts_keep_their_lines() {
        let all = run("manifest X <<END\n<a>\n  # kept\nEND\nb").unwrap();
        assert_eq!(all[0].text, "<a>\n  # kept\n");
        assert_eq!(all[1].word, "b");
    }
}
