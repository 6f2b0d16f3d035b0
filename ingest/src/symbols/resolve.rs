//! Names for the addresses of one module: its PDB first, then the exports of its image. Called by `lake` for
//! every module of a lake, in parallel.

use std::path::{Path, PathBuf};

use super::find::{Finder, Refusal, Wanted};
use super::identity::{ImageKey, ModuleIdentity, PdbKey};
use super::image::{Image, ImageError};
use super::path::SymbolPath;
use super::pdb::{Pdb, PdbError};
use super::{Complaint, Trouble};

/// Where to look, and what is allowed on the way. The default looks nowhere and downloads nothing.
#[derive(Clone, Debug, Default)]
pub struct SymbolOptions {
    /// Places, in order.
    pub path: SymbolPath,
    /// A store that keeps what had to be unpacked or downloaded where the path itself names none.
    pub cache: Option<PathBuf>,
    /// Never asks a server, even if the path names one.
    pub offline: bool,
    /// Looks again for addresses that have a row already.
    pub force: bool,
}

/// The name of one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The address, relative to the image base.
    pub rva: u32,
    /// The function without decoration and arguments.
    pub function: String,
    /// How far behind the function's start the address lies.
    pub function_offset: u32,
    /// Source file as the compiler saw it.
    pub source_file: Option<String>,
    /// Line in it, from 1.
    pub source_line: Option<u32>,
}

impl Named {
    pub(super) fn new(rva: u32, function: String, function_offset: u32) -> Named {
        Named { rva, function, function_offset, source_file: None, source_line: None }
    }
}

/// What a name was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameSource {
    /// The exports of the image: only functions that other modules may call have a name.
    Export,
    /// A PDB.
    Pdb,
}

impl NameSource {
    /// As written in the table `symbol`.
    pub fn as_str(self) -> &'static str {
        match self {
            NameSource::Export => "export",
            NameSource::Pdb => "pdb",
        }
    }

    /// The source of a row; what a newer version may write counts as the best.
    pub(super) fn parse(text: &str) -> NameSource {
        if text == "export" { NameSource::Export } else { NameSource::Pdb }
    }
}

/// What was found for one module.
#[derive(Debug, Default)]
pub struct ModuleNames {
    /// Names in the order of their addresses; addresses without a name are absent.
    pub names: Vec<Named>,
    /// Where they come from; nothing if neither PDB nor image was found.
    pub source: Option<NameSource>,
    /// Files that were looked at in vain.
    pub complaints: Vec<Complaint>,
}

/// Looks up modules along one symbol path.
pub struct Resolver {
    finder: Finder,
}

impl Resolver {
    /// A resolver for these options. Nothing is opened yet.
    pub fn new(options: &SymbolOptions) -> Resolver {
        let SymbolOptions { path, cache, offline, force: _ } = options.clone();
        Resolver { finder: Finder::new(path, cache, offline) }
    }

    /// Names for sorted, distinct addresses of one module.
    pub fn resolve(&self, identity: &ModuleIdentity, rvas: &[u32]) -> ModuleNames {
        let mut outcome = ModuleNames::default();
        let pdb = identity.pdb();
        if let Some(key) = &pdb
            && self.try_pdb(key, identity, rvas, &mut outcome)
        {
            return outcome;
        }
        let Some(image) = identity.image() else { return outcome };
        let Some((linked, exports)) = self.try_image(&image, rvas, &mut outcome) else {
            return outcome;
        };
        // The trace does not always know the PDB; the image does.
        if let (None, Some(key)) = (&pdb, linked)
            && self.try_pdb(&key, identity, rvas, &mut outcome)
        {
            return outcome;
        }
        outcome.names = exports;
        outcome.source = Some(NameSource::Export);
        outcome
    }

    /// Fills the outcome from a PDB. False: none was found.
    fn try_pdb(
        &self,
        key: &PdbKey,
        identity: &ModuleIdentity,
        rvas: &[u32],
        outcome: &mut ModuleNames,
    ) -> bool {
        let folder = super::FileName::from_recorded(&identity.module);
        let folder = folder.and_then(|name| name.extension());
        let wanted = Wanted { name: &key.name, id: key.id(), folder };
        // The whole lookup is the check: a PDB that turns out damaged on the way is not the one either.
        let check = |path: &Path| names_from_pdb(path, key, rvas);
        match self.finder.find(&wanted, &check, &mut outcome.complaints) {
            Some(names) => {
                outcome.names = names;
                outcome.source = Some(NameSource::Pdb);
                true
            }
            None => false,
        }
    }

    fn try_image(
        &self,
        key: &ImageKey,
        rvas: &[u32],
        outcome: &mut ModuleNames,
    ) -> Option<(Option<PdbKey>, Vec<Named>)> {
        let wanted = Wanted { name: &key.name, id: key.id(), folder: key.name.extension() };
        let check = |path: &Path| {
            let mut image = Image::open(path)?;
            if (image.timestamp, image.size) != (key.timestamp, key.size) {
                let detail =
                    format!("is {:08X}{:x}, not {}", image.timestamp, image.size, key.id());
                return Err((Trouble::WrongImage, detail));
            }
            // A broken debug directory need not spoil the exports.
            let linked = image.pdb().unwrap_or(None);
            Ok((linked, image.resolve(rvas)?))
        };
        self.finder.find(&wanted, &check, &mut outcome.complaints)
    }
}

fn names_from_pdb(path: &Path, key: &PdbKey, rvas: &[u32]) -> Result<Vec<Named>, Refusal> {
    let pdb = Pdb::open(path)?;
    if pdb.guid != key.guid {
        return Err((Trouble::WrongGuid, format!("has GUID {}, not {}", pdb.guid, key.guid)));
    }
    if pdb.age != key.age {
        return Err((Trouble::WrongAge, format!("has age {}, not {}", pdb.age, key.age)));
    }
    Ok(pdb.resolve(rvas)?)
}

impl From<PdbError> for Refusal {
    fn from(error: PdbError) -> Refusal {
        let trouble = match error {
            PdbError::Io(_) | PdbError::TooLarge => Trouble::Unreadable,
            PdbError::Damaged(_) => Trouble::Damaged,
            PdbError::Panicked(_) => Trouble::Panicked,
        };
        (trouble, error.to_string())
    }
}

impl From<ImageError> for Refusal {
    fn from(error: ImageError) -> Refusal {
        let trouble = match error {
            ImageError::Io(_) => Trouble::Unreadable,
            ImageError::Damaged(_) => Trouble::Damaged,
        };
        (trouble, error.to_string())
    }
}
