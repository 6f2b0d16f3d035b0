//! What a question needs, and what to record so that a trace has it. Feeds the views that say which
//! questions a trace can answer, and the sentence "not answerable, because ...".

use crate::front_matter::Question;

/// Table, what to record, WPR profile.
static RECORD_WITH: &str = include_str!("record_with.tsv");

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
