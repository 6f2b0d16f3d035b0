//! Finding the file: walks the places of a symbol path for one name and id, and hands every candidate to a check
//! of its identity, until one passes. Unpacks compressed files and keeps what had to be unpacked or downloaded.
//!
//! Names come from traces as [`FileName`]s, which are safe to append; paths inside traces are never used.
//! Called by `resolve`, from several threads at once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use tempfile::{NamedTempFile, TempDir};

use super::contain::contain;
use super::http::Http;
use super::identity::FileName;
use super::name::printable;
use super::path::{Entry, Store, SymbolPath};
use super::pdb::PDB_BYTES_MAX;
use super::{Complaint, Trouble};

/// Largest `file.ptr`; it holds one path.
const POINTER_BYTES_MAX: u64 = 4096;
/// Most names of one directory that are remembered for lookups without regard to case.
const LISTING_NAMES_MAX: usize = 1 << 20;

/// What is looked for.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a FileName,
    /// The folder below the name in a store.
    pub(super) id: String,
    /// Extension of the image: debuggers also look into `DIR/dll` and `DIR/symbols/dll`.
    pub(super) folder: Option<String>,
}

/// Why a candidate is not the file.
pub(super) type Refusal = (Trouble, String);

/// Looks at a candidate: its content, or why it is not what was wanted.
pub(super) type Check<'a, T> = &'a dyn Fn(&Path) -> Result<T, Refusal>;

/// Walks a symbol path.
pub(super) struct Finder {
    path: SymbolPath,
    cache: Option<PathBuf>,
    offline: bool,
    http: Http,
    listings: Mutex<HashMap<PathBuf, Arc<HashMap<String, String>>>>,
    scratch: OnceLock<Option<TempDir>>,
}

enum Form {
    Plain,
    Compressed,
    Pointer,
}

/// One search: what is wanted, how it is recognised, and what went wrong on the way.
struct Search<'a, T> {
    wanted: &'a Wanted<'a>,
    check: Check<'a, T>,
    complaints: &'a mut Vec<Complaint>,
}

impl<T> Search<'_, T> {
    fn complain(&mut self, place: impl Into<String>, trouble: Trouble, detail: impl Into<String>) {
        self.complaints.push(Complaint {
            file: self.wanted.name.to_string(),
            id: self.wanted.id.clone(),
            place: place.into(),
            trouble,
            detail: detail.into(),
        });
    }

    fn checked(&mut self, path: &Path, place: &str) -> Option<T> {
        match (self.check)(path) {
            Ok(found) => Some(found),
            Err((trouble, detail)) => {
                self.complain(place, trouble, detail);
                None
            }
        }
    }
}

impl Finder {
    pub(super) fn new(path: SymbolPath, cache: Option<PathBuf>, offline: bool) -> Finder {
        Finder {
            path,
            cache,
            offline,
            http: Http::default(),
            listings: Mutex::default(),
            scratch: OnceLock::new(),
        }
    }

    /// The first file that passes the check, in the order of the symbol path.
    pub(super) fn find<T>(
        &self,
        wanted: &Wanted<'_>,
        check: Check<'_, T>,
        complaints: &mut Vec<Complaint>,
    ) -> Option<T> {
        let mut search = Search { wanted, check, complaints };
        let mut cache = self.cache.as_deref();
        // What the default cache holds was found here before.
        if let Some(found) = cache.and_then(|cache| self.in_store(&mut search, cache, None)) {
            return Some(found);
        }
        for entry in &self.path.entries {
            let found = match entry {
                Entry::Directory(directory) => self.in_directory(&mut search, directory, cache),
                Entry::Cache(directory) => {
                    cache = Some(directory);
                    self.in_store(&mut search, directory, None)
                }
                Entry::Chain(stores) => self.in_chain(&mut search, stores, cache),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn in_chain<T>(
        &self,
        search: &mut Search<'_, T>,
        stores: &[Store],
        cache: Option<&Path>,
    ) -> Option<T> {
        let mut keep = None;
        for store in stores {
            let found = match store {
                Store::Local(directory) => {
                    let found = self.in_store(search, directory, keep.or(cache));
                    keep = keep.or(Some(directory.as_path()));
                    found
                }
                Store::Server(_) if self.offline => None,
                Store::Server(url) => self.on_server(search, url, keep.or(cache)),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// A directory that a person named: files lie directly in it, or it is a store.
    fn in_directory<T>(
        &self,
        search: &mut Search<'_, T>,
        directory: &Path,
        keep: Option<&Path>,
    ) -> Option<T> {
        let name = search.wanted.name.as_str().to_owned();
        let packed = search.wanted.name.compressed();
        let mut folders = vec![directory.to_owned()];
        if let Some(folder) = &search.wanted.folder {
            folders.push(directory.join(folder));
            folders.push(directory.join("symbols").join(folder));
        }
        for folder in folders {
            let candidates = [
                (self.child(&folder, &name), Form::Plain),
                (self.child(&folder, &packed), Form::Compressed),
            ];
            for (path, form) in candidates {
                let found = path.and_then(|path| self.candidate(search, &path, form, keep));
                if found.is_some() {
                    return found;
                }
            }
        }
        self.in_store(search, directory, keep)
    }

    /// `name/id/name`, and `na/name/id/name` where `index2.txt` says that the store has two tiers.
    fn in_store<T>(
        &self,
        search: &mut Search<'_, T>,
        store: &Path,
        keep: Option<&Path>,
    ) -> Option<T> {
        let name = search.wanted.name.as_str().to_owned();
        let packed = search.wanted.name.compressed();
        let id = search.wanted.id.clone();
        let mut roots = vec![store.to_owned()];
        if self.child(store, "index2.txt").is_some() {
            let tier: String = name.chars().take(2).collect();
            roots.extend(self.child(store, &tier));
        }
        for root in roots {
            let folder = self.child(&root, &name).and_then(|folder| self.child(&folder, &id));
            let Some(folder) = folder else { continue };
            for (file, form) in [
                (name.as_str(), Form::Plain),
                (packed.as_str(), Form::Compressed),
                ("file.ptr", Form::Pointer),
            ] {
                let path = self.child(&folder, file);
                let found = path.and_then(|path| self.candidate(search, &path, form, keep));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn candidate<T>(
        &self,
        search: &mut Search<'_, T>,
        path: &Path,
        form: Form,
        keep: Option<&Path>,
    ) -> Option<T> {
        // A pipe or a device would block or never end.
        if !path.is_file() {
            return None;
        }
        let place = path.display().to_string();
        match form {
            Form::Plain => search.checked(path, &place),
            Form::Compressed => {
                self.set_aside(search, &place, keep, |file| expand(path, file).map(|()| true))
            }
            Form::Pointer => match read_pointer(path) {
                Ok(target) if target.is_file() => search.checked(&target, &place),
                Ok(target) => {
                    let detail = format!("points to {}, which is no file", target.display());
                    search.complain(place, Trouble::Unreadable, detail);
                    None
                }
                Err(detail) => {
                    search.complain(place, Trouble::Unreadable, detail);
                    None
                }
            },
        }
    }

    fn on_server<T>(
        &self,
        search: &mut Search<'_, T>,
        base: &str,
        keep: Option<&Path>,
    ) -> Option<T> {
        let name = search.wanted.name.as_str().to_owned();
        let packed = search.wanted.name.compressed();
        for (file, compressed) in [(&name, false), (&packed, true)] {
            let tier = self.http.has_two_tiers(base);
            let tier: Option<String> = tier.then(|| name.chars().take(2).collect());
            let mut parts: Vec<&str> = tier.as_deref().into_iter().collect();
            parts.extend([name.as_str(), search.wanted.id.as_str(), file.as_str()]);
            let url = Http::url(base, &parts);
            let found = self.set_aside(search, &url.clone(), keep, |file| {
                if !compressed {
                    return self.http.fetch(base, &url, file);
                }
                let mut download = self.temporary(None).map_err(|error| error.to_string())?;
                let there = self.http.fetch(base, &url, download.as_file_mut())?;
                if there {
                    expand(download.path(), file)?;
                }
                Ok(there)
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Lets `fill` write a temporary file, checks it, and only then gives it its name in the cache, so that
    /// a cache never holds a part of a file or a wrong one. `fill` says whether there was anything.
    fn set_aside<T>(
        &self,
        search: &mut Search<'_, T>,
        place: &str,
        keep: Option<&Path>,
        fill: impl FnOnce(&mut File) -> Result<bool, String>,
    ) -> Option<T> {
        let folder =
            keep.map(|keep| keep.join(search.wanted.name.as_str()).join(&search.wanted.id));
        let made = self.temporary(folder.as_deref()).map_err(|error| error.to_string());
        let filled = made.and_then(|mut file| Ok((fill(file.as_file_mut())?, file)));
        let file = match filled {
            Ok((true, file)) => file,
            Ok((false, file)) => {
                drop(file);
                remove_empty(folder.as_deref());
                return None;
            }
            Err(detail) => {
                remove_empty(folder.as_deref());
                search.complain(place, Trouble::Unreadable, detail);
                return None;
            }
        };
        let found = search.checked(file.path(), place);
        match (&found, folder) {
            (Some(_), Some(folder)) if file.path().starts_with(&folder) => {
                // Someone else may have put the same file there meanwhile; either is as good.
                let _ = file.persist(folder.join(search.wanted.name.as_str()));
            }
            (_, folder) => {
                drop(file);
                remove_empty(folder.as_deref());
            }
        }
        found
    }

    /// A file in the folder where it is to stay, so that a rename publishes it; else, or where that folder
    /// cannot be written, in a directory of this run.
    fn temporary(&self, folder: Option<&Path>) -> io::Result<NamedTempFile> {
        if let Some(folder) = folder
            && fs::create_dir_all(folder).is_ok()
            && let Ok(file) = tempfile::Builder::new().prefix(".etwas-").tempfile_in(folder)
        {
            return Ok(file);
        }
        let scratch = self.scratch.get_or_init(|| TempDir::with_prefix("etwas-symbols-").ok());
        match scratch {
            Some(scratch) => NamedTempFile::new_in(scratch.path()),
            None => Err(io::Error::other("no temporary directory can be made")),
        }
    }

    /// A directory's member, without regard to case: stores are filled on Windows and read anywhere.
    fn child(&self, directory: &Path, name: &str) -> Option<PathBuf> {
        let exact = directory.join(name);
        if exact.exists() {
            return Some(exact);
        }
        let known = self.listings.lock().ok()?.get(directory).cloned();
        let listing = match known {
            Some(listing) => listing,
            None => {
                let listing = Arc::new(list(directory));
                self.listings.lock().ok()?.insert(directory.to_owned(), Arc::clone(&listing));
                listing
            }
        };
        listing.get(&name.to_lowercase()).map(|name| directory.join(name))
    }
}

/// Lower-case name to name; of names that differ in case only, the first in sorted order.
fn list(directory: &Path) -> HashMap<String, String> {
    let Ok(entries) = fs::read_dir(directory) else { return HashMap::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(LISTING_NAMES_MAX).collect();
    names.sort();
    names.into_iter().rev().map(|name| (name.to_lowercase(), name)).collect()
}

/// Takes back the two folders made for a file that did not come.
fn remove_empty(folder: Option<&Path>) {
    if let Some(folder) = folder {
        let _ = fs::remove_dir(folder);
        let _ = folder.parent().map(fs::remove_dir);
    }
}

/// Unpacks the only file of a cabinet.
fn expand(path: &Path, out: &mut File) -> Result<(), String> {
    let work = || -> Result<(), String> {
        let text = |error: io::Error| format!("cabinet: {}", printable(&error.to_string()));
        let mut cabinet = cab::Cabinet::new(File::open(path).map_err(text)?).map_err(text)?;
        let name = cabinet
            .folder_entries()
            .flat_map(|folder| folder.file_entries())
            .map(|file| file.name().to_owned())
            .next()
            .ok_or("cabinet: no file inside")?;
        let mut reader = cabinet.read_file(&name).map_err(text)?.take(PDB_BYTES_MAX + 1);
        if io::copy(&mut reader, out).map_err(text)? > PDB_BYTES_MAX {
            return Err(format!("cabinet: larger than {PDB_BYTES_MAX} bytes unpacked"));
        }
        Ok(())
    };
    contain(work).unwrap_or_else(|message| {
        Err(format!("cabinet: broke the reader: {}", printable(&message)))
    })
}

/// The path in a `file.ptr`: `PATH:` and a path, or `MSG:` and a reason why there is none.
fn read_pointer(path: &Path) -> Result<PathBuf, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(POINTER_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|_| "the pointer is no text".to_owned())?;
    let text = text.trim();
    match text.split_once(':') {
        Some((kind, target)) if kind.eq_ignore_ascii_case("PATH") => {
            Ok(super::path::local_path(target.trim()))
        }
        Some((kind, reason)) if kind.eq_ignore_ascii_case("MSG") => {
            Err(format!("the store says: {}", printable(reason.trim())))
        }
        _ => Err("the pointer is neither PATH: nor MSG:".to_owned()),
    }
}
