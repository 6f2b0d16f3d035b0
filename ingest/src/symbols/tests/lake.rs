//! A lake of small recordings: names added once, added later, added better, and what is still missed.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::record_batch::RecordBatch;
use etwas_schema::{Recording, TableBuilder, frame, image, stack};
use parquet::arrow::ArrowWriter;

use super::*;
use crate::symbols::table::{read_rows, symbol_files};
use crate::symbols::{SYMBOLS_FOLDER, SymbolReport, Trouble, symbol_report, symbolize_lake};

fn write(folder: &Path, table: &str, batch: &RecordBatch) {
    fs::create_dir_all(folder).unwrap();
    let file = fs::File::create(folder.join(format!("{table}.parquet"))).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Only the columns that are read, each checked against the declaration.
fn write_some(folder: &Path, table: &str, columns: Vec<(&str, Vec<Option<i64>>)>) {
    let declared = etwas_schema::table(table).expect("a declared table");
    let arrays = columns.into_iter().map(|(name, values)| {
        assert!(declared.columns.iter().any(|column| column.name == name), "{table}.{name}");
        (name, Arc::new(Int64Array::from(values)) as ArrayRef)
    });
    write(folder, table, &RecordBatch::try_from_iter(arrays).unwrap());
}

/// A recording with one image per module, and one frame at each probe of its functions; frame ids count from 0.
fn record(lake: &Path, trace_id: i64, lines: &[Truth]) -> PathBuf {
    let folder = lake.join(format!("trace_id={trace_id}"));
    let recording = Recording { trace_id, start_unix_ns: 0 };
    let (mut images, mut frames) = (image::Builder::default(), frame::Builder::default());
    let mut keys: BTreeMap<String, i64> = BTreeMap::new();
    for line in lines {
        let next = keys.len() as i64;
        let it = &line.identity;
        let key = *keys.entry(it.module.clone()).or_insert(next);
        if key == next {
            push_image(&mut images, key, it);
        }
        for rva in probes(std::slice::from_ref(line)) {
            frames.push(&frame::Row {
                frame_id: frames.len() as i64,
                address: 0x7ff0_0000_0000 + u64::from(rva),
                is_kernel: false,
                image_key: Some(key),
                module: Some(&it.module),
                rva: Some(i64::from(rva)),
                function: None,
                function_offset: None,
                module_id: Some(&it.module_id),
            });
        }
    }
    write(&folder, "image", &images.finish(recording));
    write(&folder, "frame", &frames.finish(recording));
    folder
}

fn push_image(images: &mut image::Builder, image_key: i64, it: &ModuleIdentity) {
    images.push(&image::Row {
        image_key,
        process_key: None,
        base: 0x7ff0_0000_0000,
        size: it.size.map_or(0, i64::from),
        load_ts_ns: None,
        unload_ts_ns: None,
        path: &it.module,
        dos_path: None,
        name: &it.module,
        timestamp: it.timestamp.map(i64::from),
        checksum: None,
        pdb_name: it.pdb_name.as_deref(),
        pdb_guid: it.pdb_guid.as_deref(),
        pdb_age: it.pdb_age.map(i64::from),
        file_version: None,
        company: None,
        product: None,
        description: None,
        original_name: None,
    });
}

fn symbolize(lake: &Path, path: &str) -> SymbolReport {
    symbolize_lake(lake, &options(path), &|_| {}).expect("a lake")
}

fn pdbs() -> String {
    fixtures().join("pdb").display().to_string()
}

fn bins() -> String {
    fixtures().join("bin").display().to_string()
}

/// All rows of the table, after checking that no key has two.
fn rows(lake: &Path) -> BTreeMap<(String, u32), (String, &'static str)> {
    let mut all = BTreeMap::new();
    for file in symbol_files(&lake.join(SYMBOLS_FOLDER)) {
        let mut rows = BTreeMap::new();
        read_rows(&file, &mut rows).unwrap();
        for (key, value) in rows {
            let row = (value.named.function, value.source.as_str());
            assert_eq!(all.insert(key, row), None, "a key has one row");
        }
    }
    all
}

fn files(lake: &Path) -> Vec<PathBuf> {
    symbol_files(&lake.join(SYMBOLS_FOLDER))
}

#[test]
fn each_address_is_looked_up_once_and_again_changes_nothing() {
    let lake = tempfile::tempdir().unwrap();
    let (kernel, shell) = (truth_of("ntoskrnl.exe"), truth_of("cmd.exe"));
    record(lake.path(), 1, &[kernel.clone(), shell.clone()].concat());
    record(lake.path(), 2, &kernel);
    let report = symbolize(lake.path(), &pdbs());
    let count = (kernel.len() + shell.len()) as u64 * 3;
    assert_eq!((report.recordings, report.modules, report.modules_with_pdb), (2, 2, 2));
    assert_eq!((report.addresses, report.addresses_named), (count, count));
    let first = files(lake.path());
    assert_eq!(report.file.as_ref(), first.first());
    let named = rows(lake.path());
    assert_eq!(named.len() as u64, count);
    for line in kernel.iter().chain(&shell) {
        let key = (line.identity.module_id.clone(), line.rva);
        assert_eq!(named[&key], (line.function.clone(), "pdb"));
    }

    let again = symbolize(lake.path(), &pdbs());
    assert_eq!((again.addresses_known, again.addresses_named, again.file), (count, 0, None));
    assert_eq!(files(lake.path()), first);
    // The same lake from scratch gives the same bytes.
    let bytes = fs::read(&first[0]).unwrap();
    fs::remove_dir_all(lake.path().join(SYMBOLS_FOLDER)).unwrap();
    symbolize(lake.path(), &pdbs());
    assert_eq!((files(lake.path()), fs::read(&first[0]).unwrap()), (first, bytes));
}

#[test]
fn names_come_later_and_better() {
    let lake = tempfile::tempdir().unwrap();
    let lines = truth_of("lua51.dll");
    record(lake.path(), 1, &lines);
    let nothing = tempfile::tempdir().unwrap();
    let report = symbolize(lake.path(), nothing.path().to_str().unwrap());
    assert_eq!((report.addresses_named, report.addresses_unnamed()), (0, lines.len() as u64 * 3));
    assert_eq!(rows(lake.path()).len(), 0);
    // The image alone knows the exports; the neighbours' addresses are close enough to be taken for them.
    let report = symbolize(lake.path(), &bins());
    assert_eq!((report.modules_with_pdb, report.modules_with_exports), (0, 1));
    assert!(rows(lake.path()).values().all(|(_, source)| *source == "export"));
    let from_exports = report.addresses_named;
    // A PDB replaces them.
    let report = symbolize(lake.path(), &pdbs());
    assert_eq!(report.addresses_improved, from_exports);
    assert_eq!(report.addresses_unnamed(), 0);
    let named = rows(lake.path());
    assert_eq!(named.len(), lines.len() * 3);
    assert!(named.values().all(|(_, source)| *source == "pdb"));
    assert_eq!(files(lake.path()).len(), 1, "the replaced file is gone");
    // And exports never replace a PDB's.
    let report = symbolize(lake.path(), &bins());
    assert_eq!((report.file, rows(lake.path())), (None, named));
}

#[test]
fn small_files_are_merged_when_they_pile_up() {
    let lake = tempfile::tempdir().unwrap();
    let all = truth();
    let mut recorded = Vec::new();
    for (index, line) in all.iter().filter(|it| it.symbols != "none").take(40).enumerate() {
        recorded.push(line.clone());
        record(lake.path(), index as i64, std::slice::from_ref(line));
        symbolize(lake.path(), &pdbs());
        assert!(files(lake.path()).len() <= 17, "{}", files(lake.path()).len());
    }
    assert!(files(lake.path()).len() < 16);
    assert_eq!(rows(lake.path()).len(), recorded.len() * 3);
}

#[test]
fn two_at_once_leave_what_one_leaves() {
    let lake = tempfile::tempdir().unwrap();
    let lines: Vec<Truth> = truth().into_iter().filter(|it| it.symbols != "none").collect();
    record(lake.path(), 1, &lines);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| symbolize(lake.path(), &pdbs()));
        }
    });
    assert_eq!(rows(lake.path()).len(), lines.len() * 3);
}

#[test]
fn a_bad_pdb_or_recording_costs_itself() {
    let lake = tempfile::tempdir().unwrap();
    let (kernel, shell) = (truth_of("ntoskrnl.exe"), truth_of("cmd.exe"));
    record(lake.path(), 1, &[kernel.clone(), shell.clone()].concat());
    fs::create_dir(lake.path().join("trace_id=2")).unwrap();
    fs::write(lake.path().join("trace_id=2/image.parquet"), "PAR1 no").unwrap();
    let places = tempfile::tempdir().unwrap();
    let cut = fs::read(pdb_of(&kernel[0].identity)).unwrap();
    fs::write(places.path().join("ntkrnlmp.pdb"), &cut[..cut.len() / 2]).unwrap();
    fs::copy(pdb_of(&shell[0].identity), places.path().join("cmd.pdb")).unwrap();
    let report = symbolize(lake.path(), places.path().to_str().unwrap());
    assert_eq!(report.recordings_failed.len(), 1);
    assert_eq!(report.count(Trouble::Damaged), 1, "{:?}", report.complaints);
    let line = report.complaints[0].to_string();
    assert!(line.contains("ntkrnlmp.pdb") && line.contains("damaged"), "{line}");
    assert_eq!(rows(lake.path()).len(), shell.len() * 3);
}

#[test]
fn what_is_missed_most_comes_first() {
    let lake = tempfile::tempdir().unwrap();
    let (console, usage, shell) =
        (truth_of("conhost.exe"), truth_of("srudb.dll"), truth_of("cmd.exe"));
    let lines = [&console[..1], &usage[..1], &shell[..1]].concat();
    let folder = record(lake.path(), 1, &lines);
    // Frames 0 to 2 are conhost, 3 to 5 srudb, 6 to 8 cmd.
    let mut stacks = stack::Builder::default();
    for (stack_id, frame_ids) in [(0, vec![0, 3]), (1, vec![3, 4]), (2, vec![6])] {
        let frame_count = frame_ids.len() as i32;
        stacks.push(&stack::Row { stack_id, frame_count, frame_ids: &frame_ids });
    }
    write(&folder, "stack", &stacks.finish(Recording { trace_id: 1, start_unix_ns: 0 }));
    write_some(
        &folder,
        "cswitch",
        vec![
            ("new_stack_id", vec![Some(0), Some(0), None, Some(2)]),
            ("ready_stack_id", vec![Some(1), None, Some(1), None]),
            ("since_last_ns", vec![Some(500), None, Some(70), Some(9)]),
            ("ready_ns", vec![Some(100), Some(1), Some(0), Some(9)]),
        ],
    );
    write_some(&folder, "sample", vec![("stack_id", vec![Some(1), Some(2), None])]);
    let places = tempfile::tempdir().unwrap();
    fs::copy(pdb_of(&shell[0].identity), places.path().join("cmd.pdb")).unwrap();
    symbolize(lake.path(), places.path().to_str().unwrap());
    let missing = symbol_report(lake.path()).unwrap();
    let shown: Vec<_> = missing
        .iter()
        .map(|it| (it.module.as_str(), it.waits, it.wait_ns, it.samples, it.frames))
        .collect();
    assert_eq!(shown, [("srudb.dll", 3, 470, 1, 3), ("conhost.exe", 2, 400, 0, 3)]);
    assert_eq!(missing[0].file.as_deref(), Some("srudb.pdb"));
    assert_eq!(missing[0].id.as_ref(), Some(&usage[0].identity.module_id));
    symbolize(lake.path(), &pdbs());
    assert_eq!(symbol_report(lake.path()).unwrap(), []);
}
