//! Moves and writes that survive: whole folders put in place by one rename, bytes that are on the
//! disk before their name is. Called by `Staging` and `Lake`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// How often a move is tried again when others move at the same place at the same time.
const MOVE_ATTEMPTS: usize = 64;

/// Puts `staged` at `target`. What was there comes to lie at `staged` or `aside`, both of which
/// the caller removes. Where the system can exchange two names in one step, there is no instant
/// at which `target` is missing.
pub(super) fn put_in_place(staged: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    for attempt in 0..MOVE_ATTEMPTS {
        match fs::rename(staged, target) {
            Ok(()) => return Ok(()),
            Err(error) if !target.exists() && error.kind() != io::ErrorKind::NotFound => {
                return Err(error);
            }
            Err(error) if !staged.exists() => return Err(error),
            Err(_) => {}
        }
        match exchange(staged, target) {
            Ok(()) => return Ok(()),
            // Someone removed the old one meanwhile: the plain rename works then.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if !is_unsupported(&error) => return Err(error),
            Err(_) => {}
        }
        match move_aside(staged, target, &aside.with_extension(attempt.to_string())) {
            Ok(()) => return Ok(()),
            // Another ingest was faster, at either of the two renames.
            Err(error) if is_race(&error) => {}
            // A program on Windows that reads the old one holds it for a moment.
            Err(_) if cfg!(windows) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "other programs keep changing it"))
}

/// Moves the old one to `old`, then the new one to its place; back, if that fails.
pub(super) fn move_aside(staged: &Path, target: &Path, old: &Path) -> io::Result<()> {
    fs::rename(target, old)?;
    let moved = fs::rename(staged, target);
    if moved.is_err() {
        // Fails only if another ingest has put its own there, which is as good.
        let _ = fs::rename(old, target);
    }
    moved
}

/// Exchanges two names in one step.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether a rename failed because of what another process did to the same name.
fn is_race(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotFound)
}

/// Whether the system or this file system does not know the exchange.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

/// Writes a new file and sees it onto the disk.
pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Sees all files of a folder, and the folder, onto the disk.
pub(super) fn sync_folder(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            // Windows wants the right to write for this.
            File::options().read(true).write(true).open(entry.path())?.sync_all()?;
        }
    }
    sync_names(dir)
}

/// Sees the names in a folder onto the disk, where folders can be opened.
pub(super) fn sync_names(dir: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(dir)?.sync_all() {
        // Some network file systems do not know this for folders.
        Err(error) if is_unsupported(&error) => Ok(()),
        outcome => outcome,
    }
}
