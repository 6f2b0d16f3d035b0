//! Cut and bit-flipped files: no panic leaves, no name is wrong in silence more than a flipped letter makes it.

use std::fs;

use super::*;

/// A small generator whose seed is printed, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Resolves a damaged copy; the outcome is either names or a complaint.
fn survives(place: &Path, lines: &[Truth], file: &str, content: &[u8], what: &str) -> usize {
    fs::write(place.join(file), content).unwrap();
    let resolver = Resolver::new(&options(place.to_str().unwrap()));
    let outcome = resolver.resolve(&lines[0].identity, &probes(lines));
    assert!(outcome.source.is_some() || !outcome.complaints.is_empty(), "{what}: silence");
    outcome.names.len()
}

#[test]
fn pdbs_cut_anywhere() {
    let place = tempfile::tempdir().unwrap();
    for module in ["OpenConsole.exe", "conhost.exe"] {
        let lines = truth_of(module);
        let name = lines[0].identity.pdb_name.clone().unwrap();
        let content = fs::read(pdb_of(&lines[0].identity)).unwrap();
        let whole = survives(place.path(), &lines, &name, &content, "whole");
        assert!(whole > 0);
        for cut in (0..content.len()).step_by(1021).chain(0..64) {
            let names = survives(
                place.path(),
                &lines,
                &name,
                &content[..cut],
                &format!("{module} cut at {cut}"),
            );
            assert!(names == 0 || names == whole, "{module} cut at {cut}: {names} of {whole}");
        }
    }
}

#[test]
fn pdbs_with_flipped_bits() {
    let place = tempfile::tempdir().unwrap();
    let seed = 0x9e37_79b9_7f4a_7c15;
    let mut random = Random(seed);
    for module in ["OpenConsole.exe", "lua51.dll", "conhost.exe"] {
        let lines = truth_of(module);
        let name = lines[0].identity.pdb_name.clone().unwrap();
        let content = fs::read(pdb_of(&lines[0].identity)).unwrap();
        for round in 0..100 {
            let mut damaged = content.clone();
            // The directory and the small streams are where structure lies; letters are elsewhere.
            for _ in 0..=random.below(8) {
                let at = random.below(damaged.len());
                damaged[at] ^= 1 << random.below(8);
            }
            survives(
                place.path(),
                &lines,
                &name,
                &damaged,
                &format!("{module} round {round} seed {seed:#x}"),
            );
        }
        // Whole words set to extremes: counts, sizes, page numbers.
        for round in 0..100 {
            let mut damaged = content.clone();
            let at = random.below(damaged.len() / 4) * 4;
            let word: u32 = [u32::MAX, 0x7fff_ffff, 0x8000_0000, 1 << 20][random.below(4)];
            damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
            survives(
                place.path(),
                &lines,
                &name,
                &damaged,
                &format!("{module} word {round} at {at:#x}"),
            );
        }
    }
}

#[test]
fn every_word_of_the_page_directory() {
    let place = tempfile::tempdir().unwrap();
    let lines = truth_of("cmd.exe");
    let content = fs::read(pdb_of(&lines[0].identity)).unwrap();
    let headers = 0..0x40usize;
    // The directory of an lld PDB lies in one of the last pages.
    let tail = content.len() - 0x2000..content.len();
    for at in headers.chain(tail).step_by(4) {
        let mut damaged = content.clone();
        damaged[at..at + 4].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
        survives(place.path(), &lines, "cmd.pdb", &damaged, &format!("word at {at:#x}"));
    }
}

#[test]
fn images_and_cabinets_damaged_anywhere() {
    let place = tempfile::tempdir().unwrap();
    let lines = truth_of("win32u.dll");
    let image = fs::read(fixtures().join("bin/win32u.dll")).unwrap();
    let mut random = Random(0x1234_5678_9abc_def1);
    for cut in (0..image.len()).step_by(23) {
        survives(place.path(), &lines, "win32u.dll", &image[..cut], &format!("image cut at {cut}"));
    }
    for round in 0..400 {
        let mut damaged = image.clone();
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
        survives(place.path(), &lines, "win32u.dll", &damaged, &format!("image round {round}"));
    }
    let place = tempfile::tempdir().unwrap();
    let packed = cabinet("win32u.dll", &image);
    for cut in (0..packed.len()).step_by(31) {
        survives(
            place.path(),
            &lines,
            "win32u.dl_",
            &packed[..cut],
            &format!("cabinet cut at {cut}"),
        );
    }
    for round in 0..200 {
        let mut damaged = packed.clone();
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
        survives(place.path(), &lines, "win32u.dl_", &damaged, &format!("cabinet round {round}"));
    }
}
