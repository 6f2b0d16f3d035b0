//! Archives: what comes out is what went in, and what hostile ones cost.

use super::*;

/// One trace in every sort of archive.
fn zoo(a: &[u8], b: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let members: &[(&str, &[u8])] = &[("x/a.etl", a), ("readme.txt", b"text"), ("B.ETL", b)];
    vec![
        ("a.zip", zip_of(members)),
        ("a.diagsession", zip_of(members)),
        ("one.7z", seven_of(members, false)),
        ("solid.7z", seven_of(members, true)),
        ("stored.cab", cab_of(members, cab::CompressionType::None)),
        ("ms.cab", cab_of(members, cab::CompressionType::MsZip)),
    ]
}

#[test]
fn every_archive_gives_back_what_went_in() {
    let (a, b) = (sample(1, 300_000), sample(2, 70_001));
    for (name, bytes) in zoo(&a, &b) {
        let place = Place::new();
        place.file(name, bytes);
        let list = place.expand(&[name]);
        assert_eq!(place.problems(&list), [""; 0], "{name}");
        assert_eq!(place.paths(&list), [format!("{name}!B.ETL"), format!("{name}!x/a.etl")]);
        let limits = Limits::default();
        assert!(content(&list.inputs[0], &limits).unwrap() == b, "{name}");
        assert!(content(&list.inputs[1], &limits).unwrap() == a, "{name}");
        assert_eq!(list.inputs[1].bytes, Some(300_000), "{name}");
        assert_eq!(list.inputs[1].name(), "a.etl");
    }
}

#[test]
fn single_streams_give_back_what_went_in() {
    let (a, b) = (sample(1, 300_000), sample(2, 70_001));
    let place = Place::new();
    place.file("a.etl.gz", gz_of(&a));
    place.file("b.ETL.ZST", zst_of(&b));
    // Files joined end to end are one stream to every tool.
    place.file("c.etl.gz", [gz_of(&a), gz_of(&b)].concat());
    place.file("d.etl.zst", [zst_of(&a), zst_of(&b)].concat());
    let list = place.expand(&["."]);
    assert_eq!(place.problems(&list), [""; 0]);
    assert_eq!(place.paths(&list), ["a.etl.gz", "b.ETL.ZST", "c.etl.gz", "d.etl.zst"]);
    let joined = [a.clone(), b.clone()].concat();
    for (input, expected) in list.inputs.iter().zip([&a, &b, &joined, &joined]) {
        assert!(&content(input, &Limits::default()).unwrap() == expected, "{}", input.path);
    }
    assert_eq!(list.inputs[0].bytes, Some(300_000));
    // This encoder does not write the size; a program that has a file does.
    assert!(matches!(list.inputs[1].bytes, None | Some(70_001)));
}

#[test]
fn a_folder_takes_other_compressed_files_only_with_a_trace_in_them() {
    let mut trace = vec![0; 4096];
    trace[0x48..0x4C].copy_from_slice(&[2, 0, 2, 0xC0]);
    let place = Place::new();
    place.file("in/trace.gz", gz_of(&trace));
    place.file("in/trace.zst", zst_of(&trace));
    place.file("in/log.gz", gz_of(b"Mon Nov 30 something happened\n"));
    place.file("in/log.zst", zst_of(&sample(3, 5_000)));
    place.file("in/symbols.zip", zip_of(&[("a.pdb", b"x")]));
    let list = place.expand(&["in"]);
    assert_eq!(place.paths(&list), ["in/trace.gz", "in/trace.zst"]);
    assert_eq!(place.problems(&list), [""; 0]);
    // Named, they are taken as they are.
    let list = place.expand(&["in/log.gz", "in/symbols.zip"]);
    assert_eq!(place.paths(&list), ["in/log.gz"]);
    assert_eq!(place.problems(&list), ["in/symbols.zip: no traces in this archive"]);
}

#[test]
fn an_archive_is_known_by_its_first_bytes() {
    let place = Place::new();
    place.file("upload.bin", zip_of(&[("a.etl", b"a")]));
    place.file("b.zip", b"this is not a zip");
    place.file("c.etl.gz", b"neither is this");
    place.file("d.zip", seven_of(&[("d.etl", b"d")], false));
    let list = place.expand(&["upload.bin", "b.zip", "c.etl.gz", "d.zip"]);
    assert_eq!(place.paths(&list), ["d.zip!d.etl", "upload.bin!a.etl"]);
    assert_eq!(content(&list.inputs[0], &Limits::default()).unwrap(), b"d");
    let expected = [
        "b.zip: named like a zip archive but does not begin like one",
        "c.etl.gz: named like a gzip file but does not begin like one",
    ];
    assert_eq!(place.problems(&list), expected);
    assert_eq!(place.problems(&place.expand(&["."])), expected, "also in a folder");
}

#[test]
fn traversal_names_stay_text() {
    let names = ["../../evil.etl", "/etc/evil.etl", "C:\\evil.etl", "a/../../../evil.etl"];
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, &b"evil"[..])).collect();
    for (name, bytes) in [("t.zip", zip_of(&members)), ("t.7z", seven_of(&members, false))] {
        let place = Place::new();
        place.file(&format!("deep/er/{name}"), bytes);
        let list = place.expand(&["deep"]);
        assert_eq!(list.inputs.len(), 4, "{:?}", place.problems(&list));
        for input in &list.inputs {
            assert_eq!(content(input, &Limits::default()).unwrap(), b"evil");
        }
        let all: Vec<_> = fs::read_dir(place.dir.path()).unwrap().collect();
        assert_eq!(all.len(), 1, "nothing was written beside the archive");
        assert!(!Path::new("/etc/evil.etl").exists());
    }
}

#[test]
fn an_archive_in_an_archive_is_refused_and_said() {
    let inner = zip_of(&[("a.etl", b"a")]);
    let place = Place::new();
    place.file(
        "outer.zip",
        zip_of(&[("in.zip", &inner), ("b.etl.gz", &gz_of(b"b")), ("c.etl", b"c"), ("log.gz", b"")]),
    );
    let list = place.expand(&["outer.zip"]);
    assert_eq!(place.paths(&list), ["outer.zip!c.etl"]);
    assert_eq!(
        place.problems(&list),
        [
            "outer.zip!b.etl.gz: an archive inside an archive is not opened",
            "outer.zip!in.zip: an archive inside an archive is not opened",
        ]
    );
    assert!(list.problems[0].hint.is_some());
    assert_eq!(ARCHIVE_DEPTH_MAX, 1);
}

/// Each sort of bomb meets its limit, whether the archive admits its sizes or not.
#[test]
fn bombs_meet_a_limit() {
    let zeros = vec![0; 3 << 20];
    let small = Limits { member_bytes: 1 << 20, ..Limits::default() };
    for (name, bytes) in [
        ("b.zip", zip_of(&[("b.etl", &zeros)])),
        ("b.7z", seven_of(&[("b.etl", &zeros)], false)),
        ("b.cab", cab_of(&[("b.etl", &zeros)], cab::CompressionType::MsZip)),
        ("b.etl.gz", gz_of(&zeros)),
        ("b.etl.zst", zst_of(&zeros)),
    ] {
        let place = Place::new();
        place.file(name, bytes);
        let input = place.expand(&[name]).inputs.remove(0);
        // At the limit it passes, one byte above it does not.
        let exact = Limits { member_bytes: 3 << 20, ..Limits::default() };
        assert!(content(&input, &exact).is_ok(), "{name}");
        let below = Limits { member_bytes: (3 << 20) - 1, ..Limits::default() };
        let error = content(&input, &below).unwrap_err();
        assert!(matches!(error, InputError::TooLarge { .. }), "{name}: {error}");
        // Where the archive says it, it is refused while listing.
        let list = expand(&place.args(&[name]), &small);
        let declared = !name.starts_with("b.etl");
        assert_eq!(list.inputs.is_empty(), declared, "{name}");
        assert_eq!(!list.problems.is_empty(), declared, "{name}");
    }
}

#[test]
fn the_ratio_is_judged_above_its_floor_only() {
    let floor = 1 << 20;
    let limits = Limits { ratio: 100, ratio_floor_bytes: floor, ..Limits::default() };
    assert!(limits.check_declared(floor, 1).is_ok());
    let over = limits.check_declared(floor + 1, 1);
    assert!(matches!(over, Err(InputError::Ratio { limit: 100 })));
    assert!(limits.check_declared(floor + 1, floor / 100 + 1).is_ok());

    // What a stream does not admit is seen while it comes out.
    let place = Place::new();
    place.file("bomb.etl.zst", zst_of(&vec![0; 2 << 20]));
    place.file("bomb.7z", seven_of(&[("bomb.etl", &vec![0; 2 << 20])], false));
    for input in place.expand(&["."]).inputs {
        assert!(input.content_hash(&Limits::default()).is_ok());
        let error = input.content_hash(&limits).unwrap_err();
        assert!(matches!(error, InputError::Ratio { .. }), "{}: {error}", input.path);
    }
}

#[test]
fn too_many_members_meet_a_limit() {
    let members: Vec<(String, &[u8])> = (0..5).map(|n| (format!("{n}.etl"), &b"x"[..])).collect();
    let members: Vec<(&str, &[u8])> = members.iter().map(|(n, b)| (n.as_str(), *b)).collect();
    for (name, bytes) in [
        ("m.zip", zip_of(&members)),
        ("m.7z", seven_of(&members, false)),
        ("m.cab", cab_of(&members, cab::CompressionType::None)),
    ] {
        let place = Place::new();
        place.file(name, bytes);
        let list = expand(&place.args(&[name]), &Limits { members: 5, ..Limits::default() });
        assert_eq!(list.inputs.len(), 5);
        let list = expand(&place.args(&[name]), &Limits { members: 4, ..Limits::default() });
        assert!(list.inputs.is_empty());
        assert_eq!(list.problems[0].message, "5 members, more than the limit of 4");
    }
}

#[test]
fn a_zip_whose_members_share_bytes_is_refused() {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    writer.start_file("a.etl", options).unwrap();
    writer.write_all(&[0; 10_000]).unwrap();
    writer.shallow_copy_file("a.etl", "b.etl").unwrap();
    let place = Place::new();
    place.file("shared.zip", writer.finish().unwrap().into_inner());
    let list = place.expand(&["shared.zip"]);
    assert_eq!(place.problems(&list), ["shared.zip: members of the archive overlap"]);
}

#[test]
fn a_cabinet_with_one_name_twice_says_so() {
    let place = Place::new();
    let members: &[(&str, &[u8])] = &[("a.etl", b"1"), ("a.etl", b"2"), ("b.etl", b"3")];
    place.file("twice.cab", cab_of(members, cab::CompressionType::None));
    let list = place.expand(&["twice.cab"]);
    assert_eq!(place.paths(&list), ["twice.cab!b.etl"]);
    assert_eq!(place.problems(&list), ["twice.cab!a.etl: several members have this name"]);
    assert_eq!(content(&list.inputs[0], &Limits::default()).unwrap(), b"3");
}

#[test]
fn a_dictionary_beyond_the_limit_is_refused() {
    let place = Place::new();
    place.file("a.7z", seven_of(&[("a.etl", &sample(1, 100_000))], false));
    place.file("b.etl.zst", {
        let mut writer = zstd::Encoder::new(Vec::new(), 1).unwrap();
        writer.window_log(23).unwrap();
        writer.write_all(&sample(2, 9 << 20)).unwrap();
        writer.finish().unwrap()
    });
    let limits = Limits { dictionary_bytes: 64 << 10, ..Limits::default() };
    for input in place.expand(&["."]).inputs {
        assert!(input.content_hash(&Limits::default()).is_ok());
        let error = input.content_hash(&limits).unwrap_err();
        assert!(
            matches!(error, InputError::Memory { .. } | InputError::Damaged { .. }),
            "{}: {error}",
            input.path
        );
    }
}

/// A damaged member costs that member: the other one still comes out.
#[test]
fn a_damaged_member_costs_that_member() {
    let (a, b) = (sample(1, 50_000), sample(2, 50_000));
    let members: &[(&str, &[u8])] = &[("a.etl", &a), ("b.etl", &b)];
    let place = Place::new();
    let mut bytes = zip_of(members);
    bytes[2_000] ^= 0x55;
    place.file("a.zip", bytes);
    let mut bytes = seven_of(members, false);
    bytes[2_000] ^= 0x55;
    place.file("a.7z", bytes);
    for name in ["a.zip", "a.7z"] {
        let list = place.expand(&[name]);
        let error = content(&list.inputs[0], &Limits::default()).unwrap_err();
        assert!(matches!(error, InputError::Damaged { .. }), "{name}: {error}");
        assert!(content(&list.inputs[1], &Limits::default()).unwrap() == b, "{name}");
    }
}

/// Every archive, cut and with bits flipped: no panic, no hang, and what still comes out as whole
/// is what went in wherever the format has a checksum.
#[test]
fn damaged_archives_never_panic() {
    let (a, b) = (sample(1, 9_000), sample(2, 3_001));
    let mut archives = zoo(&a, &b);
    archives.push(("s.etl.gz", gz_of(&a)));
    archives.push(("s.etl.zst", zst_of(&a)));
    let place = Place::new();
    let limits = Limits { member_bytes: 1 << 20, dictionary_bytes: 64 << 20, ..Limits::default() };
    let mut state = 0x1234_5678_9ABC_DEF1u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut opened = 0;
    for (name, bytes) in &archives {
        for round in 0..200 {
            let mut hurt = bytes.clone();
            if round % 4 == 0 {
                hurt.truncate(next(bytes.len()));
            } else {
                // The directory of an archive is where sizes lie: hurt both ends more often.
                let near = hurt.len().min(400);
                for _ in 0..=round % 3 {
                    let at = match round % 5 {
                        0 | 1 => next(near),
                        2 | 3 => hurt.len() - 1 - next(near),
                        _ => next(hurt.len()),
                    };
                    hurt[at] ^= 1 << next(8);
                }
            }
            place.file(name, &hurt);
            let list = expand(&place.args(&[name]), &limits);
            for input in list.inputs {
                opened += u32::from(input.content_hash(&limits).is_ok());
            }
        }
        fs::remove_file(place.at(name)).unwrap();
    }
    assert!(opened > 100, "some damage is harmless, or nothing was tested: {opened}");
}

#[test]
fn a_member_that_is_gone_when_it_is_opened_is_said() {
    let place = Place::new();
    place.file("a.zip", zip_of(&[("a.etl", b"a")]));
    let input = place.expand(&["a.zip"]).inputs.remove(0);
    place.file("a.zip", zip_of(&[("b.etl", b"b")]));
    assert!(matches!(content(&input, &Limits::default()), Err(InputError::Vanished)));
    fs::remove_file(place.at("a.zip")).unwrap();
    assert!(matches!(content(&input, &Limits::default()), Err(InputError::Io { .. })));
}
