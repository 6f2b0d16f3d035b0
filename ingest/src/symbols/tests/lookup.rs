//! Every kind of local place, every kind of refusal.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::symbols::{NameSource, Trouble};

fn path_text(path: &Path) -> &str {
    path.to_str().expect("test directories are plain text")
}

#[test]
fn every_fixture_function_by_directory() {
    let resolver = Resolver::new(&options(path_text(&fixtures().join("pdb"))));
    let mut modules: BTreeMap<String, Vec<Truth>> = BTreeMap::new();
    for line in truth().into_iter().filter(|line| line.symbols != "none") {
        modules.entry(line.identity.module.clone()).or_default().push(line);
    }
    assert!(modules.len() >= 13);
    for (module, lines) in modules {
        assert_eq!(found(&resolver, &lines), expected(&lines), "{module}");
    }
}

#[test]
fn source_lines_where_the_pdb_has_them() {
    let resolver = Resolver::new(&options(path_text(&fixtures().join("pdb"))));
    let mut with_lines = 0;
    for line in truth().iter().filter(|line| line.symbols != "none") {
        let outcome = resolver.resolve(&line.identity, &[line.rva + line.size / 2]);
        let named = outcome.names.into_iter().next().expect("a name");
        assert_eq!(named.source_file.zip(named.source_line), line.source, "{}", line.function);
        with_lines += usize::from(line.source.is_some());
    }
    assert_eq!(with_lines, 9);
}

#[test]
fn stores_of_every_layout() {
    let lines = truth_of("conhost.exe");
    let (identity, want) = (&lines[0].identity, expected(&lines));
    let content = fs::read(pdb_of(identity)).expect("committed");
    let (name, id) = ("conhost.pdb", identity.module_id.as_str());
    let packed = cabinet(name, &content);
    type Fill<'a> = Box<dyn Fn(&Path) + 'a>;
    let layouts: Vec<(&str, Fill<'_>)> = vec![
        ("plain", Box::new(|at| drop(into_store(at, name, id, name, &content)))),
        ("compressed", Box::new(|at| drop(into_store(at, name, id, "conhost.pd_", &packed)))),
        ("flat compressed", Box::new(|at| fs::write(at.join("conhost.pd_"), &packed).unwrap())),
        (
            "other case",
            Box::new(|at| {
                drop(into_store(at, "CONHOST.PDB", &id.to_lowercase(), "ConHost.pdb", &content))
            }),
        ),
        (
            "two tiers",
            Box::new(|at| {
                fs::write(at.join("index2.txt"), "").unwrap();
                drop(into_store(&at.join("co"), name, id, name, &content))
            }),
        ),
        (
            "pointer",
            Box::new(|at| {
                let target = at.join("elsewhere.bin");
                fs::write(&target, &content).unwrap();
                let text = format!("PATH:{}", target.display());
                drop(into_store(at, name, id, "file.ptr", text.as_bytes()))
            }),
        ),
        (
            "beside the kind of image",
            Box::new(|at| {
                fs::create_dir_all(at.join("symbols/exe")).unwrap();
                fs::write(at.join("symbols/exe").join(name), &content).unwrap();
            }),
        ),
    ];
    for (layout, fill) in layouts {
        let store = tempfile::tempdir().expect("a test directory");
        fill(store.path());
        let resolver = Resolver::new(&options(path_text(store.path())));
        assert_eq!(found(&resolver, &lines), want, "{layout}");
        let chain = format!("srv*{}", store.path().display());
        if !layout.contains("flat") && !layout.contains("beside") {
            assert_eq!(found(&Resolver::new(&options(&chain)), &lines), want, "srv, {layout}");
        }
    }
}

#[test]
fn what_was_unpacked_is_kept_in_the_cache() {
    let lines = truth_of("cmd.exe");
    let identity = &lines[0].identity;
    let content = fs::read(pdb_of(identity)).expect("committed");
    let id = identity.module_id.as_str();
    for form in ["cache*{c};srv*{s}", "srv*{c}*{s}"] {
        let (store, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        into_store(store.path(), "cmd.pdb", id, "cmd.pd_", &cabinet("cmd.pdb", &content));
        let path = form.replace("{c}", path_text(cache.path()));
        let path = path.replace("{s}", path_text(store.path()));
        assert_eq!(found(&Resolver::new(&options(&path)), &lines), expected(&lines));
        let kept = cache.path().join("cmd.pdb").join(id).join("cmd.pdb");
        assert_eq!(fs::read(&kept).expect("it is kept"), content, "{form}");
        let beside = fs::read_dir(kept.parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "no temporary file stays");
        // And it is found there when the store is gone.
        drop(store);
        assert_eq!(found(&Resolver::new(&options(&path)), &lines), expected(&lines));
    }
}

#[test]
fn another_guid_or_age_is_refused_and_the_search_goes_on() {
    let lines = truth_of("srudb.dll");
    let right = lines[0].identity.clone();
    let wrong_file = pdb_of(&truth_of("cmd.exe")[0].identity);
    let directory = tempfile::tempdir().unwrap();
    fs::copy(&wrong_file, directory.path().join("srudb.pdb")).unwrap();
    let path = format!("{};{}", directory.path().display(), fixtures().join("pdb").display());
    let resolver = Resolver::new(&options(&path));
    let outcome = resolver.resolve(&right, &probes(&lines));
    let troubles: Vec<Trouble> = outcome.complaints.iter().map(|it| it.trouble).collect();
    assert_eq!(troubles, [Trouble::WrongGuid]);
    assert_eq!(outcome.names.len(), lines.len() * 3);

    let mut older = right;
    older.pdb_age = Some(2);
    let outcome = resolver.resolve(&older, &probes(&lines));
    let troubles: Vec<Trouble> = outcome.complaints.iter().map(|it| it.trouble).collect();
    assert_eq!(troubles, [Trouble::WrongGuid, Trouble::WrongAge]);
    assert_eq!((outcome.names.len(), outcome.source), (0, None));
}

#[test]
fn exports_where_only_the_image_is_there() {
    let resolver = Resolver::new(&options(path_text(&fixtures().join("bin"))));
    let lines = truth_of("win32u.dll");
    let outcome = resolver.resolve(&lines[0].identity, &probes(&lines));
    assert_eq!(outcome.source, Some(NameSource::Export));
    assert_eq!(found(&resolver, &lines), expected(&lines));
    // 32-bit names lose their decoration.
    let lines = truth_of("lua51.dll");
    let exported: Vec<Truth> =
        lines.into_iter().filter(|it| it.function.starts_with("lua_")).collect();
    assert_eq!(exported.len(), 2);
    assert_eq!(found(&resolver, &exported), expected(&exported));
    // Another build of the image is refused.
    let mut other = exported[0].identity.clone();
    other.timestamp = other.timestamp.map(|stamp| stamp ^ 1);
    let outcome = resolver.resolve(&other, &[exported[0].rva]);
    assert_eq!(outcome.complaints[0].trouble, Trouble::WrongImage);
    assert_eq!((outcome.names.len(), outcome.source), (0, None));
}

#[test]
fn a_store_of_binaries() {
    let lines = truth_of("win32u.dll");
    let image = fs::read(fixtures().join("bin/win32u.dll")).unwrap();
    let identity = &lines[0].identity;
    let id = format!("{:08X}{:x}", identity.timestamp.unwrap(), identity.size.unwrap());
    let store = tempfile::tempdir().unwrap();
    into_store(store.path(), "win32u.dll", &id, "win32u.dl_", &cabinet("win32u.dll", &image));
    let path = format!("srv*{}", store.path().display());
    assert_eq!(found(&Resolver::new(&options(&path)), &lines), expected(&lines));
}

#[test]
fn the_image_leads_to_a_pdb_that_the_trace_does_not_name() {
    let lines = truth_of("KernelBase.dll");
    let mut bare = lines.clone();
    bare[0].identity.pdb_name = None;
    bare[0].identity.pdb_guid = None;
    bare[0].identity.pdb_age = None;
    let path = format!("{0}/bin;{0}/pdb", fixtures().display());
    assert_eq!(found(&Resolver::new(&options(&path)), &bare), expected(&lines));
}

#[test]
fn names_from_traces_never_leave_the_symbol_path() {
    let outside = tempfile::tempdir().unwrap();
    let lines = truth_of("cmd.exe");
    let inside = outside.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::copy(pdb_of(&lines[0].identity), outside.path().join("cmd.pdb")).unwrap();
    let resolver = Resolver::new(&options(path_text(&inside)));
    let absolute = outside.path().join("cmd.pdb").display().to_string();
    for name in ["../cmd.pdb", r"..\cmd.pdb", absolute.as_str(), "..", "cmd.pdb/../../cmd.pdb"] {
        let mut hostile = lines.clone();
        hostile[0].identity.pdb_name = Some(name.to_owned());
        hostile[0].identity.module = format!("{name}.exe");
        assert_eq!(found(&resolver, &hostile), vec![None; lines.len() * 3], "{name}");
    }
    // The last component alone is what counts.
    let mut recorded = lines.clone();
    recorded[0].identity.pdb_name = Some(r"d:\builds\..\cmd.pdb".to_owned());
    let resolver = Resolver::new(&options(path_text(outside.path())));
    assert_eq!(found(&resolver, &recorded), expected(&lines));
}

#[test]
fn an_image_names_itself_as_the_linker_said() {
    for line in truth() {
        let image = fixtures().join("bin").join(&line.identity.module);
        let mut identity = ModuleIdentity::of_image(&image).unwrap();
        identity.pdb_guid = line.identity.pdb_guid.clone();
        assert_eq!(identity, line.identity);
    }
}
