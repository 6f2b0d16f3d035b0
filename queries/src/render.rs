//! Answers as text: a table for people, and csv, json, jsonl and markdown for machines.
//!
//! Machine formats are raw and stable: every digit, names as they are. CSV follows RFC 4180, with NULL as
//! nothing and the empty text as `""`. It changes no value: a name that begins with `=` stays what it is, and a
//! spreadsheet may take it for a formula.
//!
//! The table is for people: units in headings, instants in seconds since the trace start, digits in groups, and
//! what could steer a terminal shown instead of sent.

use std::io::{self, Write};

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets,
};
use duckdb::types::Value;

use crate::run::{Column, Sink};
use crate::value::{json, plain};

/// Most rows a table for people holds; machine formats have no limit.
pub const TABLE_ROWS_MAX: u64 = 100_000;

/// Widest text of a cell of a table that is not fitted to a terminal.
const CELL_WIDTH_MAX: usize = 2000;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// RFC 4180.
    Csv,
    /// An array of objects.
    Json,
    /// An object a line.
    Jsonl,
    /// A table of Markdown.
    Markdown,
    /// A Parquet file, which DuckDB writes itself.
    Parquet,
}

impl Format {
    /// Whether people read it, or paste it where people will: then answers may be turned around.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Table | Format::Csv | Format::Markdown)
    }

    /// Every format by name.
    pub const ALL: &'static [(&'static str, Format)] = &[
        ("table", Format::Table),
        ("csv", Format::Csv),
        ("json", Format::Json),
        ("jsonl", Format::Jsonl),
        ("markdown", Format::Markdown),
        ("parquet", Format::Parquet),
    ];
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        let found = Format::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
            format!("unknown format '{name}', one of {}", names.join(", "))
        })
    }
}

/// Writes an answer in one of the text formats.
pub struct Renderer<'a> {
    out: &'a mut dyn Write,
    format: Format,
    /// Columns of the terminal; NULL where the output is none, and then nothing is cut.
    width: Option<u16>,
    /// Whether shares get a bar and histograms are drawn.
    bars: bool,
    columns: Vec<Column>,
    rows: u64,
    table: Option<Table>,
}

impl<'a> Renderer<'a> {
    /// A renderer that writes to `out`, cutting wide text where a terminal's width is given.
    pub fn new(out: &'a mut dyn Write, format: Format, width: Option<u16>) -> Renderer<'a> {
        Renderer { out, format, width, bars: false, columns: Vec::new(), rows: 0, table: None }
    }

    /// Draws a bar beside every share, and histograms as a small curve; for a terminal.
    pub fn with_bars(mut self, bars: bool) -> Renderer<'a> {
        self.bars = bars;
        self
    }

    /// Writes what is still owed after the last row. Says how many rows were left out of a table.
    pub fn finish(mut self) -> io::Result<u64> {
        match self.format {
            Format::Json if self.columns.is_empty() => writeln!(self.out, "[]")?,
            Format::Json => self.out.write_all(if self.rows == 0 { b"]\n" } else { b"\n]\n" })?,
            Format::Table => {
                if let Some(table) = self.table.take().filter(|_| self.rows > 0) {
                    writeln!(self.out, "{}", trimmed(&table.to_string()))?;
                }
            }
            _ => {}
        }
        self.out.flush()?;
        let left_out = if self.format == Format::Table { TABLE_ROWS_MAX } else { u64::MAX };
        Ok(self.rows.saturating_sub(left_out))
    }

    fn object(&self, row: &[Value]) -> String {
        let mut text = String::from("{");
        for (at, (column, value)) in self.columns.iter().zip(row).enumerate() {
            if at > 0 {
                text.push_str(", ");
            }
            let name = serde_json::Value::String(column.name.clone());
            text.push_str(&format!("{name}: {}", json(value)));
        }
        text.push('}');
        text
    }
}

impl Sink for Renderer<'_> {
    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns = columns.to_vec();
        let names = || columns.iter().map(|c| c.name.as_str());
        match self.format {
            Format::Csv => {
                let fields: Vec<String> = names().map(csv_text).collect();
                write!(self.out, "{}\r\n", fields.join(","))
            }
            Format::Markdown => {
                let fields: Vec<String> = names().map(markdown).collect();
                writeln!(self.out, "| {} |", fields.join(" | "))?;
                let rule = |c: &Column| if c.numeric { "---:" } else { "---" };
                let rules: Vec<&str> = columns.iter().map(rule).collect();
                writeln!(self.out, "| {} |", rules.join(" | "))
            }
            Format::Json => self.out.write_all(b"["),
            Format::Table => {
                self.table = Some(table(columns, self.width));
                Ok(())
            }
            Format::Jsonl | Format::Parquet => Ok(()),
        }
    }

    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.rows += 1;
        match self.format {
            Format::Csv => {
                let fields: Vec<String> = row.iter().map(csv).collect();
                write!(self.out, "{}\r\n", fields.join(","))
            }
            Format::Markdown => {
                let fields: Vec<String> = row.iter().map(|v| markdown(&plain(v))).collect();
                writeln!(self.out, "| {} |", fields.join(" | "))
            }
            Format::Json => {
                let separator = if self.rows == 1 { "\n  " } else { ",\n  " };
                let object = self.object(row);
                write!(self.out, "{separator}{object}")
            }
            Format::Jsonl => {
                let object = self.object(row);
                writeln!(self.out, "{object}")
            }
            Format::Table => {
                let fits = self.rows <= TABLE_ROWS_MAX;
                if let Some(table) = self.table.as_mut().filter(|_| fits) {
                    let cells = self.columns.iter().zip(row).map(|(column, value)| {
                        let text = for_people(column, value, self.width);
                        let draws = self.bars && !column.given;
                        let drawn = if draws { drawn(&column.name, value) } else { None };
                        let cell = Cell::new(match drawn {
                            Some(Drawn::Bar(bar)) => format!("{text} {bar}"),
                            Some(Drawn::Curve(curve)) => curve,
                            None => text,
                        });
                        let right = column.numeric;
                        if right { cell.set_alignment(CellAlignment::Right) } else { cell }
                    });
                    table.add_row(cells);
                    if let Some(row) = table.row_mut(usize::try_from(self.rows - 1).unwrap_or(0)) {
                        row.max_height(1);
                    }
                }
                Ok(())
            }
            Format::Parquet => Ok(()),
        }
    }
}

/// An empty table with its headings.
fn table(columns: &[Column], width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_truncation_indicator("…");
    match width {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
            table.enforce_styling();
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
            table.force_no_tty();
        }
    }
    table.set_header(columns.iter().map(|c| {
        let name = if c.given { visible(&c.name) } else { heading(&c.name) };
        let cell = Cell::new(name);
        let cell = if width.is_some() { cell.add_attribute(Attribute::Bold) } else { cell };
        if c.numeric { cell.set_alignment(CellAlignment::Right) } else { cell }
    }));
    for (at, column) in columns.iter().enumerate() {
        if let (true, Some(column)) = (column.numeric, table.column_mut(at)) {
            // A number that is cut is another number.
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// Lines without the blanks that fill them up.
fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// What a column's name says about its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// Nanoseconds since the trace start.
    Instant,
    /// Nanoseconds.
    Duration,
    /// A number with a unit in its name.
    Measured(&'static str),
    /// An address.
    Address,
    /// A number that counts nothing: it is never grouped.
    Name,
    /// Anything else.
    Plain,
}

fn quantity(name: &str) -> Quantity {
    const UNITS: &[(&str, &str)] = &[("ms", "ms"), ("us", "µs"), ("s", "s"), ("mhz", "MHz")];
    const NAMES: &[&str] = &[
        "pid", "tid", "id", "key", "cpu", "code", "build", "number", "rva", "version", "opcode",
        "class", "mode", "line",
    ];
    if name == "ts_ns" || name.ends_with("_ts_ns") {
        return Quantity::Instant;
    }
    if name.ends_with("_ns") {
        return Quantity::Duration;
    }
    if matches!(name, "address" | "base" | "start_address" | "routine" | "affinity") {
        return Quantity::Address;
    }
    let parts = || name.split('_').skip(1);
    if let Some((_, unit)) = UNITS.iter().find(|(word, _)| parts().any(|part| part == *word)) {
        return Quantity::Measured(unit);
    }
    let last = name.rsplit('_').next().unwrap_or(name);
    if NAMES.contains(&last) { Quantity::Name } else { Quantity::Plain }
}

/// A column's name with its unit, for a table for people.
pub fn heading(name: &str) -> String {
    let short = |suffix: usize| name[..name.len() - suffix].replace('_', " ");
    let text = match quantity(name) {
        Quantity::Instant if name == "ts_ns" => "at [s]".into(),
        Quantity::Instant => format!("{} [s]", short("_ts_ns".len())),
        Quantity::Duration => format!("{} [ms]", short("_ns".len())),
        Quantity::Measured(unit) => {
            // The unit may stand before a qualifier: wait_ms_max.
            let unit_word = if unit == "µs" { "us" } else { unit };
            let words = name.split('_').enumerate();
            let rest = words.filter(|(at, w)| *at == 0 || !w.eq_ignore_ascii_case(unit_word));
            let rest: Vec<&str> = rest.map(|(_, word)| word).collect();
            format!("{} [{unit}]", rest.join(" "))
        }
        _ => name.replace('_', " "),
    };
    visible(&text)
}

/// A value as a small picture.
#[derive(Debug, PartialEq, Eq)]
enum Drawn {
    /// Stands beside the number.
    Bar(String),
    /// Stands for the numbers.
    Curve(String),
}

/// Characters of a bar; each is eight steps.
const BAR_WIDTH: usize = 8;

/// Most points of a curve.
const CURVE_WIDTH_MAX: usize = 60;

/// A share from 0 to 1 as a bar, a histogram's list of numbers as a curve from zero to its largest.
fn drawn(name: &str, value: &Value) -> Option<Drawn> {
    const STEPS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match value {
        Value::Double(x) if is_share(name) && (0.0..=1.0).contains(x) => {
            let full = (x * (BAR_WIDTH * 8) as f64).round() as usize;
            let part = |at: usize| STEPS[full.saturating_sub(at * 8).min(8)];
            Some(Drawn::Bar((0..BAR_WIDTH).map(part).collect()))
        }
        Value::List(items)
            if name.ends_with("histogram")
                && !items.is_empty()
                && items.len() <= CURVE_WIDTH_MAX =>
        {
            let numbers: Option<Vec<f64>> =
                items.iter().map(|item| json(item).as_f64().filter(|x| *x >= 0.0)).collect();
            let numbers = numbers?;
            let most = numbers.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let height = |x: &f64| HEIGHTS[((x / most * 7.0).round() as usize).min(7)];
            Some(Drawn::Curve(numbers.iter().map(height).collect()))
        }
        _ => None,
    }
}

/// Whether a column holds shares of a whole, as its name says.
fn is_share(name: &str) -> bool {
    name == "utilisation" || name == "rate" || name == "share" || name.ends_with("_share")
}

/// A value for a table for people.
fn for_people(column: &Column, value: &Value, width: Option<u16>) -> String {
    let quantity = if column.given { Quantity::Plain } else { quantity(&column.name) };
    let integer = match value {
        Value::TinyInt(x) => Some(i128::from(*x)),
        Value::SmallInt(x) => Some(i128::from(*x)),
        Value::Int(x) => Some(i128::from(*x)),
        Value::BigInt(x) => Some(i128::from(*x)),
        Value::HugeInt(x) => Some(*x),
        Value::UTinyInt(x) => Some(i128::from(*x)),
        Value::USmallInt(x) => Some(i128::from(*x)),
        Value::UInt(x) => Some(i128::from(*x)),
        Value::UBigInt(x) => Some(i128::from(*x)),
        _ => None,
    };
    match (quantity, integer, value) {
        (_, _, Value::Null) => String::new(),
        (Quantity::Instant, Some(ns), _) => scaled(ns, 1_000_000_000, 9, 6),
        (Quantity::Duration, Some(ns), _) => scaled(ns, 1_000_000, 6, 3),
        (Quantity::Address, Some(address), _) => format!("{address:#x}"),
        (Quantity::Name, Some(number), _) => number.to_string(),
        (_, Some(number), _) => grouped(&number.to_string()),
        (_, _, Value::Double(x)) => float(*x),
        (_, _, Value::Float(x)) => float(f64::from(*x)),
        _ => {
            let text = plain(value);
            // A cell is laid out word by word, which takes long for a text of megabytes.
            let limit = width.map_or(CELL_WIDTH_MAX, usize::from);
            match text.char_indices().nth(limit) {
                Some((end, _)) => visible(&text[..end]) + "…",
                None => visible(&text),
            }
        }
    }
}

/// An integer divided by `unit`, exact: all its `digits` decimals, but not more than `shown` where the rest
/// is zero.
fn scaled(value: i128, unit: i128, digits: usize, shown: usize) -> String {
    let (whole, part) = (value.abs() / unit, value.abs() % unit);
    let mut decimals = format!("{part:0digits$}");
    while decimals.len() > shown && decimals.ends_with('0') {
        decimals.pop();
    }
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}.{decimals}", grouped(&whole.to_string()))
}

/// A measured number: three decimals, more where it is small.
fn float(x: f64) -> String {
    if !x.is_finite() {
        return plain(&Value::Double(x));
    }
    let size = x.abs();
    let text = if size >= 1e15 || (size > 0.0 && size < 1e-6) {
        return format!("{x:e}");
    } else if size == 0.0 || size >= 0.1 {
        format!("{x:.3}")
    } else {
        format!("{x:.6}")
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    format!("{}.{decimals}", grouped(whole))
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut out = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The text with everything that a terminal would obey written out: control characters and those
/// that turn the direction of writing.
pub fn visible(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(obeyed) {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if !obeyed(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    out
}

/// A text of a Markdown table: its marks are escaped, its lines joined.
fn markdown(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        if matches!(c, '|' | '<' | '`' | '\\' | '[' | '*' | '_') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A field of CSV.
fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => csv_text(&plain(value)),
    }
}

/// A text as a field of CSV: quoted where RFC 4180 wants it, and where it is empty.
fn csv_text(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(format: Format, width: Option<u16>) -> String {
        let mut out = Vec::new();
        let mut renderer = Renderer::new(&mut out, format, width);
        let column = |name: &str, numeric| Column { name: name.into(), numeric, given: false };
        let columns = [
            column("process", false),
            column("pid", true),
            column("ts_ns", true),
            column("wait_ns", true),
            column("events", true),
            column("share", true),
        ];
        renderer.columns(&columns).unwrap();
        let rows = [
            [
                Value::Text("a|b\u{1b}[31m\"x\",\n<i>".into()),
                Value::BigInt(12345),
                Value::BigInt(1_234_567_890_123),
                Value::BigInt(-1500),
                Value::BigInt(i64::MAX),
                Value::Double(0.25),
            ],
            [
                Value::Text("=cmd()".into()),
                Value::Null,
                Value::BigInt(5_000_000_000),
                Value::BigInt(2_000_000),
                Value::UBigInt(0),
                Value::Double(f64::NAN),
            ],
        ];
        for row in &rows {
            renderer.row(row).unwrap();
        }
        renderer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_is_raw_and_quoted_by_the_rules() {
        assert_eq!(
            rendered(Format::Csv, None),
            "process,pid,ts_ns,wait_ns,events,share\r\n\
             \"a|b\u{1b}[31m\"\"x\"\",\n<i>\",12345,1234567890123,-1500,9223372036854775807,0.25\r\n\
             =cmd(),,5000000000,2000000,0,nan\r\n"
        );
    }

    #[test]
    fn json_keeps_every_digit_and_parses() {
        let text = rendered(Format::Json, None);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed[0]["events"].as_i64(), Some(i64::MAX));
        assert_eq!(parsed[0]["process"], "a|b\u{1b}[31m\"x\",\n<i>");
        assert!(parsed[1]["pid"].is_null() && parsed[1]["share"].is_null());
        let lines = rendered(Format::Jsonl, None);
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok()));
    }

    #[test]
    fn markdown_escapes_what_would_leave_the_cell() {
        let text = rendered(Format::Markdown, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[1], "| --- | ---: | ---: | ---: | ---: | ---: |");
        assert!(lines[2].starts_with("| a\\|b\\\\u{1b}\\[31m\"x\",\\\\n\\<i> | 12345 |"), "{text}");
    }

    #[test]
    fn tables_are_for_people() {
        let text = rendered(Format::Table, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        for word in ["process", "pid", "at [s]", "wait [ms]", "events", "share"] {
            assert!(lines[0].contains(word), "{text}");
        }
        for word in ["12345", "1,234.567890123", "-0.0015", "9,223,372,036,854,775,807", "0.250"] {
            assert!(lines[1].contains(word), "{word} in\n{text}");
        }
        assert!(lines[2].contains("5.000000") && lines[2].contains("2.000"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn a_terminal_gets_lines_that_fit() {
        let text = rendered(Format::Table, Some(80));
        // The heading is bold, and so longer in bytes.
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("9,223,372,036,854,775,807"), "numbers are whole: {text}");
    }

    #[test]
    fn shares_and_lists_are_drawn_where_that_is_asked_for() {
        let bar = |x: f64| drawn("idle_share", &Value::Double(x));
        assert_eq!(bar(0.0), Some(Drawn::Bar("        ".into())));
        assert_eq!(bar(0.25), Some(Drawn::Bar("██      ".into())));
        assert_eq!(bar(0.3), Some(Drawn::Bar("██▍     ".into())));
        assert_eq!(bar(1.0), Some(Drawn::Bar("████████".into())));
        assert_eq!((bar(1.5), bar(f64::NAN)), (None, None));
        assert_eq!(drawn("cpu_s", &Value::Double(0.5)), None);
        let list = |items: &[f64]| {
            drawn("histogram", &Value::List(items.iter().map(|x| Value::Double(*x)).collect()))
        };
        assert_eq!(list(&[0.0, 3.5, 7.0]), Some(Drawn::Curve("▁▅█".into())));
        assert_eq!((list(&[]), list(&[-1.0])), (None, None));
        assert!(!rendered(Format::Table, Some(200)).contains('█'), "only where asked for");
    }

    #[test]
    fn headings_name_units() {
        for (name, want) in [
            ("ready_ts_ns", "ready [s]"),
            ("wait_ms_max", "wait max [ms]"),
            ("duration_ms", "duration [ms]"),
            ("hold_us", "hold [µs]"),
            ("cpu_s", "cpu [s]"),
            ("os_build", "os build"),
        ] {
            assert_eq!(heading(name), want);
        }
    }

    #[test]
    fn empty_answers_have_a_header_where_the_format_wants_one() {
        for (format, want) in [
            (Format::Csv, "a\r\n"),
            (Format::Json, "[]\n"),
            (Format::Jsonl, ""),
            (Format::Table, ""),
            (Format::Markdown, "| a |\n| --- |\n"),
        ] {
            let mut out = Vec::new();
            let mut renderer = Renderer::new(&mut out, format, None);
            renderer.columns(&[Column { name: "a".into(), numeric: false, given: false }]).unwrap();
            renderer.finish().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), want, "{format:?}");
        }
    }
}
