//! One scenario in several disguises: plain, compressed, with pointers of the other width, with a header of the
//! other width, rotated as a circular file is. The bytes differ, the rows must not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use etwas_ingest::IngestOptions;
use etwas_ingest::input::InputArgs;
use etwas_writer::{Scenario, Variant};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Scenarios of damaged and overwritten files: what they lose depends on where their buffers end.
const LOSING: &[&str] =
    &["compressed-corrupt", "corrupt-buffer", "corrupt-record", "end-rundown-only", "truncated"];

/// The tables of the only recording below `folder`, by name.
type Tables = BTreeMap<String, RecordBatch>;

fn ingest(scenario: &Scenario, variant: &Variant) -> Tables {
    let folder = tempfile::tempdir().unwrap();
    let (input, lake) = (folder.path().join("in"), folder.path().join("lake"));
    fs::create_dir(&input).unwrap();
    for file in scenario.write(variant) {
        fs::write(input.join(&file.name), &file.bytes).unwrap();
    }
    let options = IngestOptions {
        input: InputArgs { inputs: vec![input.into()], ..InputArgs::default() },
        lake: lake.clone(),
        jobs: Some(1),
        ..IngestOptions::default()
    };
    etwas_ingest::run(&options, &()).unwrap();
    let mut recordings = fs::read_dir(&lake).unwrap().flatten().map(|entry| entry.path());
    let recording = recordings
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("trace_id="))
        .expect("one recording");
    read(&recording)
}

fn read(recording: &Path) -> Tables {
    let mut tables = Tables::new();
    for table in etwas_schema::TABLES {
        let file = File::open(recording.join(format!("{}.parquet", table.name))).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let schema = reader.schema();
        let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        tables.insert(table.name.into(), concat_batches(&schema, &batches).unwrap());
    }
    tables
}

/// Columns that speak of the file and not of what it records.
fn is_of_the_file(table: &str, column: &str) -> bool {
    match table {
        "trace" => true,
        "event_census" => matches!(column, "trace_id" | "bytes"),
        _ => column == "trace_id",
    }
}

/// Compares the tables; `width` says that the width of pointers differs too, and with it every address.
fn differences(plain: &Tables, other: &Tables, width: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (table, want) in plain {
        let have = &other[table];
        if want.num_rows() != have.num_rows() {
            found.push(format!("{table}: {} rows, not {}", have.num_rows(), want.num_rows()));
            continue;
        }
        for (at, field) in want.schema().fields().iter().enumerate() {
            let address = width && *field.data_type() == DataType::UInt64;
            if address || is_of_the_file(table, field.name()) {
                continue;
            }
            if want.column(at) != have.column(at) {
                found.push(format!("{table}.{}", field.name()));
            }
        }
    }
    found
}

#[test]
fn rows_are_the_same_in_every_disguise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let mut texts: Vec<_> = ["", "rules"]
        .iter()
        .flat_map(|below| fs::read_dir(folder.join(below)).unwrap().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .filter(|path| !LOSING.iter().any(|name| path.ends_with(format!("{name}.txt"))))
        .collect();
    texts.sort();
    let mut wrong = Vec::new();
    for path in &texts {
        let scenario = Scenario::parse(&fs::read_to_string(path).unwrap()).unwrap();
        let plain = ingest(&scenario, &Variant::default());
        let variants = [
            ("compressed", Variant { compressed: true, ..Variant::default() }),
            ("32-bit", Variant { bits: Some(32), ..Variant::default() }),
            ("64-bit", Variant { bits: Some(64), ..Variant::default() }),
            ("header of 32 bits", Variant { file_bits: Some(32), ..Variant::default() }),
            ("rotated", Variant { rotate: true, ..Variant::default() }),
        ];
        for (name, variant) in variants {
            let other = ingest(&scenario, &variant);
            let found = differences(&plain, &other, variant.bits.is_some());
            if !found.is_empty() {
                let scenario = path.file_stem().unwrap().to_string_lossy();
                wrong.push(format!("{scenario}, {name}: {}", found.join(", ")));
            }
        }
    }
    assert!(texts.len() > 100, "{} scenarios", texts.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
