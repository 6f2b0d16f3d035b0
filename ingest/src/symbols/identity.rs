//! Which build of which module is meant: file names and identifiers as they come from a trace, checked once
//! here, so that nothing else in this folder ever makes a path from unchecked text. Used by all of `symbols`.

use std::fmt;
use std::path::Path;

use super::image::Image;

/// Longest file name that is looked for; file systems allow 255 units and no module comes near.
const NAME_CHARS_MAX: usize = 200;

/// A file name that is safe to append to a directory on any operating system.
///
/// # Invariants
/// One path component: no separators, no drive, no stream, no control characters, not `.` or `..`, no name
/// that Windows gives to a device. Built by [`FileName::from_recorded`] alone. Test: `names_that_are_no_names`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileName(String);

impl FileName {
    /// The last component of a path as recorded in a trace, or nothing when that is no plain file name.
    pub fn from_recorded(text: &str) -> Option<FileName> {
        let last = text.rsplit(['\\', '/']).next()?;
        // `C:name` names a file of the drive's current directory; only the name counts.
        let last = match last.split_once(':') {
            Some((drive, name))
                if drive.len() == 1 && drive.as_bytes()[0].is_ascii_alphabetic() =>
            {
                name
            }
            Some(_) => return None,
            None => last,
        };
        let allowed = |c: char| c.is_alphanumeric() || "._-+@()[]{}!~$#&,=' ".contains(c);
        let plain = !last.is_empty()
            && last.chars().count() <= NAME_CHARS_MAX
            && last.chars().all(allowed)
            && !last.ends_with(['.', ' '])
            && !last.starts_with(' ')
            && !is_device(last);
        plain.then(|| FileName(last.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name under which a symbol server keeps the compressed form: the last character becomes `_`.
    pub fn compressed(&self) -> String {
        let mut name = self.0.clone();
        name.pop();
        name.push('_');
        name
    }

    /// The part after the last dot, in lower case.
    pub fn extension(&self) -> Option<String> {
        self.0.rsplit_once('.').map(|(_, extension)| extension.to_lowercase())
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `CON`, `nul.pdb` and their like open devices on Windows, whatever directory stands before them.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut chars = rest.chars();
            chars.next().is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c))
                && chars.next().is_none()
        })
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

/// The identity of a PDB: all three parts must agree before a name is taken from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PdbKey {
    /// File name of the PDB.
    pub name: FileName,
    /// The GUID as 32 upper-case hexadecimal digits.
    pub guid: String,
    /// How often this PDB had been written when the image was linked.
    pub age: u32,
}

impl PdbKey {
    /// Checks the parts as a trace carries them; the GUID with or without hyphens and braces.
    pub fn new(name: &str, guid: &str, age: u32) -> Option<PdbKey> {
        let guid = guid_digits(guid)?;
        // A linker that writes no PDB leaves zeros; nothing can be found by them.
        if guid.bytes().all(|digit| digit == b'0') {
            return None;
        }
        Some(PdbKey { name: FileName::from_recorded(name)?, guid, age })
    }

    /// GUID and age as symbol servers write them; also the `module_id` of the lake.
    pub fn id(&self) -> String {
        format!("{}{:X}", self.guid, self.age)
    }
}

/// The identity of an image where only the binary is at hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageKey {
    /// File name of the image.
    pub name: FileName,
    /// TimeDateStamp of its header; in reproducible builds a hash.
    pub timestamp: u32,
    /// SizeOfImage of its header.
    pub size: u32,
}

impl ImageKey {
    /// Checks the parts as a trace carries them.
    pub fn new(name: &str, timestamp: u32, size: u32) -> Option<ImageKey> {
        let known = timestamp != 0 && size != 0;
        known.then(|| FileName::from_recorded(name)).flatten().map(|name| ImageKey {
            name,
            timestamp,
            size,
        })
    }

    /// The key of binaries in a symbol store.
    pub fn id(&self) -> String {
        format!("{:08X}{:x}", self.timestamp, self.size)
    }
}

/// What a trace says about one build of a module. Every part but the name may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleIdentity {
    /// The key in the table `symbol`, as the recording's `frame` table carries it.
    pub module_id: String,
    /// File name of the image.
    pub module: String,
    /// File name, or path, of the PDB as the linker recorded it.
    pub pdb_name: Option<String>,
    /// GUID of the PDB.
    pub pdb_guid: Option<String>,
    /// Age of the PDB.
    pub pdb_age: Option<u32>,
    /// TimeDateStamp of the image.
    pub timestamp: Option<u32>,
    /// SizeOfImage of the image.
    pub size: Option<u32>,
}

impl ModuleIdentity {
    /// The identity of an image on this machine, as a trace of it would carry it.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn of_image(path: &Path) -> Result<ModuleIdentity, String> {
        let mut image = Image::open(path).map_err(|error| error.to_string())?;
        let pdb = image.pdb().map_err(|error| error.to_string())?;
        let module = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let binary = format!("PE-{:08X}{:x}", image.timestamp, image.size);
        Ok(ModuleIdentity {
            module_id: pdb.as_ref().map_or(binary, PdbKey::id),
            module,
            pdb_name: pdb.as_ref().map(|pdb| pdb.name.to_string()),
            pdb_guid: pdb.as_ref().map(|pdb| pdb.guid.clone()),
            pdb_age: pdb.as_ref().map(|pdb| pdb.age),
            timestamp: Some(image.timestamp),
            size: Some(image.size),
        })
    }

    /// Takes over what another recording of the same build says. The order of recordings does not matter.
    pub(super) fn complete(&mut self, other: ModuleIdentity) {
        fn larger<T: Ord>(have: &mut T, other: T) {
            if *have < other {
                *have = other;
            }
        }
        larger(&mut self.module, other.module);
        larger(&mut self.pdb_name, other.pdb_name);
        larger(&mut self.pdb_guid, other.pdb_guid);
        larger(&mut self.pdb_age, other.pdb_age);
        larger(&mut self.timestamp, other.timestamp);
        larger(&mut self.size, other.size);
    }

    /// The PDB to look for, where name, GUID and age are known and plain.
    pub fn pdb(&self) -> Option<PdbKey> {
        PdbKey::new(self.pdb_name.as_deref()?, self.pdb_guid.as_deref()?, self.pdb_age?)
    }

    /// The image to look for, where name, timestamp and size are known and plain.
    pub fn image(&self) -> Option<ImageKey> {
        ImageKey::new(&self.module, self.timestamp?, self.size?)
    }
}

/// 32 upper-case digits from a GUID in any of its usual forms.
fn guid_digits(text: &str) -> Option<String> {
    let digits: String = text
        .chars()
        .filter(|c| !matches!(c, '-' | '{' | '}'))
        .map(|c| c.to_ascii_uppercase())
        .collect();
    (digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_component_counts() {
        for (recorded, name) in [
            (r"C:\Windows\System32\ntdll.dll", "ntdll.dll"),
            ("/home/builder/out/tool.pdb", "tool.pdb"),
            (r"\Device\HarddiskVolume3\x\y.sys", "y.sys"),
            (r"D:y.pdb", "y.pdb"),
            (r"..\..\..\etc\shadow", "shadow"),
            ("Größe (1).pdb", "Größe (1).pdb"),
            ("libstdc++-6.dll", "libstdc++-6.dll"),
        ] {
            assert_eq!(FileName::from_recorded(recorded).unwrap().as_str(), name);
        }
    }

    #[test]
    fn names_that_are_no_names() {
        let long = "a".repeat(NAME_CHARS_MAX + 1);
        for recorded in [
            "",
            ".",
            "..",
            "a/..",
            r"a\..",
            r"C:\",
            "a.pdb:stream",
            "a\0.pdb",
            "a\n.pdb",
            "nul",
            "CON.pdb",
            "com1.dll",
            "LPT9",
            "x.",
            "x ",
            " x",
            "a*b",
            "a?b",
            "a|b",
            "a%2fb",
            "a\"b",
            long.as_str(),
        ] {
            assert_eq!(FileName::from_recorded(recorded), None, "{recorded:?}");
        }
        assert!(FileName::from_recorded("common.dll").is_some());
        assert!(FileName::from_recorded("com10.dll").is_some());
        assert!(FileName::from_recorded(&long[1..]).is_some());
    }

    #[test]
    fn keys_are_written_as_symbol_servers_write_them() {
        let pdb = PdbKey::new("a.pdb", "{0123abcd-0000-0000-0000-00000000000f}", 0x1a).unwrap();
        assert_eq!(pdb.id(), "0123ABCD00000000000000000000000F1A");
        assert_eq!(PdbKey::new("a.pdb", "00000000-0000-0000-0000-000000000000", 1), None);
        assert_eq!(PdbKey::new("a.pdb", "0123", 1), None);
        let image = ImageKey::new("a.dll", 0x12ab, 0x1F000).unwrap();
        assert_eq!(image.id(), "000012AB1f000");
        assert_eq!(ImageKey::new("a.dll", 0, 1), None);
    }
}
