//! The lake from outside: what readers see while recordings come, go and fail.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;

/// A manifest of one table for content of this hash.
fn manifest(hash: &[u8; 32], path: &str) -> Manifest {
    Manifest {
        etwas_version: "1.2.3".to_owned(),
        options: json!({ "tables": null, "redact": false }),
        name: "a".to_owned(),
        inputs: vec![ManifestInput {
            path: path.to_owned(),
            bytes: Some(7),
            content_hash: Some(hex(hash)),
        }],
        also_at: Vec::new(),
        content_hash: Some(hex(hash)),
        status: Status::Ok,
        error: None,
        tables: [("cswitch".to_owned(), ManifestTable { rows: 3, bytes: 0 })].into(),
        details: Value::Null,
    }
}

/// A manifest for a file without readable content.
fn failure(path: &str) -> Manifest {
    Manifest {
        content_hash: None,
        inputs: vec![ManifestInput { path: path.to_owned(), bytes: None, content_hash: None }],
        status: Status::Failed,
        error: Some("cannot open".to_owned()),
        tables: BTreeMap::new(),
        ..manifest(&[0; 32], path)
    }
}

/// Publishes a recording whose one table holds `table`.
fn publish(lake: &Lake, hash: &[u8; 32], table: &[u8]) -> Result<PathBuf, LakeError> {
    let staging = lake.begin(lake.assign(hash)?)?;
    let path = staging.dir().join("cswitch.parquet");
    fs::write(&path, table).map_err(|error| LakeError::io("write", &path, error))?;
    staging.publish(&manifest(hash, "a.etl"))
}

/// Everything below a folder as relative paths, sorted.
fn tree(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path.clone());
            }
            found.push(path.strip_prefix(dir).unwrap().to_string_lossy().replace('\\', "/"));
        }
    }
    found.sort();
    found
}

fn new_lake() -> (tempfile::TempDir, Lake) {
    let dir = tempfile::tempdir().unwrap();
    let lake = Lake::open_or_create(&dir.path().join("lake")).unwrap();
    (dir, lake)
}

#[test]
fn a_new_lake_holds_a_marker_and_no_litter() {
    let (_dir, lake) = new_lake();
    assert_eq!(tree(lake.root()), [".staging", "etwas.json"]);
    assert!(Lake::open(lake.root()).is_ok());
    assert!(lake.recordings().unwrap().is_empty());
}

#[test]
fn an_empty_folder_becomes_a_lake_and_a_folder_of_other_things_does_not() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".DS_Store"), "x").unwrap();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    assert!(matches!(Lake::open(dir.path()), Err(LakeError::NotALake { .. })));
    Lake::open_or_create(dir.path()).unwrap();

    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.doc"), "x").unwrap();
    let error = Lake::open_or_create(other.path()).unwrap_err();
    assert!(error.to_string().starts_with("not a lake: "), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(tree(other.path()), ["thesis.doc"], "nothing may be written into it");

    let file = other.path().join("thesis.doc");
    assert!(matches!(Lake::open_or_create(&file), Err(LakeError::NotAFolder { .. })));
    let missing = other.path().join("none");
    assert!(matches!(Lake::open(&missing), Err(LakeError::Missing { .. })));
}

#[test]
fn a_lake_of_another_format_says_so() {
    let (_dir, lake) = new_lake();
    let marker = lake.root().join(MARKER_NAME);
    fs::write(&marker, r#"{"format": 99}"#).unwrap();
    let error = Lake::open_or_create(lake.root()).unwrap_err();
    assert!(matches!(error, LakeError::OtherFormat { found: 99, known: LAKE_FORMAT, .. }));
    assert!(error.hint().is_some());
    for text in ["", "{}", "[]", "\u{0}", r#"{"format": "1"}"#] {
        fs::write(&marker, text).unwrap();
        assert!(matches!(Lake::open(lake.root()), Err(LakeError::Damaged { .. })), "{text:?}");
    }
}

#[test]
fn recordings_copied_into_a_folder_are_a_lake() {
    let (dir, lake) = new_lake();
    let from = publish(&lake, &[5; 32], b"rows").unwrap();
    let together = dir.path().join("together");
    fs::create_dir(&together).unwrap();
    fs::rename(&from, together.join(from.file_name().unwrap())).unwrap();
    let lake = Lake::open_or_create(&together).unwrap();
    assert_eq!(lake.recordings().unwrap().len(), 1);
}

#[test]
fn a_recording_is_invisible_until_published_and_then_whole() {
    let (_dir, lake) = new_lake();
    let hash = [1; 32];
    let staging = lake.begin(lake.assign(&hash).unwrap()).unwrap();
    fs::write(staging.dir().join("cswitch.parquet"), "rows").unwrap();
    assert!(lake.recordings().unwrap().is_empty());
    let dir = staging.publish(&manifest(&hash, "a.etl")).unwrap();

    assert_eq!(tree(&dir), ["cswitch.parquet", "manifest.json"]);
    let entries = lake.recordings().unwrap();
    let found = entries[0].manifest.as_ref().unwrap();
    assert_eq!(found.tables["cswitch"], ManifestTable { rows: 3, bytes: 4 });
    assert_eq!(entries[0].trace_id, TraceId::of_content(&hash));
    assert_eq!(tree(&lake.root().join(STAGING_NAME)), [""; 0]);
}

#[test]
fn a_dropped_recording_leaves_nothing() {
    let (_dir, lake) = new_lake();
    let staging = lake.begin(TraceId::of_content(&[1; 32])).unwrap();
    fs::write(staging.dir().join("cswitch.parquet"), "rows").unwrap();
    drop(staging);
    assert_eq!(tree(lake.root()), [".staging", "etwas.json"]);
}

#[test]
fn a_missing_table_is_not_published() {
    let (_dir, lake) = new_lake();
    let staging = lake.begin(TraceId::of_content(&[1; 32])).unwrap();
    assert!(staging.publish(&manifest(&[1; 32], "a.etl")).is_err());
    assert_eq!(tree(lake.root()), [".staging", "etwas.json"]);
}

#[test]
fn replacing_leaves_only_the_new_one() {
    let (_dir, lake) = new_lake();
    publish(&lake, &[1; 32], b"old rows").unwrap();
    let dir = publish(&lake, &[1; 32], b"new").unwrap();
    assert_eq!(fs::read(dir.join("cswitch.parquet")).unwrap(), b"new");
    assert_eq!(lake.recordings().unwrap().len(), 1);
    assert_eq!(tree(&lake.root().join(STAGING_NAME)), [""; 0]);
}

#[test]
fn readers_see_old_or_new_at_any_instant_while_two_replace() {
    let (_dir, lake) = new_lake();
    let hash = [1; 32];
    let target = publish(&lake, &hash, b"0").unwrap();
    let writer = |table: &'static [u8]| {
        let root = lake.root().to_path_buf();
        move || {
            let lake = Lake::open_or_create(&root).unwrap();
            for _ in 0..60 {
                publish(&lake, &hash, table).unwrap();
            }
        }
    };
    thread::scope(|scope| {
        let writers = [scope.spawn(writer(b"11")), scope.spawn(writer(b"22"))];
        let mut reads = 0;
        while !writers.iter().all(|writer| writer.is_finished()) {
            // Only where the two names are exchanged in one step is there never a gap.
            match fs::read(target.join("cswitch.parquet")) {
                Ok(table) => assert!([&b"0"[..], b"11", b"22"].contains(&&table[..])),
                Err(error) if cfg!(target_os = "linux") => panic!("a gap: {error}"),
                Err(_) => {}
            }
            reads += 1;
        }
        assert!(reads > 0);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let table = fs::read(target.join("cswitch.parquet")).unwrap();
    assert!(table == b"11" || table == b"22");
    assert_eq!(tree(&lake.root().join(STAGING_NAME)), [""; 0]);
}

#[test]
fn without_the_exchange_the_old_one_is_moved_aside() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for (name, text) in [("new", "new"), ("target", "old")] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("file"), text).unwrap();
    }
    files::move_aside(&at("new"), &at("target"), &at("aside")).unwrap();
    assert_eq!(fs::read_to_string(at("target").join("file")).unwrap(), "new");
    assert_eq!(fs::read_to_string(at("aside").join("file")).unwrap(), "old");
    assert!(!at("new").exists());
}

#[test]
fn many_make_one_lake_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("lake");
    thread::scope(|scope| {
        let workers: Vec<_> = (0..8u8)
            .map(|n| {
                let root = &root;
                scope.spawn(move || {
                    let lake = Lake::open_or_create(root)?;
                    publish(&lake, &[n + 1; 32], &[n])
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| drop(worker.join().unwrap().unwrap()));
    });
    assert_eq!(Lake::open(&root).unwrap().recordings().unwrap().len(), 8);
    assert_eq!(tree(&root.join(STAGING_NAME)), [""; 0]);
}

#[test]
fn removing_takes_out_one_recording() {
    let (_dir, lake) = new_lake();
    publish(&lake, &[1; 32], b"one").unwrap();
    publish(&lake, &[2; 32], b"two").unwrap();
    let id = TraceId::of_content(&[1; 32]);
    assert!(lake.remove(id).unwrap());
    assert!(!lake.remove(id).unwrap());
    assert_eq!(lake.recordings().unwrap().len(), 1);
    assert_eq!(tree(&lake.root().join(STAGING_NAME)), [""; 0]);
}

#[test]
fn empty_tables_are_written_once_and_renewed_with_the_schema() {
    let (_dir, lake) = new_lake();
    let write = |dir: &Path| fs::write(dir.join("cswitch.parquet"), "no rows");
    lake.ensure_empty("v1", write).unwrap();
    assert!(lake.root().join("empty/trace_id=0/cswitch.parquet").is_file());
    lake.ensure_empty("v1", |_| panic!("it is there")).unwrap();
    lake.ensure_empty("v2", |dir| fs::write(dir.join("ready.parquet"), "")).unwrap();
    assert_eq!(
        tree(&lake.root().join(EMPTY_NAME)),
        ["schema.json", "trace_id=0", "trace_id=0/ready.parquet"]
    );
    // A failed write changes nothing.
    let fail = |_: &Path| Err(std::io::ErrorKind::StorageFull.into());
    let error = lake.ensure_empty("v3", fail).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(lake.root().join("empty/trace_id=0/ready.parquet").is_file());
    assert!(lake.recordings().unwrap().is_empty(), "empty tables are no recording");
    assert_eq!(tree(&lake.root().join(STAGING_NAME)), [""; 0]);
}

#[test]
fn ids_come_from_content_and_fit_every_engine() {
    assert_eq!(TraceId::of_content(&[0xFF; 32]).value(), (1 << 53) - 1);
    assert_eq!(TraceId::of_content(&[0; 32]).value(), 1, "0 belongs to the empty tables");
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&0x0123_4567_89AB_CDEFu64.to_be_bytes());
    assert_eq!(TraceId::of_content(&hash).value(), 0x0123_4567_89AB_CDEF >> 11);
    assert_eq!(TraceId::of_path("a.etl"), TraceId::of_path("a.etl"));
    assert_ne!(TraceId::of_path("a.etl"), TraceId::of_path("b.etl"));
    assert_eq!(recording_hash(&[[1; 32]]), [1; 32]);
    assert_eq!(recording_hash(&[[1; 32], [2; 32]]), recording_hash(&[[2; 32], [1; 32]]));
    assert_ne!(recording_hash(&[[1; 32], [2; 32]]), recording_hash(&[[1; 32], [3; 32]]));
    for (name, id) in [
        ("trace_id=7", TraceId::new(7)),
        ("trace_id=0", None),
        ("trace_id=07", None),
        ("trace_id=+7", None),
        ("trace_id=9007199254740992", None),
        ("trace_id=x", None),
        ("empty", None),
    ] {
        assert_eq!(id_of_folder(name), id, "{name}");
    }
}

#[test]
fn content_whose_id_is_taken_gets_the_next() {
    let (_dir, lake) = new_lake();
    // Equal in the first 53 bits, different after.
    let (first, mut second) = ([9; 32], [9; 32]);
    second[31] = 8;
    publish(&lake, &first, b"first").unwrap();
    publish(&lake, &second, b"second").unwrap();
    let id = TraceId::of_content(&first);
    assert_eq!(lake.assign(&first).unwrap(), id);
    assert_eq!(lake.assign(&second).unwrap(), id.next());
    assert_eq!(lake.recordings().unwrap().len(), 2);
    assert_eq!(TraceId::new((1 << 53) - 1).unwrap().next().value(), 1);
}

#[test]
fn current_means_same_content_options_and_version_and_whole() {
    let (_dir, lake) = new_lake();
    let hash = [1; 32];
    let options = manifest(&hash, "a.etl").options_fingerprint();
    let current =
        |options: &str, version: &str| lake.is_current(&hash, options, version).unwrap().is_some();
    assert!(!current(&options, "1.2.3"));
    let dir = publish(&lake, &hash, b"rows").unwrap();
    assert!(current(&options, "1.2.3"));
    assert!(!current(&options, "1.2.4"));
    assert!(!current("0", "1.2.3"));
    assert!(lake.is_current(&[2; 32], &options, "1.2.3").unwrap().is_none());
    fs::write(dir.join("cswitch.parquet"), "cut").unwrap();
    assert!(!current(&options, "1.2.3"), "a table of another size is not whole");
    fs::write(dir.join("cswitch.parquet"), "rows").unwrap();
    fs::write(dir.join(MANIFEST_NAME), "{").unwrap();
    assert!(!current(&options, "1.2.3"), "a damaged manifest proves nothing");
    assert!(matches!(lake.recordings().unwrap()[0].manifest, Err(LakeError::Damaged { .. })));
    publish(&lake, &hash, b"rows").unwrap();
    assert!(current(&options, "1.2.3"), "publishing again repairs it");
}

#[test]
fn a_failure_is_tried_again_and_forgotten_when_the_file_is_read() {
    let (_dir, lake) = new_lake();
    let id = lake.assign_path("a.etl").unwrap();
    lake.begin(id).unwrap().publish(&failure("a.etl")).unwrap();
    lake.begin(lake.assign_path("b.etl").unwrap()).unwrap().publish(&failure("b.etl")).unwrap();
    assert_eq!(lake.assign_path("a.etl").unwrap(), id, "the same row again");
    assert_eq!(lake.recordings().unwrap().len(), 2);

    publish(&lake, &[1; 32], b"rows").unwrap();
    let mut names: Vec<String> = Vec::new();
    for entry in lake.recordings().unwrap() {
        let manifest = entry.manifest.unwrap();
        names.push(format!("{} {}", manifest.inputs[0].path, manifest.status.as_str()));
    }
    names.sort();
    assert_eq!(names, ["a.etl ok", "b.etl failed"]);

    // Content that failed is there, but not current.
    let failed = Manifest { status: Status::Failed, ..manifest(&[3; 32], "c.etl") };
    let staging = lake.begin(lake.assign(&[3; 32]).unwrap()).unwrap();
    fs::write(staging.dir().join("cswitch.parquet"), "").unwrap();
    staging.publish(&failed).unwrap();
    let options = failed.options_fingerprint();
    assert!(lake.is_current(&[3; 32], &options, "1.2.3").unwrap().is_none());
}

#[test]
fn a_manifest_is_the_same_text_for_the_same_recording() {
    let mut one = manifest(&[1; 32], "a \"quoted\"\n\u{1b}[31m.etl");
    one.options = json!({ "b": [1, { "z": 1, "a": 2 }], "a": null });
    let mut two = one.clone();
    two.options = json!({ "a": null, "b": [1, { "a": 2, "z": 1 }] });
    assert_eq!(one.to_text(), two.to_text());
    assert_eq!(one.options_fingerprint(), two.options_fingerprint());
    two.options = json!({ "a": null, "b": [1, { "a": 2, "z": 2 }] });
    assert_ne!(one.options_fingerprint(), two.options_fingerprint());
    let back = Manifest::parse(&one.to_text(), Path::new("m")).unwrap();
    assert_eq!(back.to_text(), one.to_text());
    assert_eq!(back.inputs, one.inputs);
    let value: Value = serde_json::from_str(&one.to_text()).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let whole = one.to_text();
    for cut in 0..whole.len() {
        let Some(text) = whole.get(..cut) else { continue };
        assert!(
            Manifest::parse(text.trim_end_matches('\n'), Path::new("m")).is_err()
                || cut + 1 == whole.len()
        );
    }
}

#[test]
fn what_a_dead_process_left_goes_with_the_next_ingest() {
    let (_dir, lake) = new_lake();
    let staging = lake.root().join(STAGING_NAME);
    let session = Session::create(lake.root()).unwrap();
    let name = session.dir().file_name().unwrap().to_str().unwrap().to_owned();
    // As `kill -9` leaves it: the lock file is there, the lock is not.
    let dead = staging.join(format!("{name}-dead"));
    fs::create_dir_all(dead.join("trace_id=5")).unwrap();
    fs::write(dead.join("trace_id=5/cswitch.parquet"), "half").unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    // Killed while it was being made, and while it was being removed.
    fs::create_dir(staging.join("2-empty")).unwrap();
    fs::create_dir_all(staging.join("3-half/trace_id=6")).unwrap();

    let living = lake.begin(TraceId::of_content(&[1; 32])).unwrap();
    Lake::open_or_create(lake.root()).unwrap();
    assert!(!dead.exists());
    assert!(!staging.join("2-empty").exists());
    assert!(!staging.join("3-half").exists());
    assert!(living.dir().is_dir(), "a living one is left alone");
    assert!(session.dir().is_dir());
}

#[test]
fn what_another_machine_makes_is_left_alone_until_it_is_old() {
    let (_dir, lake) = new_lake();
    let place = lake.root().join(STAGING_NAME).join("1-elsewhere");
    fs::create_dir_all(place.join("trace_id=5")).unwrap();
    fs::write(place.join("trace_id=5/cswitch.parquet"), "half").unwrap();
    fs::write(place.join("lock"), "").unwrap();
    Lake::open_or_create(lake.root()).unwrap();
    assert!(place.is_dir());

    let long_ago = std::time::SystemTime::now() - Duration::from_secs(7 * 3600);
    for path in tree(&place).iter().map(|name| place.join(name)).chain([place.clone()]) {
        File::open(path).unwrap().set_modified(long_ago).unwrap();
    }
    Lake::open_or_create(lake.root()).unwrap();
    assert!(!place.exists());
}

/// Not a test by itself: the process that [`killed_at_any_instant`] kills.
#[test]
fn child_that_is_killed() {
    let Some(root) = std::env::var_os("ETWAS_TEST_LAKE_OF_CHILD") else { return };
    let lake = Lake::open_or_create(Path::new(&root)).unwrap();
    for round in 0..u32::MAX {
        let mut hash = [0; 32];
        hash[0] = round as u8 % 5;
        publish(&lake, &hash, &[hash[0]; 5_000]).unwrap();
        lake.remove(TraceId::of_content(&[3; 32])).unwrap();
    }
}

fn spawn_child(root: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lake::tests::child_that_is_killed", "--nocapture"])
        .env("ETWAS_TEST_LAKE_OF_CHILD", root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_at_any_instant() {
    let (_dir, lake) = new_lake();
    for round in 0..30u64 {
        let mut child = spawn_child(lake.root());
        // Not the same instant twice, and none of them special.
        thread::sleep(Duration::from_micros(8_000 + round * round * 97 % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
        for entry in lake.recordings().unwrap() {
            let manifest = entry.manifest.unwrap();
            assert_eq!(manifest.tables["cswitch"].bytes, 5_000);
            let table = fs::read(entry.dir.join("cswitch.parquet")).unwrap();
            assert_eq!(table.len(), 5_000);
            assert!(table.iter().all(|byte| *byte == table[0]));
        }
        Lake::open_or_create(lake.root()).unwrap();
        assert_eq!(tree(&lake.root().join(STAGING_NAME)), [""; 0], "round {round}");
    }
    assert!(!lake.recordings().unwrap().is_empty(), "the child came to publish something");
}

/// A small file system of its own, where this process may mount one.
#[cfg(target_os = "linux")]
struct SmallDisk(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Self(dir));
        }
        println!("skipped: this process may not mount a file system");
        None
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", options]).arg(self.0.path()).status();
        assert!(status.unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_and_leaves_nothing() {
    let Some(disk) = SmallDisk::mount("size=256k") else { return };
    let root = disk.0.path().join("lake");
    let lake = Lake::open_or_create(&root).unwrap();
    publish(&lake, &[1; 32], b"small").unwrap();
    let before = tree(&root);
    let error = publish(&lake, &[2; 32], &vec![7; 1 << 20]).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(error.hint().unwrap().contains("free space"));
    assert_eq!(tree(&root), before, "no litter, nothing published, the old one untouched");

    // Full only when the manifest comes.
    let filler = disk.0.path().join("filler");
    let staging = lake.begin(lake.assign(&[3; 32]).unwrap()).unwrap();
    fs::write(staging.dir().join("cswitch.parquet"), "rows").unwrap();
    fs::write(&filler, vec![1; 1 << 20]).unwrap_err();
    let error = staging.publish(&manifest(&[3; 32], "a.etl")).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(tree(&root), before);
    fs::remove_file(filler).unwrap();
    publish(&lake, &[3; 32], b"fits").unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_only_lake_is_read_and_not_written() {
    let Some(disk) = SmallDisk::mount("size=1m") else { return };
    let root = disk.0.path().join("lake");
    publish(&Lake::open_or_create(&root).unwrap(), &[1; 32], b"rows").unwrap();
    disk.remount("remount,ro");
    assert_eq!(Lake::open(&root).unwrap().recordings().unwrap().len(), 1);
    let lake = Lake::open_or_create(&root).unwrap();
    let error = publish(&lake, &[2; 32], b"rows").unwrap_err();
    assert!(error.to_string().contains("the file system is read-only"), "{error}");
    assert!(lake.remove(TraceId::of_content(&[1; 32])).is_err());
    assert!(Lake::open_or_create(&disk.0.path().join("other")).is_err());
    assert_eq!(lake.recordings().unwrap().len(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn a_lake_in_which_another_file_system_is_mounted_says_so() {
    let (dir, lake) = new_lake();
    let Some(disk) = SmallDisk::mount("size=1m") else { return };
    // As a mount inside the lake looks to rename: the place aside is elsewhere.
    fs::remove_dir(lake.root().join(STAGING_NAME)).unwrap();
    std::os::unix::fs::symlink(disk.0.path(), lake.root().join(STAGING_NAME)).unwrap();
    let error = publish(&lake, &[1; 32], b"rows").unwrap_err();
    assert!(error.to_string().contains("it is on another file system"), "{error}");
    assert!(error.hint().is_some());
    assert!(lake.recordings().unwrap().is_empty());
    assert_eq!(tree(disk.0.path()), [""; 0], "the litter is gone there, too");
    drop(dir);
}

#[test]
#[cfg(unix)]
fn a_lake_without_permission_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, lake) = new_lake();
    fs::set_permissions(lake.root(), fs::Permissions::from_mode(0o500)).unwrap();
    let staging = lake.root().join(STAGING_NAME);
    fs::set_permissions(&staging, fs::Permissions::from_mode(0o500)).unwrap();
    let outcome = publish(&lake, &[1; 32], b"rows");
    fs::set_permissions(lake.root(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&staging, fs::Permissions::from_mode(0o700)).unwrap();
    match outcome {
        Ok(_) => println!("skipped: this process is above permissions"),
        Err(error) => {
            assert!(error.to_string().contains("no permission"), "{error}");
            assert!(error.hint().is_some());
        }
    }
}
