//! Every SQL file of this crate, embedded at build time and read once: the questions by topic and
//! name, and the building blocks they are made of. Used by everything that lists, runs or explains.

use std::sync::OnceLock;

use crate::front_matter::{FileError, Question, Statement, question, statements};

/// Path and text of every SQL file, sorted by path.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What the SQL files hold.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The questions, sorted by topic and name.
    pub questions: Vec<Question>,
    /// The building blocks with their files, sorted by file.
    pub blocks: Vec<(String, Statement)>,
    /// Mistakes in files; a test keeps this empty. A file with a mistake is left out.
    pub errors: Vec<FileError>,
}

impl Catalog {
    /// Reads files given as path and text.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Catalog {
        let mut catalog = Catalog::default();
        for (file, text) in files {
            if file.starts_with("lib/") {
                match statements(file, text) {
                    Ok(all) => catalog.blocks.extend(all.into_iter().map(|s| (file.into(), s))),
                    Err(error) => catalog.errors.push(error),
                }
            } else {
                match question(file, text) {
                    Ok(question) => catalog.questions.push(question),
                    Err(error) => catalog.errors.push(error),
                }
            }
        }
        catalog.questions.sort_by(|a, b| (&a.topic, &a.name).cmp(&(&b.topic, &b.name)));
        catalog
    }

    /// The question called `name`.
    pub fn question(&self, name: &str) -> Option<&Question> {
        self.questions.iter().find(|q| q.name == name)
    }

    /// Names of questions that look like `name`, the nearest first, at most three.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let name = name.to_lowercase();
        let mut all: Vec<(usize, &str)> = Vec::new();
        for question in &self.questions {
            let distance = distance(&name, &question.name);
            let part = name.len() >= 3 && question.name.contains(&name);
            if part || distance <= 1 + question.name.len() / 4 {
                all.push((if part { 0 } else { distance }, &question.name));
            }
        }
        all.sort();
        all.into_iter().take(3).map(|(_, name)| name).collect()
    }
}

/// The embedded catalogue.
pub fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::read(FILES.iter().copied()))
}

/// Path and text of every embedded SQL file.
pub fn files() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// How many letters must change to make `b` of `a` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_changes() {
        assert_eq!(distance("starvation", "starvation"), 0);
        assert_eq!(distance("starvaton", "starvation"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
