//! A lake written table by table answers as the lake that it was made from.

use std::fs;
use std::path::{Path, PathBuf};

use etwas_ingest::IngestOptions;
use etwas_ingest::input::InputArgs;
use etwas_ingest::lake::LakeError;
use etwas_queries::compact::compact;
use etwas_queries::run::{Answer, Request, Target};
use etwas_queries::{Error, Lake, OpenOptions, catalog};

fn options(lake: &Path) -> IngestOptions {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/traces");
    let names = ["calm.etl", "exits-48.etl", "first-light.etl", "hitch-fast.etl"];
    IngestOptions {
        input: InputArgs {
            inputs: names.iter().map(|name| traces.join(name).into()).collect(),
            ..InputArgs::default()
        },
        lake: lake.to_owned(),
        jobs: Some(2),
        ..IngestOptions::default()
    }
}

fn open(root: &Path) -> Lake {
    Lake::open(root, &OpenOptions::default()).expect("the lake opens")
}

/// The answer to a question that needs no parameters, or how it was refused.
fn ask(lake: &Lake, name: &str) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let request = Request { name: name.into(), ..Request::default() };
    lake.ask(&request, Target::Sink(&mut answer)).map_err(|error| error.to_string())?;
    Ok(answer)
}

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn both_layouts_answer_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (root, copy) = (folder.path().join("lake"), folder.path().join("copy"));
    etwas_ingest::run(&options(&root), &()).unwrap();
    let done = compact(&root, &copy).unwrap();
    assert_eq!((done.recordings, done.files), (4, etwas_schema::TABLES.len()));
    let (lake, compacted) = (open(&root), open(&copy));
    for table in etwas_schema::TABLES {
        let sql = format!("SELECT count(*), count(DISTINCT trace_id) FROM {}", table.name);
        let count = |lake: &Lake| {
            let mut answer = Answer::default();
            lake.sql(&sql, None, Target::Sink(&mut answer)).expect("the view is there");
            answer.rows
        };
        assert_eq!(count(&lake), count(&compacted), "{}", table.name);
    }
    let mut asked = 0;
    for question in &catalog().questions {
        if question.parameters().iter().any(|parameter| parameter.default.is_none()) {
            continue;
        }
        let (want, have) = (ask(&lake, &question.name), ask(&compacted, &question.name));
        assert_eq!(
            want.as_ref().map(|a| &a.rows),
            have.as_ref().map(|a| &a.rows),
            "{}",
            question.name
        );
        asked += usize::from(want.is_ok_and(|answer| !answer.rows.is_empty()));
    }
    assert!(asked > 20, "{asked} questions had an answer");
}

#[test]
fn a_copy_is_whole_the_same_again_and_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let (root, copy) = (folder.path().join("lake"), folder.path().join("copy"));
    etwas_ingest::run(&options(&root), &()).unwrap();
    compact(&root, &copy).unwrap();
    let first = files(&copy);
    compact(&root, &copy).unwrap();
    let parquet = |files: Vec<(PathBuf, Vec<u8>)>| {
        files
            .into_iter()
            .filter(|(path, _)| path.extension().is_some_and(|e| e == "parquet"))
            .collect::<Vec<_>>()
    };
    assert!(parquet(first) == parquet(files(&copy)));
    assert!(matches!(compact(&copy, &root), Err(Error::Usage(_))));
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    assert!(matches!(compact(&root, &taken), Err(Error::Usage(_))));
    let error = etwas_ingest::run(&options(&copy), &()).unwrap_err();
    assert!(error.to_string().contains("only read"), "{error}");
    let error = etwas_ingest::lake::Lake::open(&copy).unwrap_err();
    assert!(matches!(error, LakeError::Compact { .. }), "{error}");
    let left: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}
