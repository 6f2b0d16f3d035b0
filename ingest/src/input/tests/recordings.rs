//! Recordings: parts, copies and names.

use super::*;

/// Facts of one boot, from `start_s` to `end_s`.
pub(super) fn facts(start_s: i64, end_s: i64) -> HeaderFacts {
    HeaderFacts {
        boot_time: 132_445_960_215_000_000,
        perf_freq: 10_000_000,
        clock: 1,
        start_filetime: 132_445_970_000_000_000 + start_s * 10_000_000,
        end_filetime: 132_445_970_000_000_000 + end_s * 10_000_000,
    }
}

/// Inputs of these names, not on any disk.
fn inputs(names: &[&str]) -> Vec<Input> {
    let list = names.iter().map(|name| Input {
        path: (*name).to_owned(),
        relative: (*name).to_owned(),
        bytes: Some(1),
        place: match name.split_once(".zip!") {
            Some((archive, member)) => super::super::source::Place::Member(
                archive.into(),
                super::super::archive::ArchiveKind::Zip,
                0,
                member.to_owned(),
            ),
            None => super::super::source::Place::File((*name).into()),
        },
    });
    list.collect()
}

/// Groups as `name: path + path`.
fn grouped(names: &[&str], facts: &dyn Fn(&Input) -> Option<HeaderFacts>) -> Vec<String> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    // Any order of the list gives the same.
    let mut order = inputs(names);
    for _ in 0..names.len().max(1) {
        let list = group(order.clone(), facts);
        lines.push(list.iter().map(line).collect());
        order.rotate_left(1);
    }
    assert!(lines.iter().all(|other| *other == lines[0]), "{lines:#?}");
    lines.swap_remove(0)
}

fn line(recording: &Recording) -> String {
    let paths: Vec<&str> = recording.inputs.iter().map(|input| input.path.as_str()).collect();
    format!("{}: {}", recording.name, paths.join(" + "))
}

#[test]
fn names_and_facts_make_a_recording() {
    let same = |_: &Input| Some(facts(0, 10));
    assert_eq!(
        grouped(&["t/n.etl", "t/n.kernel.etl", "t/n.clrRundown.etl", "t/other.etl"], &same),
        ["n: t/n.etl + t/n.clrRundown.etl + t/n.kernel.etl", "other: t/other.etl"]
    );
    assert_eq!(
        grouped(&["t/Diag.etl", "t/diag.KERNEL.1.ETL", "t/diag.user_injected.1.etl"], &same),
        ["Diag: t/Diag.etl + t/diag.KERNEL.1.ETL + t/diag.user_injected.1.etl"]
    );
    assert_eq!(
        grouped(&["t/User.etl", "t/Kernel.etl"], &same),
        ["Kernel: t/Kernel.etl + t/User.etl"]
    );
    assert_eq!(
        grouped(&["a.etl.gz", "a.kernel.etl.zst"], &same),
        ["a: a.etl.gz + a.kernel.etl.zst"]
    );
    assert_eq!(
        grouped(&["z.zip!x/n.etl", "z.zip!x/n.user.etl"], &same),
        ["n: z.zip!x/n.etl + z.zip!x/n.user.etl"]
    );
}

#[test]
fn a_shared_folder_or_beginning_alone_joins_nothing() {
    let same = |_: &Input| Some(facts(0, 10));
    assert_eq!(
        grouped(&["t/a.etl", "t/ab.etl", "t/a-kernel.etl"], &same),
        ["a-kernel: t/a-kernel.etl", "a: t/a.etl", "ab: t/ab.etl"]
    );
    // Parts without the file that they are parts of.
    assert_eq!(
        grouped(&["t/a.kernel.etl", "t/a.user.etl"], &same),
        ["a.kernel: t/a.kernel.etl", "a.user: t/a.user.etl"]
    );
    // Beside it, not elsewhere.
    assert_eq!(grouped(&["t/a.etl", "t/s/a.kernel.etl"], &same).len(), 2);
    assert_eq!(grouped(&["t/a.etl", "t/z.zip!a.kernel.etl"], &same).len(), 2);
    assert_eq!(grouped(&["1/kernel.etl", "2/user.etl"], &same).len(), 2);
    assert_eq!(grouped(&["t/kernel.etl", "t/other.etl"], &same).len(), 2);
}

#[test]
fn facts_must_agree() {
    let base = facts(0, 10);
    let cases: [(HeaderFacts, usize); 10] = [
        (facts(0, 10), 1),
        (facts(5, 7), 1),
        (facts(20, 30), 1), // exactly 10 s after the end
        (facts(21, 30), 2),
        (facts(-30, -10), 1), // exactly 10 s before the beginning
        (facts(-30, -11), 2),
        (HeaderFacts { boot_time: base.boot_time + 1, ..base }, 2),
        (HeaderFacts { perf_freq: 3_000_000, ..base }, 2),
        (HeaderFacts { clock: 2, ..base }, 2),
        (HeaderFacts { end_filetime: 0, ..base }, 1), // never closed
    ];
    for (other, expected) in cases {
        let of = |input: &Input| Some(if input.path == "a.etl" { base } else { other });
        assert_eq!(grouped(&["a.etl", "a.kernel.etl"], &of).len(), expected, "{other:?}");
    }
    let unreadable = |input: &Input| (input.path == "a.etl").then_some(base);
    assert_eq!(grouped(&["a.etl", "a.kernel.etl"], &unreadable).len(), 2);
    let extreme = |input: &Input| {
        let far = if input.path == "a.etl" { i64::MIN } else { i64::MAX };
        Some(HeaderFacts { start_filetime: far, end_filetime: far, ..base })
    };
    assert_eq!(grouped(&["a.etl", "a.kernel.etl"], &extreme).len(), 2);
}

#[test]
fn a_part_may_follow_another_part() {
    let of = |input: &Input| {
        Some(match input.path.as_str() {
            "a.etl" => facts(0, 10),
            "a.m.etl" => facts(15, 30),
            "a.late.etl" => facts(38, 40),
            _ => facts(100, 110),
        })
    };
    assert_eq!(
        grouped(&["a.etl", "a.late.etl", "a.m.etl", "a.far.etl"], &of),
        ["a: a.etl + a.late.etl + a.m.etl", "a.far: a.far.etl"]
    );
}

#[test]
fn the_shortest_name_claims_what_agrees_with_it() {
    let of = |input: &Input| {
        Some(match input.path.as_str() {
            "a.etl" => facts(1_000, 1_010),
            _ => facts(0, 10),
        })
    };
    assert_eq!(
        grouped(&["a.etl", "a.b.etl", "a.b.c.etl"], &of),
        ["a.b: a.b.etl + a.b.c.etl", "a: a.etl"]
    );
}

#[test]
fn facts_are_asked_only_where_names_may_belong_together() {
    let never = |input: &Input| panic!("asked for {}", input.path);
    assert_eq!(grouped(&["a.etl", "b.etl", "s/a.etl"], &never).len(), 3);
}

#[test]
fn names_are_made_unique_by_folders() {
    let none = |_: &Input| None;
    assert_eq!(
        grouped(&["t/1/run.etl", "t/2/run.etl", "t/3/solo.etl"], &none),
        ["1/run: t/1/run.etl", "2/run: t/2/run.etl", "solo: t/3/solo.etl"]
    );
    assert_eq!(
        grouped(&["x/1/run.etl", "y/1/run.etl", "y/2/run.etl", "run.etl"], &none),
        ["run: run.etl", "x/1/run: x/1/run.etl", "y/1/run: y/1/run.etl", "2/run: y/2/run.etl"]
    );
    assert_eq!(
        grouped(&["a.zip!in/t.etl", "b.zip!in/t.etl", "t.etl.gz"], &none),
        ["a.zip/in/t: a.zip!in/t.etl", "b.zip/in/t: b.zip!in/t.etl", "t: t.etl.gz"]
    );
    // Names differ although the cases do not: lakes are looked at on Windows, too.
    assert_eq!(
        grouped(&["1/Run.etl", "2/run.etl"], &none),
        ["1/Run: 1/Run.etl", "2/run: 2/run.etl"]
    );
    assert_eq!(
        grouped(&["a.etl", "a.etl.gz"], &none),
        ["a: a.etl", "a#2: a.etl.gz"],
        "no folder tells these apart"
    );
    assert_eq!(
        grouped(&["t/.etl", "t/trace.bin", "t/a.b.etl", "t/a!c.etl"], &none),
        [".etl: t/.etl", "a!c: t/a!c.etl", "a.b: t/a.b.etl", "trace.bin: t/trace.bin"]
    );
}

#[test]
fn equal_content_is_one_recording() {
    let place = Place::new();
    place.file("t/b.etl", "same");
    place.file("t/sub/copy.etl", "same");
    place.file("t/other.etl", "else");
    place.file("t/longer.etl", "same and more");
    place.file("t/empty1.etl", "");
    place.file("t/empty2.etl", "");
    place.file("t/z.zip", zip_of(&[("a.etl", b"same")]));
    place.file("t/g.etl.gz", gz_of(b"same"));
    let asked = std::cell::RefCell::new(Vec::new());
    let hash = |input: &Input| {
        asked.borrow_mut().push(place.short(&input.path));
        input.content_hash(&Limits::default()).ok()
    };
    let none = |_: &Input| None;
    let (recordings, problems) =
        plan(&place.args(&["t"]), None, false, &Limits::default(), &none, &hash);
    assert_eq!(problems, []);
    let lines: Vec<String> = recordings
        .iter()
        .map(|recording| {
            let also: Vec<String> =
                recording.also_at.iter().map(|path| place.short(path)).collect();
            format!("{} {} {}", recording.name, place.short(recording.path()), also.join(" "))
        })
        .collect();
    assert_eq!(
        lines,
        [
            "b t/b.etl t/g.etl.gz t/sub/copy.etl t/z.zip!a.etl",
            "empty1 t/empty1.etl ",
            "empty2 t/empty2.etl ",
            "longer t/longer.etl ",
            "other t/other.etl ",
        ]
    );
    assert!(!asked.borrow().contains(&"t/longer.etl".to_owned()), "its size says enough");
}

#[test]
fn copies_of_several_files_are_one_recording() {
    let place = Place::new();
    for folder in ["one", "two"] {
        place.file(&format!("{folder}/n.etl"), "main");
        place.file(&format!("{folder}/n.kernel.etl"), "kernel");
    }
    place.file("three/n.etl", "main");
    let facts = |_: &Input| Some(facts(0, 10));
    let hash = |input: &Input| input.content_hash(&Limits::default()).ok();
    let args = place.args(&["one", "two", "three"]);
    let (list, _) = plan(&args, None, false, &Limits::default(), &facts, &hash);
    let shown: Vec<String> = list.iter().map(|recording| place.short(&line(recording))).collect();
    assert_eq!(shown, ["one/n: one/n.etl + one/n.kernel.etl", "three/n: three/n.etl"]);
    assert_eq!(place.short(&list[0].also_at.join(" ")), "two/n.etl");

    // Apart, each copy of a file is a copy.
    let (list, _) = plan(&args, None, true, &Limits::default(), &facts, &hash);
    let shown: Vec<String> = list.iter().map(|recording| place.short(&line(recording))).collect();
    assert_eq!(shown, ["n: one/n.etl", "n.kernel: one/n.kernel.etl"]);
    assert_eq!(place.short(&list[0].also_at.join(" ")), "three/n.etl two/n.etl");
}

#[test]
fn what_cannot_be_hashed_stands_alone() {
    let list = group(inputs(&["a.etl", "b.etl"]), &|_| None);
    assert_eq!(merge_duplicates(list.clone(), &|_| None).len(), 2);
    assert_eq!(merge_duplicates(list, &|_| Some([1; 32])).len(), 1);
    // A size that nobody knows may be any size.
    let mut three = inputs(&["a.etl", "b.etl", "c.etl"]);
    three[0].bytes = None;
    three[1].bytes = Some(5);
    let list = group(three, &|_| None);
    assert_eq!(merge_duplicates(list, &|_| Some([1; 32])).len(), 1);
}

/// The real case: three files of one session of a profiler.
#[test]
fn a_real_session_of_three_files_is_one_recording() {
    let corpus =
        std::env::var_os("ETWAS_CORPUS").map_or_else(|| "../../shared".into(), PathBuf::from);
    let folder = corpus.join("traces/win10-diaghub");
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return;
    }
    let facts = |input: &Input| {
        let head = input.read_head(&Limits::default(), 0x400).ok()?;
        let long = |at: usize| Some(i64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
        let header = 0x48 + 0x20; // of the 64-bit form, which these files have
        Some(HeaderFacts {
            boot_time: long(header + 0xF8)?,
            perf_freq: long(header + 0x100)?,
            clock: long(header + 0x110)? as u32,
            start_filetime: long(header + 0x108)?,
            end_filetime: long(header + 0x10)?,
        })
    };
    let args = InputArgs { inputs: vec![folder.into_os_string()], ..InputArgs::default() };
    let hash = |_: &Input| None;
    let (list, problems) = plan(&args, None, false, &Limits::default(), &facts, &hash);
    assert_eq!(problems, []);
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].name, "diaghub");
    let names: Vec<&str> = list[0].inputs.iter().map(Input::name).collect();
    assert_eq!(names, ["diaghub.etl", "diaghub.kernel.1.etl", "diaghub.user_injected.1.etl"]);
}
