//! Places aside: a folder under `LAKE/.staging` in which one thing is made until it is whole.
//!
//! A lock on a file in it says that its maker lives. The operating system lets go of the lock when
//! the process ends, however it ends, so nothing is ever left that needs hands.
//! Called by `Staging` and `Lake`.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::LakeError;

/// The folder of all places aside. Its name begins with a dot, so that patterns pass over it.
pub(super) const STAGING_NAME: &str = ".staging";

const LOCK_NAME: &str = "lock";

/// After this long without a change, a place made on another machine is taken for dead. On some
/// shared file systems a lock is not seen from elsewhere, so there the lock alone proves nothing.
const ABANDONED_AFTER: Duration = Duration::from_secs(6 * 3600);

/// How often a new place is tried again when a cleaner on another machine was faster.
const CREATE_ATTEMPTS: usize = 8;

/// A place aside; gone when dropped.
#[derive(Debug)]
pub(super) struct Session {
    dir: PathBuf,
    /// Held as long as the place lives.
    _lock: File,
}

impl Session {
    /// Makes a new place in the lake.
    pub(super) fn create(lake: &Path) -> Result<Self, LakeError> {
        let staging = lake.join(STAGING_NAME);
        let made = fs::create_dir(&staging);
        if let Err(error) = made
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(LakeError::io("create", &staging, error));
        }
        let mut last = None;
        for _ in 0..CREATE_ATTEMPTS {
            match Self::try_create(&staging) {
                Ok(Some(session)) => return Ok(session),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => last = Some(error),
                Err(error) => return Err(LakeError::io("write to", &staging, error)),
            }
        }
        let error = last.unwrap_or_else(|| io::ErrorKind::NotFound.into());
        Err(LakeError::io("write to", &staging, error))
    }

    /// None if a cleaner took the place away between its creation and its lock. The place is named
    /// after its machine, so that its maker may be killed at any instant and still be known.
    fn try_create(staging: &Path) -> io::Result<Option<Self>> {
        let prefix = format!("{}{}-", machine_prefix(), std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).rand_bytes(10).tempdir_in(staging)?;
        let path = dir.path().join(LOCK_NAME);
        let lock = File::create_new(&path)?;
        match lock.lock() {
            Ok(()) => {}
            // Without locks, age alone decides: see `is_dead`.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(Self { dir: dir.keep(), _lock: lock }))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next ingest.
        let _ = remove_session(&self.dir);
    }
}

/// Removes a place, its lock last, so that a half-removed one is still recognised.
fn remove_session(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name() == LOCK_NAME {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir_all(dir)
}

/// Removes what dead processes left. Trouble is not reported: the litter harms nobody, and the
/// next ingest tries again.
pub(super) fn remove_litter(lake: &Path) {
    let Ok(entries) = fs::read_dir(lake.join(STAGING_NAME)) else { return };
    for entry in entries.flatten() {
        let dir = entry.path();
        // An empty place may be on its way to get its lock; its maker then makes another.
        if fs::remove_dir(&dir).is_ok() {
            continue;
        }
        // The lock stays held while the place is removed.
        if let Some(_lock) = dead_lock(&dir) {
            let _ = remove_session(&dir);
        }
    }
}

/// Something if the maker of this place is dead; its lock where there is one.
fn dead_lock(dir: &Path) -> Option<Option<File>> {
    let path = dir.join(LOCK_NAME);
    let lock = match File::options().read(true).write(true).open(&path) {
        Ok(lock) => lock,
        // The lock is made first and removed last: without it, the rest is a remainder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return is_there(dir).then_some(None);
        }
        Err(_) => return None,
    };
    match lock.try_lock() {
        Ok(()) if is_ours(dir) || is_old(dir) => Some(Some(lock)),
        Err(TryLockError::Error(error))
            if error.kind() == io::ErrorKind::Unsupported && is_old(dir) =>
        {
            Some(Some(lock))
        }
        _ => None,
    }
}

fn is_there(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}

/// Whether the place was made on this machine since it started: then its lock is to be trusted.
fn is_ours(dir: &Path) -> bool {
    let machine = machine_prefix();
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    !machine.is_empty() && name.starts_with(&machine)
}

/// Whether nothing in a place was changed for long.
fn is_old(dir: &Path) -> bool {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        if let Ok(modified) = fs::symlink_metadata(&path).and_then(|data| data.modified()) {
            newest = newest.max(modified);
        }
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        left.extend(entries.map(|entry| entry.path()));
    }
    newest.elapsed().is_ok_and(|age| age > ABANDONED_AFTER)
}

/// What tells this machine from others until it is started anew, ready to begin a name with; empty
/// where nothing does.
fn machine_prefix() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let names = ["COMPUTERNAME", "HOSTNAME"];
    let Some(machine) =
        boot.or_else(|| names.into_iter().find_map(|name| std::env::var(name).ok()))
    else {
        return String::new();
    };
    let hash = blake3::hash(machine.trim().as_bytes()).to_hex();
    format!("{}-", &hash.as_str()[..16])
}
