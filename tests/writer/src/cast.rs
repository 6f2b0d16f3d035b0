//! Who takes part: processes, threads, images and the symbols inside them.
//!
//! The cast answers what the author need not repeat on every line: which process a thread belongs
//! to at a time, and which address `module!symbol` has in that process, for either pointer width.

use std::collections::BTreeMap;

use crate::time::Ns;

/// Size of an image that does not say its own.
pub(crate) const IMAGE_BYTES_DEFAULT: u64 = 0x10_0000;
/// Offset of a return address in a function that is named without one.
const FRAME_OFFSET_DEFAULT: u64 = 0x10;
/// Where and how far apart symbols without an address are placed.
const SYMBOL_FIRST_RVA: u64 = 0x1000;
const SYMBOL_STEP: u64 = 0x100;

/// A thread and when it lived.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) prio: i8,
    pub(crate) start_ns: Option<Ns>,
    pub(crate) end_ns: Option<Ns>,
}

/// An image and where it lies at both widths.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) base64: u64,
    pub(crate) base32: u64,
    pub(crate) size: u64,
    pub(crate) timestamp: u32,
    pub(crate) load_ns: Option<Ns>,
    pub(crate) unload_ns: Option<Ns>,
}

impl Image {
    /// Whether frames may call this image so: its file name, or that without its extension.
    pub(crate) fn is_called(&self, module: &str) -> bool {
        let (image, module) = (self.name.to_lowercase(), module.to_lowercase());
        image == module || image.rsplit_once('.').is_some_and(|(stem, _)| stem == module)
    }
}

/// Everyone and everything named by a scenario.
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) threads: Vec<Thread>,
    pub(crate) images: Vec<Image>,
    of_tid: BTreeMap<u32, Vec<usize>>,
    symbols: BTreeMap<String, Vec<(String, u64)>>,
    bases: BTreeMap<String, (u64, u64)>,
    next_kernel: u64,
    next_user: u64,
    native_wide: bool,
}

impl Cast {
    /// An empty cast of a scenario whose own addresses have this width.
    pub(crate) fn new(native_wide: bool) -> Cast {
        Cast {
            threads: Vec::new(),
            images: Vec::new(),
            of_tid: BTreeMap::new(),
            symbols: BTreeMap::new(),
            bases: BTreeMap::new(),
            next_kernel: 0,
            next_user: 0,
            native_wide,
        }
    }

    /// The thread that `tid` means at a time: alive then, else the last to have begun before.
    pub(crate) fn thread(&self, tid: u32, at_ns: Ns) -> Option<&Thread> {
        let places = self.of_tid.get(&tid).map_or(&[][..], Vec::as_slice);
        let same = || places.iter().map(|&at| &self.threads[at]);
        let alive = same().filter(|t| {
            t.start_ns.is_none_or(|s| s <= at_ns) && t.end_ns.is_none_or(|e| at_ns <= e)
        });
        let begun = same().filter(|t| t.start_ns.is_none_or(|s| s <= at_ns));
        alive
            .max_by_key(|t| t.start_ns)
            .or_else(|| begun.max_by_key(|t| t.start_ns))
            .or(same().next())
    }

    /// Adds a thread.
    pub(crate) fn add_thread(&mut self, thread: Thread) {
        self.of_tid.entry(thread.tid).or_default().push(self.threads.len());
        self.threads.push(thread);
    }

    /// The process of a thread at a time; 0 for the idle thread and for strangers.
    pub(crate) fn pid_of(&self, tid: u32, at_ns: Ns) -> u32 {
        self.thread(tid, at_ns).map_or(0, |t| t.pid)
    }

    /// Declares symbols with their addresses inside a module.
    pub(crate) fn define_symbol(&mut self, module: &str, symbol: &str, rva: u64) {
        let list = self.symbols.entry(module.to_lowercase()).or_default();
        match list.iter_mut().find(|(name, _)| name == symbol) {
            Some((_, old)) => *old = rva,
            None => list.push((symbol.to_string(), rva)),
        }
    }

    /// Every symbol with its module and address.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.symbols.iter().flat_map(|(module, list)| {
            list.iter().map(move |(name, rva)| (module.as_str(), name.as_str(), *rva))
        })
    }

    fn symbol_rva(&mut self, module: &str, symbol: &str) -> u64 {
        let list = self.symbols.entry(module.to_lowercase()).or_default();
        if let Some((_, rva)) = list.iter().find(|(name, _)| name == symbol) {
            return *rva;
        }
        let rva = SYMBOL_FIRST_RVA + SYMBOL_STEP * list.len() as u64;
        list.push((symbol.to_string(), rva));
        rva
    }

    /// Adds an image; without a base it gets one, the same for every process that loads it.
    pub(crate) fn add_image(&mut self, mut image: Image, base: Option<u64>) {
        // What is loaded at one address stays at one address, whatever its name.
        let key = match base {
            Some(base) => format!("@{base:x}"),
            None => image.name.to_lowercase(),
        };
        let known = self.bases.get(&key).copied();
        let (base64, base32) = known.unwrap_or_else(|| self.place(&image, base));
        self.bases.insert(key, (base64, base32));
        (image.base64, image.base32) = (base64, base32);
        self.images.push(image);
    }

    fn place(&mut self, image: &Image, base: Option<u64>) -> (u64, u64) {
        let kernel = match base {
            Some(base) => self.is_kernel(base),
            None => image.pid == 0,
        };
        let slots = image.size.div_ceil(0x20_0000).clamp(1, 256);
        let counter = if kernel { &mut self.next_kernel } else { &mut self.next_user };
        let slot = *counter;
        *counter += slots;
        let auto64 = if kernel { 0xFFFF_F800_1000_0000 } else { 0x7FF6_1000_0000 };
        let auto32 = if kernel { 0x8080_0000 } else { 0x1000_0000 };
        let auto = (auto64 + slot * 0x20_0000, auto32 + (slot % 512) * 0x20_0000);
        match base {
            None => auto,
            Some(base)
                if self.native_wide
                    && (kernel || base.saturating_add(image.size) > 0x7FFF_0000) =>
            {
                (base, auto.1)
            }
            Some(base) if !self.native_wide && kernel => (auto.0, base),
            Some(base) => (base, base),
        }
    }

    /// Whether an address of the scenario's own width lies in kernel space.
    pub(crate) fn is_kernel(&self, address: u64) -> bool {
        if self.native_wide { address >> 63 == 1 } else { address >= 0x8000_0000 }
    }

    /// An address of the scenario as it is written at the given width.
    pub(crate) fn translate(&self, address: u64, wide: bool) -> u64 {
        if wide == self.native_wide {
            return address;
        }
        for image in &self.images {
            let (own, other) = match self.native_wide {
                true => (image.base64, image.base32),
                false => (image.base32, image.base64),
            };
            if address.wrapping_sub(own) < image.size {
                return other.wrapping_add(address - own);
            }
        }
        match (wide, self.is_kernel(address)) {
            (true, true) => 0xFFFF_F800_0000_0000 | address,
            (true, false) => address,
            (false, true) => 0x8000_0000 | (address & 0x7FFF_FFFF),
            (false, false) => address & 0x7FFF_FFFF,
        }
    }

    /// Base of an image at the given width.
    pub(crate) fn base_of(image: &Image, wide: bool) -> u64 {
        if wide { image.base64 } else { image.base32 }
    }

    /// Address of `module!symbol`, `module!symbol+0x5`, `module+0x1234` or `0x7ff...`, seen from a
    /// process, in the scenario's own width.
    pub(crate) fn address(&mut self, frame: &str, pid: u32, at_ns: Ns) -> Result<u64, String> {
        if frame.starts_with("0x") {
            return crate::text::field(frame);
        }
        let (module, symbol, offset) = split_frame(frame)?;
        let rva = match symbol {
            Some(symbol) => self
                .symbol_rva(module, symbol)
                .saturating_add(offset.unwrap_or(FRAME_OFFSET_DEFAULT)),
            None => offset.unwrap_or(0),
        };
        let image = self
            .image(module, pid, at_ns)
            .ok_or_else(|| format!("'{frame}': no image is named '{module}'"))?;
        if rva >= image.size {
            return Err(format!("'{frame}' lies outside its image"));
        }
        Ok(Cast::base_of(image, self.native_wide).wrapping_add(rva))
    }

    fn image(&self, module: &str, pid: u32, at_ns: Ns) -> Option<&Image> {
        let named = || self.images.iter().filter(|i| i.is_called(module));
        let loaded = |i: &&Image| {
            i.load_ns.is_none_or(|l| l <= at_ns) && i.unload_ns.is_none_or(|u| at_ns <= u)
        };
        named()
            .filter(|i| i.pid == pid)
            .filter(loaded)
            .max_by_key(|i| i.load_ns)
            .or_else(|| named().find(|i| i.pid == pid))
            .or_else(|| named().find(|i| i.pid == 0))
            .or_else(|| named().next())
    }
}

fn split_frame(frame: &str) -> Result<(&str, Option<&str>, Option<u64>), String> {
    let (place, offset) = match frame.rfind("+0x") {
        Some(at) => (&frame[..at], Some(crate::text::field(&frame[at + 1..])?)),
        None => (frame, None),
    };
    match place.split_once('!') {
        Some((module, symbol)) => Ok((module, Some(symbol), offset)),
        None if offset.is_some() => Ok((place, None, offset)),
        None => Err(format!("'{frame}' is no frame: module!symbol, module+0xRVA or 0xADDRESS")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(pid: u32, name: &str) -> Image {
        Image {
            pid,
            name: name.into(),
            base64: 0,
            base32: 0,
            size: IMAGE_BYTES_DEFAULT,
            timestamp: 0,
            load_ns: None,
            unload_ns: None,
        }
    }

    #[test]
    fn frames_resolve_at_both_widths() {
        let mut cast = Cast::new(true);
        cast.add_image(image(0, "ntoskrnl.exe"), Some(0xFFFF_F802_0000_0000));
        cast.add_image(image(100, "app.exe"), None);
        let kernel = cast.address("ntoskrnl!KeWait+0x4", 100, 0).unwrap();
        assert_eq!(kernel, 0xFFFF_F802_0000_1004);
        assert_eq!(cast.translate(kernel, false), 0x8080_1004);
        let user = cast.address("app.exe+0x2000", 100, 0).unwrap();
        assert_eq!(cast.translate(user, false) & 0xFFFF, 0x2000);
        assert!(cast.translate(user, false) < 0x8000_0000);
        assert!(cast.address("nobody!x", 100, 0).is_err());
        assert!(cast.address("app.exe+0x100000", 100, 0).is_err());
    }

    #[test]
    fn a_reused_tid_means_the_thread_of_its_time() {
        let mut cast = Cast::new(true);
        let thread = |pid, start_ns, end_ns| Thread { tid: 7, pid, prio: 8, start_ns, end_ns };
        cast.add_thread(thread(1, None, Some(100)));
        cast.add_thread(thread(2, Some(200), None));
        assert_eq!(cast.pid_of(7, 50), 1);
        assert_eq!(cast.pid_of(7, 150), 1);
        assert_eq!(cast.pid_of(7, 250), 2);
        assert_eq!(cast.pid_of(9, 0), 0);
    }
}
