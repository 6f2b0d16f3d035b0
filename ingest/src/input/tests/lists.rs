//! Arguments: folders, patterns, lists, exclusions, shards, and names of every sort.

use super::*;

#[test]
fn a_folder_gives_its_traces_sorted() {
    let place = Place::new();
    for name in ["t/b.etl", "t/A.ETL", "t/sub/deep/c.Etl", "t/readme.md", "t/etl", "t/x.etl.bak"] {
        place.file(name, "x");
    }
    let list = place.expand(&["t"]);
    assert_eq!(place.paths(&list), ["t/A.ETL", "t/b.etl", "t/sub/deep/c.Etl"]);
    assert_eq!(place.problems(&list), [""; 0]);
    let relatives: Vec<&str> = list.inputs.iter().map(|input| input.relative.as_str()).collect();
    assert_eq!(relatives, ["A.ETL", "b.etl", "sub/deep/c.Etl"]);
    assert_eq!(list.inputs[0].bytes, Some(1));
}

#[test]
fn a_named_file_is_taken_whatever_its_name() {
    let place = Place::new();
    place.file("trace.bin", "x");
    place.file("no_ending", "x");
    let list = place.expand(&["trace.bin", "no_ending"]);
    assert_eq!(place.paths(&list), ["no_ending", "trace.bin"]);
}

#[test]
fn any_order_of_arguments_gives_the_same_list_and_each_file_once() {
    let place = Place::new();
    for name in ["t/b.etl", "t/a.etl", "t/sub/c.etl", "u/a.etl"] {
        place.file(name, "x");
    }
    let one = place.expand(&["t", "u/a.etl", "t/sub", "t/a.etl"]);
    let two = place.expand(&["t/a.etl", "t/sub", "u/a.etl", "t"]);
    assert_eq!(place.paths(&one), ["t/a.etl", "t/b.etl", "t/sub/c.etl", "u/a.etl"]);
    assert_eq!(one.inputs, two.inputs);
    assert_eq!(place.problems(&one), [""; 0], "the folder again is no problem");
    assert_eq!(place.problems(&two), [""; 0]);
}

#[test]
fn what_is_not_there_is_one_line_each_and_the_rest_goes_on() {
    let place = Place::new();
    place.file("a.etl", "x");
    fs::create_dir(place.at("empty")).unwrap();
    let list = place.expand(&["none.etl", "a.etl", "empty", "*.foo"]);
    assert_eq!(place.paths(&list), ["a.etl"]);
    let problems = place.problems(&list);
    assert_eq!(problems[0], "*.foo: no file matches the pattern");
    assert_eq!(problems[1], "empty: no traces in this folder");
    assert!(problems[2].starts_with("none.etl: cannot open: "), "{}", problems[2]);
    assert_eq!(problems.len(), 3);
    assert!(list.problems.iter().all(|problem| problem.hint.is_some()));
}

#[test]
fn patterns_match_in_any_case_and_an_existing_name_is_no_pattern() {
    let place = Place::new();
    for name in ["t/a.etl", "t/B.ETL", "t/c.txt", "t/s/d.etl", "t/w[1].etl", "t/w1.etl"] {
        place.file(name, "x");
    }
    let list = place.expand(&["t/?.etl"]);
    assert_eq!(place.paths(&list), ["t/B.ETL", "t/a.etl"]);
    let relatives: Vec<String> =
        list.inputs.iter().map(|input| place.short(&input.relative)).collect();
    assert_eq!(relatives, ["B.ETL", "a.etl"], "relative to the folder before the pattern");
    assert_eq!(place.paths(&place.expand(&["t/**/d.etl"])), ["t/s/d.etl"]);
    assert_eq!(place.paths(&place.expand(&["t/[s]"])), ["t/s/d.etl"], "a folder is searched");
    assert_eq!(place.paths(&place.expand(&["t/w[1].etl"])), ["t/w[1].etl"]);
    let list = place.expand(&["t/[a"]);
    assert!(place.problems(&list)[0].starts_with("t/[a: not a pattern"), "{:?}", list.problems);
}

#[test]
fn exclusions_match_names_and_paths_in_any_case() {
    let place = Place::new();
    for name in ["t/a.etl", "t/OLD/b.etl", "t/s/c.etl", "t/s/Kernel.etl"] {
        place.file(name, "x");
    }
    place.file("t/z.zip", zip_of(&[("in/kernel.etl", b"k"), ("in/user.etl", b"u")]));
    let with = |patterns: &[&str]| {
        let mut args = place.args(&["t"]);
        args.exclude = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let list = expand(&args, &Limits::default());
        (place.paths(&list), place.problems(&list))
    };
    let all = ["t/OLD/b.etl", "t/a.etl", "t/s/Kernel.etl", "t/s/c.etl"];
    let zipped = ["t/z.zip!in/kernel.etl", "t/z.zip!in/user.etl"];
    assert_eq!(with(&[]).0, [&all[..], &zipped].concat());
    assert_eq!(with(&["kernel.ETL"]).0, [all[0], all[1], all[3], zipped[1]]);
    assert_eq!(with(&["old"]).0[0], all[1], "a folder with all in it");
    assert_eq!(with(&["s/c.*", "*.zip"]).0, [all[0], all[1], all[2]]);
    assert_eq!(with(&["s\\c.*", "*.zip"]).0, [all[0], all[1], all[2]]);
    let (paths, problems) = with(&["*"]);
    assert_eq!(paths, [""; 0]);
    assert_eq!(problems, ["t: no traces in this folder (4 names excluded)"]);
    assert!("[".parse::<Exclude>().is_err());
}

#[test]
fn a_list_of_files_is_read_as_every_shell_writes_it() {
    let place = Place::new();
    for name in ["a.etl", "b.etl", "d/c.etl"] {
        place.file(name, "x");
    }
    let names = ["a.etl", "b.etl", "d"].map(|name| place.at(name).to_string_lossy().into_owned());
    let unix = format!("{}\n\n{}\n{}", names[0], names[1], names[2]);
    let windows = unix.replace('\n', "\r\n");
    let wide: Vec<u16> = windows.encode_utf16().collect();
    let little: Vec<u8> = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = wide.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    let lists: [Vec<u8>; 5] = [
        unix.clone().into_bytes(),
        windows.clone().into_bytes(),
        [b"\xEF\xBB\xBF", windows.as_bytes()].concat(),
        [b"\xFF\xFE", &little[..]].concat(),
        [b"\xFE\xFF", &big[..]].concat(),
    ];
    for list in lists {
        let args = InputArgs { files_from: Some("-".parse().unwrap()), ..InputArgs::default() };
        let found = expand_from(&args, &Limits::default(), &mut &list[..]);
        assert_eq!(place.paths(&found), ["a.etl", "b.etl", "d/c.etl"]);
        let file = place.file("list.txt", &list);
        let from = Some(FilesFrom::File(file));
        let args = InputArgs { files_from: from, ..InputArgs::default() };
        assert_eq!(expand(&args, &Limits::default()).inputs, found.inputs);
    }
    let args = InputArgs { files_from: Some(FilesFrom::Stdin), ..InputArgs::default() };
    let found = expand_from(&args, &Limits::default(), &mut &b"\n"[..]);
    assert_eq!(place.problems(&found), ["-: the list of files is empty"]);
    let found = expand_from(&args, &Limits::default(), &mut &b"a\0b.etl\n"[..]);
    assert_eq!(found.problems[0].message, "the name holds a NUL character");
    let from = Some(FilesFrom::File(place.at("none")));
    let args = InputArgs { files_from: from, ..InputArgs::default() };
    assert_eq!(expand(&args, &Limits::default()).problems.len(), 1);
}

#[test]
fn shards_share_out_everything_once_and_tear_no_recording_apart() {
    let place = Place::new();
    for n in 0..40 {
        place.file(&format!("t/{n}/x{n}.etl"), format!("{n}"));
        place.file(&format!("t/{n}/x{n}.kernel.etl"), format!("k{n}"));
    }
    let plan_of = |args: &InputArgs, shard: Option<&str>| {
        let facts = |_: &Input| Some(recordings::facts(0, 10));
        let hash = |input: &Input| input.content_hash(&Limits::default()).ok();
        let shard = shard.map(|text| text.parse().unwrap());
        let (recordings, problems) = plan(args, shard, false, &Limits::default(), &facts, &hash);
        assert_eq!(problems, []);
        recordings
    };
    let args = place.args(&["t"]);
    let whole = plan_of(&args, None);
    assert_eq!(whole.len(), 40);
    let mut together = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let part = plan_of(&args, Some(shard));
        assert!((5..25).contains(&part.len()), "{shard} has {}", part.len());
        assert!(part.iter().all(|recording| recording.inputs.len() == 2));
        together.extend(part);
    }
    together.sort_by(|a, b| a.path().cmp(b.path()));
    assert_eq!(together, whole);

    // The same folder under another name splits the same way.
    fs::rename(place.at("t"), place.at("moved")).unwrap();
    let names = |recordings: Vec<Recording>| {
        recordings.into_iter().map(|recording| recording.name).collect::<Vec<_>>()
    };
    let moved = names(plan_of(&place.args(&["moved"]), Some("2/3")));
    fs::rename(place.at("moved"), place.at("t")).unwrap();
    assert_eq!(moved, names(plan_of(&args, Some("2/3"))));
    // A fixed point, so that versions and machines agree.
    let first: Shard = "1/2".parse().unwrap();
    let taken: Vec<&str> =
        ["a", "b", "c", "d/e", "f"].into_iter().filter(|k| first.takes(k)).collect();
    let second: Shard = "2/2".parse().unwrap();
    assert!(["a", "b", "c", "d/e", "f"].iter().all(|k| first.takes(k) != second.takes(k)));
    assert_eq!(taken, TAKEN_BY_FIRST_OF_TWO);
    for wrong in ["0/2", "3/2", "1", "/", "1/0", "-1/2", "a/b", "1/2/3", ""] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
}

/// Whatever it is, it stays: machines of different versions may share the work.
const TAKEN_BY_FIRST_OF_TWO: [&str; 3] = ["b", "c", "f"];

#[test]
#[cfg(unix)]
fn links_are_followed_and_loops_end() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.file("t/z/a.etl", "x");
    symlink("..", place.at("t/z/up")).unwrap();
    symlink("z", place.at("t/a_link")).unwrap();
    symlink("self", place.at("t/self")).unwrap();
    symlink("nowhere.etl", place.at("t/broken.etl")).unwrap();
    place.file("elsewhere/b.etl", "y");
    symlink(place.at("elsewhere"), place.at("t/b_link")).unwrap();
    symlink(place.at("elsewhere/b.etl"), place.at("t/c.etl")).unwrap();
    let list = place.expand(&["t"]);
    // The real path of a file goes before a link's; a file reached twice is one input.
    assert_eq!(place.paths(&list), ["t/b_link/b.etl", "t/z/a.etl"]);
    let problems = place.problems(&list);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("t/broken.etl: cannot open"));
}

#[test]
#[cfg(unix)]
fn names_that_are_not_unicode_are_shown_and_opened() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let odd = std::ffi::OsStr::from_bytes(b"od\xFFd.etl");
    place.file("t/a.etl", "x");
    fs::write(place.at("t").join(odd), "odd content").unwrap();
    let list = place.expand(&["t"]);
    assert_eq!(place.paths(&list), ["t/a.etl", "t/od\u{FFFD}d.etl"]);
    assert_eq!(content(&list.inputs[1], &Limits::default()).unwrap(), b"odd content");
    let args = InputArgs { files_from: Some(FilesFrom::Stdin), ..InputArgs::default() };
    let line = place.at("t").join(odd);
    let found = expand_from(&args, &Limits::default(), &mut line.as_os_str().as_bytes());
    assert_eq!(content(&found.inputs[0], &Limits::default()).unwrap(), b"odd content");
    for name in
        ["a!b.etl", "sp ace.etl", "quo\"te's.etl", "new\nline.etl", "\u{202e}rtl.etl", "-x.etl"]
    {
        place.file(&format!("n/{name}"), name);
    }
    for input in place.expand(&["n"]).inputs {
        let text = content(&input, &Limits::default()).unwrap();
        assert_eq!(text, input.name().as_bytes(), "{:?}", input.path);
    }
}

#[test]
#[cfg(unix)]
fn pipes_are_never_opened() {
    let place = Place::new();
    place.file("t/a.etl", "x");
    let pipe = place.at("t/pipe.etl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: mkfifo is not there");
        return;
    }
    assert_eq!(place.paths(&place.expand(&["t"])), ["t/a.etl"]);
    let list = place.expand(&["t/pipe.etl"]);
    assert_eq!(place.problems(&list), ["t/pipe.etl: not a regular file"]);
}

#[test]
#[cfg(unix)]
fn what_may_not_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.file("t/a.etl", "x");
    place.file("t/shut/b.etl", "x");
    place.file("t/z.zip", zip_of(&[("c.etl", b"c")]));
    let shut = |mode: u32| {
        for name in ["t/a.etl", "t/shut", "t/z.zip"] {
            fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    shut(0);
    let above = fs::File::open(place.at("t/a.etl")).is_ok();
    let list = place.expand(&["t"]);
    let outcome = list.inputs.first().map(|input| content(input, &Limits::default()).map(|_| ()));
    shut(0o755);
    if above {
        println!("skipped: this process is above permissions");
        return;
    }
    assert_eq!(place.paths(&list), ["t/a.etl"]);
    assert!(matches!(outcome, Some(Err(InputError::Io { .. }))));
    let problems = place.problems(&list);
    assert!(problems[0].starts_with("t/shut: cannot search"), "{problems:?}");
    assert!(problems[1].starts_with("t/z.zip: cannot open"), "{problems:?}");
}

#[test]
fn a_file_that_grows_shrinks_or_vanishes_costs_itself() {
    let place = Place::new();
    let path = place.file("a.etl", vec![7; 10_000]);
    let scratch = tempfile::tempdir().unwrap();
    let open = |list: InputList| list.inputs[0].open(&Limits::default(), scratch.path());
    let opened = open(place.expand(&["a.etl"])).unwrap();
    let source = opened.source();
    opened.check_unchanged().unwrap();

    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&[8; 5]).unwrap();
    let mut bytes = [0; 20];
    assert_eq!(source.read_at(9_990, &mut bytes).unwrap(), 10, "later growth is not read");
    assert_eq!(source.read_at(20_000, &mut bytes).unwrap(), 0);
    assert_eq!(source.read_at(u64::MAX, &mut bytes).unwrap(), 0);
    let error = opened.check_unchanged().unwrap_err();
    assert!(matches!(error, InputError::Changed { before: 10_000, after: 10_005 }), "{error}");

    file.set_len(100).unwrap();
    assert_eq!(source.read_at(90, &mut bytes).unwrap(), 10, "a cut file ends where it ends");
    assert!(opened.check_unchanged().is_err());

    let list = place.expand(&["a.etl"]);
    fs::remove_file(&path).unwrap();
    let error = open(list).unwrap_err();
    assert!(error.to_string().starts_with("cannot open: "), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn paths_are_shown_as_they_were_given() {
    let list = expand(
        &InputArgs { inputs: vec!["./src/input/./none.etl".into()], ..InputArgs::default() },
        &Limits::default(),
    );
    assert_eq!(list.problems[0].path, "src/input/none.etl");
    let list =
        expand(&InputArgs { inputs: vec!["".into()], ..InputArgs::default() }, &Limits::default());
    assert_eq!(list.problems[0].message, "an empty name");
    // The folder of this crate, where tests run: no trace in it is shown with a dot before it.
    let place = Place::new();
    place.file("a.etl", "x");
    let mut args = place.args(&[]);
    args.inputs = vec![format!("{}//", place.dir.path().display()).into()];
    assert_eq!(place.paths(&expand(&args, &Limits::default())), ["a.etl"]);
}
