//! Stacks: named lists of frames, and the records that carry them.
//!
//! `stack NAME frame frame ...` names one, innermost first; frames in kernel space are its kernel
//! half. `stack=NAME` on an event writes both halves a little later; `walk` and `keydef` give full
//! control over halves, times, CPUs and keys.

use std::collections::BTreeMap;

use super::{At, Lower};
use crate::machine::StackStyle;
use crate::text::{Arg, Reader};
use crate::time::Ns;

/// How long after its event each half of an attached stack is logged.
const KERNEL_HALF_AFTER_NS: Ns = 1_000;
const USER_HALF_AFTER_NS: Ns = 2_000;
/// Where automatic keys begin, and how far apart they are.
const KEY_FIRST: u64 = 0xFFFF_A000_0000_1000;
const KEY_STEP: u64 = 0x100;

/// Stacks by name, and keys that wait for their definition.
#[derive(Debug, Default)]
pub(crate) struct StackBook {
    named: BTreeMap<String, Vec<String>>,
    keyed: Vec<KeyedHalf>,
}

#[derive(Debug)]
struct KeyedHalf {
    file: usize,
    cpu: u16,
    kernel: bool,
    frames: Vec<u64>,
    key: u64,
}

/// The frames of one stack, split at the border of kernel and user space.
struct Halves {
    kernel: Vec<u64>,
    user: Vec<u64>,
}

impl Lower {
    /// `stack NAME frame frame ...`
    pub(super) fn declare_stack(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let name = reader.need_word("a name")?.to_string();
        let mut frames = Vec::new();
        while let Some(frame) = reader.word() {
            if frame != "/" {
                frames.push(frame.to_string());
            }
        }
        if let Some(Arg::Pair(key, _)) =
            reader.statement.args.iter().find(|a| matches!(a, Arg::Pair(..)))
        {
            return Err(format!("'stack' does not know '{key}='"));
        }
        self.stacks.named.insert(name, frames);
        Ok(())
    }

    fn halves(&mut self, name: &str, pid: u32, ns: Ns) -> Result<Halves, String> {
        let frames = match self.stacks.named.get(name) {
            Some(frames) => frames.clone(),
            None => return Err(format!("no stack is named '{name}'")),
        };
        let mut halves = Halves { kernel: Vec::new(), user: Vec::new() };
        for frame in frames {
            let address = self.cast.address(&frame, pid, ns)?;
            match self.cast.is_kernel(address) {
                true if halves.user.is_empty() => halves.kernel.push(address),
                true => return Err(format!("stack '{name}': '{frame}' comes after user frames")),
                false => halves.user.push(address),
            }
        }
        Ok(halves)
    }

    /// All frames of a stack as written at this file's width, for extended items.
    pub(super) fn frames(
        &mut self,
        name: &str,
        file: usize,
        pid: u32,
        ns: Ns,
    ) -> Result<Vec<u64>, String> {
        let halves = self.halves(name, pid, ns)?;
        let all = halves.kernel.into_iter().chain(halves.user);
        Ok(all.map(|address| self.address(file, address)).collect())
    }

    /// Writes the stack of an event in the machine's style.
    pub(super) fn attach(&mut self, name: &str, at: At, tid: u32) -> Result<(), String> {
        let pid = self.cast.pid_of(tid, at.ns);
        let halves = self.halves(name, pid, at.ns)?;
        let ids = (pid, tid);
        let kernel_at = At { ns: at.ns + KERNEL_HALF_AFTER_NS, ..at };
        let user_at = At { ns: at.ns + USER_HALF_AFTER_NS, ..at };
        match self.machine(at.file).stacks {
            StackStyle::Joined => {
                let all: Vec<u64> = halves.kernel.into_iter().chain(halves.user).collect();
                self.write_walk(kernel_at, at.ns, ids, &all)
            }
            StackStyle::Inline => {
                if !halves.kernel.is_empty() {
                    self.write_walk(kernel_at, at.ns, ids, &halves.kernel)?;
                }
                if !halves.user.is_empty() {
                    self.write_walk(user_at, at.ns, ids, &halves.user)?;
                }
                Ok(())
            }
            StackStyle::Keyed => {
                self.write_keyed(kernel_at, at.ns, ids, true, halves.kernel)?;
                self.write_keyed(user_at, at.ns, ids, false, halves.user)
            }
        }
    }

    fn write_walk(
        &mut self,
        at: At,
        of_ns: Ns,
        ids: (u32, u32),
        frames: &[u64],
    ) -> Result<(), String> {
        let mut body = self.body(at.file);
        body.i64(self.ticks(at.file, of_ns)?).u32(ids.0).u32(ids.1);
        for &frame in frames {
            body.ptr(self.address(at.file, frame));
        }
        self.push_perfinfo(at, 0x1820, 2, &body)
    }

    fn write_keyed(
        &mut self,
        at: At,
        of_ns: Ns,
        ids: (u32, u32),
        kernel: bool,
        frames: Vec<u64>,
    ) -> Result<(), String> {
        if frames.is_empty() {
            return Ok(());
        }
        let same = |k: &&KeyedHalf| k.file == at.file && k.kernel == kernel && k.frames == frames;
        let known = self.stacks.keyed.iter().find(same).map(|k| k.key);
        let key = match known {
            Some(key) => key,
            None => {
                let key = KEY_FIRST + KEY_STEP * self.stacks.keyed.len() as u64;
                let (file, cpu) = (at.file, at.cpu);
                self.stacks.keyed.push(KeyedHalf { file, cpu, kernel, frames, key });
                key
            }
        };
        self.write_key_reference(at, of_ns, ids, kernel, key)
    }

    fn write_key_reference(
        &mut self,
        at: At,
        of_ns: Ns,
        ids: (u32, u32),
        kernel: bool,
        key: u64,
    ) -> Result<(), String> {
        let mut body = self.body(at.file);
        body.i64(self.ticks(at.file, of_ns)?).u32(ids.0).u32(ids.1);
        body.ptr(self.address(at.file, key));
        self.push_perfinfo(at, if kernel { 0x1825 } else { 0x1826 }, 2, &body)
    }

    fn write_definition(
        &mut self,
        at: At,
        hook: u16,
        key: u64,
        frames: &[u64],
    ) -> Result<(), String> {
        let mut body = self.body(at.file);
        body.ptr(self.address(at.file, key));
        for &frame in frames {
            body.ptr(self.address(at.file, frame));
        }
        self.push_perfinfo(at, hook, 2, &body)
    }

    /// The final rundown of automatic keys.
    pub(super) fn define_keys(&mut self, ns: Ns) -> Result<(), String> {
        for half in std::mem::take(&mut self.stacks.keyed) {
            let at = At { file: half.file, ns, cpu: half.cpu };
            self.write_definition(at, 0x1824, half.key, &half.frames)?;
        }
        Ok(())
    }

    /// `TIME walk of=TIME tid=TID [pid=PID] [cpu=C] kernel=NAME|user=NAME|both=NAME [key=KEY]`
    pub(super) fn emit_walk(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let tid: u32 = reader.need("tid")?;
        let at = self.at(reader, Some(tid))?;
        let of_ns = reader.time("of")?.ok_or("'walk' needs of=")?;
        let pid = reader.or("pid", self.cast.pid_of(tid, of_ns))?;
        let key: Option<u64> = reader.get("key")?;
        let (half, name) = which_half(reader)?;
        if let Some(key) = key {
            return match half {
                Half::Both => Err("a key names the kernel half or the user half".into()),
                _ => self.write_key_reference(at, of_ns, (pid, tid), half == Half::Kernel, key),
            };
        }
        let frames = self.half_frames(half, name, pid, of_ns)?;
        self.write_walk(at, of_ns, (pid, tid), &frames)
    }

    /// `TIME keydef delete|rundown|create key=KEY kernel=NAME|user=NAME [pid=PID] [cpu=C]`
    pub(super) fn emit_keydef(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let hook = match reader.word() {
            Some("create") => 0x1822,
            Some("delete") => 0x1823,
            None | Some("rundown") => 0x1824,
            Some(other) => return Err(format!("'{other}' is no key definition")),
        };
        let key: u64 = reader.need("key")?;
        let at = self.at(reader, None)?;
        let pid = reader.or("pid", 0)?;
        let (half, name) = which_half(reader)?;
        let frames = self.half_frames(half, name, pid, at.ns)?;
        self.write_definition(at, hook, key, &frames)
    }

    fn half_frames(
        &mut self,
        half: Half,
        name: &str,
        pid: u32,
        ns: Ns,
    ) -> Result<Vec<u64>, String> {
        if name == "none" {
            return Ok(Vec::new());
        }
        let halves = self.halves(name, pid, ns)?;
        Ok(match half {
            Half::Kernel => halves.kernel,
            Half::User => halves.user,
            Half::Both => halves.kernel.into_iter().chain(halves.user).collect(),
        })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Kernel,
    User,
    Both,
}

/// Which half a `walk` or `keydef` line means; a bare key reference needs no stack (`kernel=none`).
fn which_half<'a>(reader: &Reader<'a>) -> Result<(Half, &'a str), String> {
    for (key, half) in [("kernel", Half::Kernel), ("user", Half::User), ("both", Half::Both)] {
        if let Some(name) = reader.text(key) {
            return Ok((half, name));
        }
    }
    Err(format!("'{}' needs kernel=, user= or both=", reader.statement.word))
}
