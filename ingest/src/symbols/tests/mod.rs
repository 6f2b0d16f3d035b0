//! Lookups against the real images and PDBs of `fixtures/symbols`, whose table was made by the linker and not by
//! this reader.

mod damage;
mod lake;
mod lookup;
mod server;

use std::fs;
use std::path::{Path, PathBuf};

use super::{ModuleIdentity, Resolver, SymbolOptions, SymbolPath};

/// One line of `symbols.tsv`.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    pub(super) identity: ModuleIdentity,
    pub(super) symbols: String,
    pub(super) function: String,
    pub(super) rva: u32,
    pub(super) size: u32,
    pub(super) source: Option<(String, u32)>,
}

pub(super) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/symbols")
}

/// The table, all lines.
pub(super) fn truth() -> Vec<Truth> {
    let table = fs::read_to_string(fixtures().join("symbols.tsv")).expect("the table is committed");
    let lines = table.lines().skip(1).map(|line| {
        let field: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| field[index].parse::<u32>().expect("a number");
        Truth {
            identity: ModuleIdentity {
                module_id: field[6].to_owned(),
                module: field[0].to_owned(),
                pdb_name: Some(field[1].to_owned()),
                pdb_guid: Some(field[2].to_owned()),
                pdb_age: Some(number(3)),
                timestamp: Some(number(4)),
                size: Some(number(5)),
            },
            symbols: field[7].to_owned(),
            function: field[8].to_owned(),
            rva: number(9),
            size: number(10),
            source: field[12].parse().ok().map(|line| (field[11].to_owned(), line)),
        }
    });
    lines.collect()
}

/// The lines of one module.
pub(super) fn truth_of(module: &str) -> Vec<Truth> {
    let lines: Vec<Truth> = truth().into_iter().filter(|it| it.identity.module == module).collect();
    assert!(!lines.is_empty(), "{module} is a fixture");
    lines
}

/// Path of a module's PDB in the fixtures.
pub(super) fn pdb_of(identity: &ModuleIdentity) -> PathBuf {
    fixtures().join("pdb").join(identity.pdb_name.as_deref().expect("fixtures have one"))
}

/// Options for one symbol path and nothing else.
pub(super) fn options(path: &str) -> SymbolOptions {
    SymbolOptions { path: SymbolPath::parse(path).expect("a symbol path"), ..Default::default() }
}

/// Function and offset found at the start, in the middle and near the end of every function of a module.
pub(super) fn found(resolver: &Resolver, lines: &[Truth]) -> Vec<Option<(String, u32)>> {
    let rvas = probes(lines);
    let outcome = resolver.resolve(&lines[0].identity, &rvas);
    let by_rva = |rva: &u32| {
        let named = outcome.names.iter().find(|named| named.rva == *rva)?;
        Some((named.function.clone(), named.function_offset))
    };
    rvas.iter().map(by_rva).collect()
}

/// What `found` must give.
pub(super) fn expected(lines: &[Truth]) -> Vec<Option<(String, u32)>> {
    let all = lines.iter().flat_map(|it| offsets(it).map(|at| Some((it.function.clone(), at))));
    all.collect()
}

pub(super) fn probes(lines: &[Truth]) -> Vec<u32> {
    lines.iter().flat_map(|it| offsets(it).map(|at| it.rva + at)).collect()
}

/// The last one lies before the padding that may follow, which belongs to no function.
fn offsets(line: &Truth) -> [u32; 3] {
    [0, line.size / 2, line.size - 16]
}

/// Puts a file into a store, in the layout `name/id/file`.
pub(super) fn into_store(
    store: &Path,
    name: &str,
    id: &str,
    file: &str,
    content: &[u8],
) -> PathBuf {
    let folder = store.join(name).join(id);
    fs::create_dir_all(&folder).expect("a folder in a test directory");
    let path = folder.join(file);
    fs::write(&path, content).expect("a file in a test directory");
    path
}

/// A cabinet with one file in it, as symbol stores keep them.
pub(super) fn cabinet(name: &str, content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut builder = cab::CabinetBuilder::new();
    builder.add_folder(cab::CompressionType::MsZip).add_file(name);
    let mut writer = builder.build(std::io::Cursor::new(Vec::new())).expect("a cabinet");
    while let Some(mut file) = writer.next_file().expect("a file in it") {
        file.write_all(content).expect("content in it");
    }
    writer.finish().expect("a whole cabinet").into_inner()
}
