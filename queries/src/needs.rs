//! What a question needs, and what to record so that a trace has it. Feeds the views that say which
//! questions a trace can answer, and the sentence "not answerable, because ...".

use crate::front_matter::Question;

/// Table, what to record, WPR profile.
static RECORD_WITH: &str = include_str!("record_with.tsv");

/// Need, kind, name, name in WPR or GUID, keywords, keywords of the state.
static RECORDERS: &str = include_str!("recorders.tsv");

/// One thing that a recorder is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// A group of kernel events.
    Flag {
        /// The kernel flag of xperf.
        xperf: &'static str,
        /// The keyword of WPR.
        wpr: &'static str,
    },
    /// Stacks of a kernel event.
    Stack {
        /// As xperf calls it.
        xperf: &'static str,
        /// As WPR calls it.
        wpr: &'static str,
    },
    /// A provider of events.
    Provider {
        /// Its name.
        name: &'static str,
        /// Its GUID, lower case, without braces.
        guid: &'static str,
        /// The keywords, all of which are wanted.
        keywords: u64,
        /// Those with which a capture of its state is asked for; zero where there is no state.
        state: u64,
        /// Whether it belongs to another program than Windows.
        foreign: bool,
    },
}

/// What each need takes, with the need: one per line of the list.
pub fn recorders() -> impl Iterator<Item = (&'static str, Recorder)> {
    let hex = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    RECORDERS.lines().filter(|line| !line.starts_with('#')).filter_map(move |line| {
        let mut parts = line.split('\t');
        let (need, kind, name, other) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let recorder = match kind {
            "flag" => Recorder::Flag { xperf: name, wpr: other },
            "stack" => Recorder::Stack { xperf: name, wpr: other },
            _ => Recorder::Provider {
                name,
                guid: other,
                keywords: hex(parts.next()?)?,
                state: hex(parts.next()?)?,
                foreign: kind == "other",
            },
        };
        Some((need, recorder))
    })
}

/// Table, kernel flag or provider, WPR profile: one per line of the list.
pub fn record_with() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    RECORD_WITH.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut parts = line.split('\t');
        Some((parts.next()?, parts.next()?, parts.next()?))
    })
}

/// What to record so that `need` (a table, or table.column) has rows.
pub fn hint(need: &str) -> String {
    let table = need.split('.').next().unwrap_or(need);
    let own = record_with().find(|(name, ..)| *name == need);
    match own.or_else(|| record_with().find(|(name, ..)| *name == table)) {
        Some((_, record, "any" | "none")) => record.to_owned(),
        Some((_, record, profile)) => format!("{record} (WPR profile {profile})"),
        None => format!("whatever fills {table}"),
    }
}

/// Everything a question needs: tables, then columns as table.column.
pub fn of(question: &Question) -> Vec<&str> {
    let mut all = question.needs();
    all.extend(question.needs_columns());
    all
}

/// SQL that counts, per recording, the rows of a table or the values of a column.
pub fn evidence_sql(need: &str) -> String {
    match need.split_once('.') {
        None => format!(
            "SELECT n.trace_id, '{need}' AS need, count(*) AS found FROM {need} AS n GROUP BY ALL"
        ),
        Some((table, column)) => format!(
            "SELECT n.trace_id, '{need}' AS need, count(n.{column}) AS found \
             FROM {table} AS n GROUP BY ALL HAVING count(n.{column}) > 0"
        ),
    }
}
