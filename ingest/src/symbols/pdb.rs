//! Function names, offsets and source lines out of one PDB, for a list of relative addresses at once.
//!
//! The file is read stream by stream, each stream once, and only the modules that hold a wanted address; nothing
//! proportional to the file is kept. Called by `find` to check an identity and by `resolve` for the names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use pdb2::{
    AddressMap, DebugInformation, FallibleIterator, FileIndex, LineProgram, MachineType,
    PdbInternalSectionOffset, RawString, Rva, Source, SourceSlice, SourceView, StringTable,
    SymbolData,
};

use super::contain::contain;
use super::name::{printable, undecorate};
use super::resolve::Named;

/// Largest PDB that is opened. The biggest browsers and games reach 3 GiB.
pub(super) const PDB_BYTES_MAX: u64 = 8 << 30;
/// Largest single stream that is read into memory; the symbol records of the biggest browsers take 500 MiB.
const STREAM_BYTES_MAX: u64 = 1 << 30;
/// Most steps of matching addresses to section contributions. Real ones never overlap and stay below
/// addresses plus contributions; overlapping ones would multiply.
const MATCH_STEPS_MAX: u64 = 1 << 28;

/// Public symbol records, today's and one with a length before its name. Other records are not parsed.
const PUBLIC_KINDS: [u16; 2] = [0x110e, 0x1009];
/// Records of procedures (local, global, their `ID` and `DPC` forms), thunks and separated code.
const CODE_KINDS: [u16; 11] =
    [0x0206, 0x100a, 0x100b, 0x1102, 0x110f, 0x1110, 0x1132, 0x1146, 0x1147, 0x1155, 0x1156];

/// Why a PDB gives no names.
#[derive(Debug, thiserror::Error)]
pub(super) enum PdbError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is damaged or no PDB: {0}")]
    Damaged(String),
    #[error("broke the reader: {0}")]
    Panicked(String),
    #[error("is larger than {PDB_BYTES_MAX} bytes")]
    TooLarge,
}

impl From<pdb2::Error> for PdbError {
    fn from(error: pdb2::Error) -> PdbError {
        PdbError::Damaged(printable(&error.to_string()))
    }
}

/// An open PDB whose identity has been read.
pub(super) struct Pdb {
    inner: pdb2::PDB<'static, LimitedFile>,
    /// 32 upper-case digits.
    pub(super) guid: String,
    /// The age of the debug information, which is the one that images and symbol servers carry.
    pub(super) age: u32,
}

impl Pdb {
    /// Opens a file and reads its identity.
    pub(super) fn open(path: &Path) -> Result<Pdb, PdbError> {
        let source = LimitedFile::open(path)?;
        fenced(|| {
            let mut inner = pdb2::PDB::open(source)?;
            let information = inner.pdb_information()?;
            let guid = information.guid.to_string().replace('-', "").to_ascii_uppercase();
            let age = inner.debug_information()?.age().unwrap_or(information.age);
            Ok(Pdb { inner, guid, age })
        })
    }

    /// Names for sorted, distinct addresses; those without a name are left out.
    pub(super) fn resolve(mut self, rvas: &[u32]) -> Result<Vec<Named>, PdbError> {
        fenced(move || resolve(&mut self.inner, rvas))
    }
}

/// Runs code of the PDB reader; a panic there is an error of this file.
fn fenced<T>(work: impl FnOnce() -> Result<T, PdbError>) -> Result<T, PdbError> {
    contain(work).unwrap_or_else(|message| Err(PdbError::Panicked(printable(&message))))
}

/// One wanted address inside the PDB's own address space.
struct Spot {
    section: u16,
    offset: u32,
    rva: u32,
    /// The object file it came from, and where that object file's piece of the section begins.
    home: Option<(usize, u32)>,
}

fn resolve(
    pdb: &mut pdb2::PDB<'static, LimitedFile>,
    rvas: &[u32],
) -> Result<Vec<Named>, PdbError> {
    let map = pdb.address_map()?;
    let mut spots: Vec<Spot> = rvas
        .iter()
        .filter_map(|&rva| {
            let at = Rva(rva).to_internal_offset(&map)?;
            Some(Spot { section: at.section, offset: at.offset, rva, home: None })
        })
        .collect();
    spots.sort_by_key(|spot| (spot.section, spot.offset, spot.rva));
    let dbi = pdb.debug_information()?;
    let has_contributions = find_homes(&dbi, &mut spots)?;
    let x86 = matches!(dbi.machine_type(), Ok(MachineType::X86));
    let mut names = BTreeMap::new();
    from_publics(pdb, &map, &spots, has_contributions, x86, &mut names)?;
    from_modules(pdb, &dbi, &map, &spots, &mut names)?;
    Ok(names.into_values().collect())
}

/// Gives every spot the object file whose contribution covers it. False: the PDB lists no contributions.
fn find_homes(dbi: &DebugInformation<'_>, spots: &mut [Spot]) -> Result<bool, PdbError> {
    let mut contributions = dbi.section_contributions()?;
    let mut any = false;
    let mut steps = 0u64;
    while let Some(piece) = contributions.next()? {
        any = true;
        let end = u64::from(piece.offset.offset) + u64::from(piece.size);
        let first = first_at_or_after(spots, piece.offset);
        for spot in &mut spots[first..] {
            if spot.section != piece.offset.section || u64::from(spot.offset) >= end {
                break;
            }
            steps += 1;
            if steps > MATCH_STEPS_MAX {
                return Err(PdbError::Damaged("section contributions overlap".to_owned()));
            }
            spot.home = Some((piece.module, piece.offset.offset));
        }
    }
    Ok(any)
}

fn first_at_or_after(spots: &[Spot], at: PdbInternalSectionOffset) -> usize {
    spots.partition_point(|spot| (spot.section, spot.offset) < (at.section, at.offset))
}

/// For every spot the last thing that begins at or before it, found in one pass over things in any order.
struct Nearest<'s, T> {
    spots: &'s [Spot],
    best: Vec<Option<(u32, T)>>,
}

impl<'s, T: Copy> Nearest<'s, T> {
    fn new(spots: &'s [Spot]) -> Self {
        Nearest { spots, best: vec![None; spots.len()] }
    }

    /// Of several things at one offset the first one stays.
    fn offer(&mut self, at: PdbInternalSectionOffset, thing: T) {
        let index = first_at_or_after(self.spots, at);
        let Some(spot) = self.spots.get(index) else { return };
        if spot.section == at.section && self.best[index].is_none_or(|(have, _)| have < at.offset) {
            self.best[index] = Some((at.offset, thing));
        }
    }

    /// A thing offered to one spot also lies before all later spots of the section.
    fn finish(mut self) -> Vec<Option<(u32, T)>> {
        for index in 1..self.best.len() {
            let (before, here) = (&self.spots[index - 1], &self.spots[index]);
            let inherited = self.best[index - 1].filter(|_| before.section == here.section);
            if let Some((offset, _)) = inherited
                && self.best[index].is_none_or(|(have, _)| have < offset)
            {
                self.best[index] = inherited;
            }
        }
        self.best
    }
}

/// Names from the public symbols, which is all that vendors ship.
fn from_publics(
    pdb: &mut pdb2::PDB<'static, LimitedFile>,
    map: &AddressMap<'_>,
    spots: &[Spot],
    has_contributions: bool,
    x86: bool,
    names: &mut BTreeMap<u32, Named>,
) -> Result<(), PdbError> {
    let symbols = match pdb.global_symbols() {
        Ok(symbols) => symbols,
        // A PDB without public symbols is a whole PDB.
        Err(pdb2::Error::GlobalSymbolsNotFound | pdb2::Error::StreamNotFound(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut nearest = Nearest::new(spots);
    let mut iterator = symbols.iter();
    while let Some(symbol) = iterator.next()? {
        if PUBLIC_KINDS.contains(&symbol.raw_kind())
            && let Ok(SymbolData::Public(public)) = symbol.parse()
        {
            nearest.offer(public.offset, public.name);
        }
    }
    for (spot, best) in spots.iter().zip(nearest.finish()) {
        let Some((start, name)) = best else { continue };
        // A public of another object file says nothing about this address.
        let floor = match (spot.home, has_contributions) {
            (Some((_, floor)), _) => floor,
            (None, true) => continue,
            (None, false) => 0,
        };
        if start >= floor {
            let function = undecorate(&name.to_string(), x86);
            names.insert(spot.rva, Named::new(spot.rva, function, offset_in(map, spot, start)));
        }
    }
    Ok(())
}

/// The distance to a function's start as the image has it, also where code was moved after linking.
fn offset_in(map: &AddressMap<'_>, spot: &Spot, start: u32) -> u32 {
    let start_rva = PdbInternalSectionOffset { section: spot.section, offset: start }.to_rva(map);
    start_rva.and_then(|start| spot.rva.checked_sub(start.0)).unwrap_or(spot.offset - start)
}

/// Better names, and lines, from the object files that hold a wanted address and kept their private symbols.
fn from_modules(
    pdb: &mut pdb2::PDB<'static, LimitedFile>,
    dbi: &DebugInformation<'_>,
    map: &AddressMap<'_>,
    spots: &[Spot],
    names: &mut BTreeMap<u32, Named>,
) -> Result<(), PdbError> {
    let mut wanted: BTreeMap<usize, Vec<Spot>> = BTreeMap::new();
    for spot in spots {
        if let Some((module, _)) = spot.home {
            let spot = Spot { ..*spot };
            wanted.entry(module).or_default().push(spot);
        }
    }
    let strings = pdb.string_table().ok();
    let mut modules = dbi.modules()?;
    let mut index = 0;
    while let Some(module) = modules.next()? {
        if let Some(spots) = wanted.get(&index)
            && let Some(info) = pdb.module_info(&module)?
        {
            add_procedures(&info, map, spots, names)?;
            if let (Ok(program), Some(strings)) = (info.line_program(), &strings) {
                add_lines(&program, strings, spots, names);
            }
        }
        index += 1;
    }
    Ok(())
}

/// What begins at an offset: a procedure, or a part that the compiler moved away from one.
#[derive(Clone, Copy)]
enum Body<'t> {
    Whole { len: u32, name: RawString<'t> },
    Part { len: u32, of: PdbInternalSectionOffset },
}

fn add_procedures(
    info: &pdb2::ModuleInfo<'_>,
    map: &AddressMap<'_>,
    spots: &[Spot],
    names: &mut BTreeMap<u32, Named>,
) -> Result<(), PdbError> {
    let mut nearest = Nearest::new(spots);
    let mut symbols = info.symbols()?;
    while let Some(symbol) = symbols.next()? {
        if let Some((at, body)) = body_of(&symbol) {
            nearest.offer(at, body);
        }
    }
    for (spot, best) in spots.iter().zip(nearest.finish()) {
        let (start, name) = match best {
            Some((start, Body::Whole { len, name })) if spot.offset - start < len => (start, name),
            Some((start, Body::Part { len, of })) if spot.offset - start < len => {
                let Some(name) = name_of_whole(info, of)? else { continue };
                // The offset counts from the part: its distance to the whole is of no use.
                (start, name)
            }
            _ => continue,
        };
        let function = undecorate(&name.to_string(), false);
        names.insert(spot.rva, Named::new(spot.rva, function, offset_in(map, spot, start)));
    }
    Ok(())
}

fn body_of<'t>(symbol: &pdb2::Symbol<'t>) -> Option<(PdbInternalSectionOffset, Body<'t>)> {
    let code = CODE_KINDS.contains(&symbol.raw_kind());
    let (at, body) = match code.then(|| symbol.parse())?.ok()? {
        SymbolData::Procedure(it) => (it.offset, Body::Whole { len: it.len, name: it.name }),
        SymbolData::Thunk(it) => (it.offset, Body::Whole { len: u32::from(it.len), name: it.name }),
        SymbolData::SeparatedCode(it) => {
            (it.offset, Body::Part { len: it.len, of: it.parent_offset })
        }
        _ => return None,
    };
    // Empty ones cover no address and would hide what does.
    let (Body::Whole { len, .. } | Body::Part { len, .. }) = body;
    (len > 0).then_some((at, body))
}

fn name_of_whole<'t>(
    info: &'t pdb2::ModuleInfo<'_>,
    wanted: PdbInternalSectionOffset,
) -> Result<Option<RawString<'t>>, PdbError> {
    let mut symbols = info.symbols()?;
    while let Some(symbol) = symbols.next()? {
        if let Some((at, Body::Whole { name, .. })) = body_of(&symbol)
            && at == wanted
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Lines are a gift: where they cannot be read the names stay.
fn add_lines(
    program: &LineProgram<'_>,
    strings: &StringTable<'_>,
    spots: &[Spot],
    names: &mut BTreeMap<u32, Named>,
) {
    let mut nearest = Nearest::new(spots);
    let mut lines = program.lines();
    while let Ok(Some(line)) = lines.next() {
        // A line without code, as at a function's opening brace, would hide the one behind it.
        if line.length != Some(0) {
            nearest.offer(line.offset, (line.file_index, line.line_start, line.length));
        }
    }
    let mut files: BTreeMap<u32, Option<String>> = BTreeMap::new();
    for (spot, best) in spots.iter().zip(nearest.finish()) {
        let Some((start, (file, number, length))) = best else { continue };
        let (Some(named), Some(number)) = (names.get_mut(&spot.rva), real_line(number)) else {
            continue;
        };
        let distance = spot.offset - start;
        // A line that begins before the function belongs to its neighbour.
        if length.is_some_and(|length| distance >= length) || distance > named.function_offset {
            continue;
        }
        named.source_file =
            files.entry(file.0).or_insert_with(|| file_name(program, strings, file)).clone();
        named.source_line = named.source_file.is_some().then_some(number);
    }
}

/// Compilers mark code without a line by these two numbers.
fn real_line(number: u32) -> Option<u32> {
    (number != 0 && number != 0x00f0_0f00 && number != 0x00fe_efee).then_some(number)
}

fn file_name(
    program: &LineProgram<'_>,
    strings: &StringTable<'_>,
    file: FileIndex,
) -> Option<String> {
    let info = program.get_file_info(file).ok()?;
    let name = info.name.to_string_lossy(strings).ok()?;
    (!name.is_empty()).then(|| printable(&name))
}

/// A file that hands out what it really has, and never more than the named limits: sizes inside a PDB are
/// claims of the PDB.
#[derive(Debug)]
struct LimitedFile {
    file: File,
    bytes: u64,
}

impl LimitedFile {
    fn open(path: &Path) -> Result<LimitedFile, PdbError> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        if bytes > PDB_BYTES_MAX {
            return Err(PdbError::TooLarge);
        }
        Ok(LimitedFile { file, bytes })
    }
}

impl<'s> Source<'s> for LimitedFile {
    fn view(
        &mut self,
        slices: &[SourceSlice],
    ) -> Result<Box<dyn SourceView<'s> + Send + Sync>, io::Error> {
        let mut total = 0u64;
        for slice in slices {
            let end = slice.offset.checked_add(slice.size as u64);
            total = total.saturating_add(slice.size as u64);
            // The pages of one stream are distinct, so a stream cannot be longer than the file.
            let inside = end.is_some_and(|end| end <= self.bytes);
            if !inside || total > STREAM_BYTES_MAX.min(self.bytes) {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
        let mut bytes = vec![0; total as usize];
        let mut rest = bytes.as_mut_slice();
        for slice in slices {
            let (head, tail) = rest.split_at_mut(slice.size);
            self.file.seek(SeekFrom::Start(slice.offset))?;
            self.file.read_exact(head)?;
            rest = tail;
        }
        Ok(Box::new(View(bytes)))
    }
}

struct View(Vec<u8>);

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "View({} bytes)", self.0.len())
    }
}

impl SourceView<'_> for View {
    fn as_slice(&self) -> &[u8] {
        &self.0
    }
}
