//! `--shard I/N`: which part of a list falls to this machine. Called by `plan`.

use std::str::FromStr;

/// Part `index` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// Whether a recording or problem of this key falls to this part.
    ///
    /// The key is a path relative to its argument with forward slashes, so that machines which
    /// see the same folder under different names split it the same way.
    pub fn takes(self, key: &str) -> bool {
        let hash = blake3::hash(key.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(first) % u64::from(self.count) == u64::from(self.index - 1)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is not a shard such as 1/4 (the first of four)");
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let index: u32 = index.parse().map_err(|_| wrong())?;
        let count: u32 = count.parse().map_err(|_| wrong())?;
        if index == 0 || index > count {
            return Err(format!("shards of {text:?} are numbered from 1 to {count}"));
        }
        Ok(Self { index, count })
    }
}
