//! CSwitch (0x0524), its compact batch (0x0525) and ReadyThread (0x0532); event-payloads.md 1.1 to 1.3.

use crate::etl::RawEvent;

/// Builds that are known to log the rank with event version 2 (Windows 10 1607).
const FIRST_RANK_BUILD: u32 = 14393;

/// One context switch as recorded. Fields that version, build or batch do not carry are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CSwitch {
    /// Thread planned to run.
    pub new_tid: u32,
    /// Thread that leaves.
    pub old_tid: u32,
    /// Priority of the new thread.
    pub new_priority: Option<i8>,
    /// Priority of the old thread.
    pub old_priority: Option<i8>,
    /// C-state that the idle thread leaves.
    pub previous_c_state: Option<u8>,
    /// Rank of the old thread.
    pub old_rank: Option<u8>,
    /// Priority decrement of the new thread.
    pub new_priority_decrement: Option<i8>,
    /// Wait reason of the old thread.
    pub old_wait_reason: Option<u8>,
    /// Wait mode of the old thread.
    pub old_wait_mode: Option<u8>,
    /// Quality of service of the old thread.
    pub old_qos: Option<u8>,
    /// Quality of service of the new thread.
    pub new_qos: Option<u8>,
    /// State of the old thread.
    pub old_state: Option<u8>,
    /// Ideal processor of the old thread.
    pub old_ideal_cpu: Option<u8>,
    /// Wait time of the new thread in clock ticks.
    pub new_wait_ticks: Option<u32>,
    /// Remaining quantum of the old thread.
    pub old_remaining_quantum: Option<i32>,
}

impl CSwitch {
    /// Decodes version 1 to 5; shorter payloads than the version says are read as far as they go, down to
    /// the 16 bytes of version 1. `build` decides whether version 2 has a rank.
    pub fn decode(event: &RawEvent<'_>, version: u8, build: u32) -> Option<CSwitch> {
        let head = event.payload.first_chunk::<16>()?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let tail = event.payload.get(16..24).filter(|_| version >= 2);
        let version = if tail.is_some() { version } else { 1 };
        let old_tid = word(4);
        let idle_leaves = old_tid == 0;
        let rank_known = version >= 3 || (version == 2 && build >= FIRST_RANK_BUILD);
        let flags = head[13];
        let qos = |shift: u8| (version >= 4).then_some(flags >> shift & 7);
        Some(CSwitch {
            new_tid: word(0),
            old_tid,
            new_priority: Some(head[8] as i8),
            old_priority: Some(head[9] as i8),
            previous_c_state: (idle_leaves && version >= 2).then_some(head[10]),
            old_rank: (!idle_leaves && rank_known).then_some(head[10]),
            new_priority_decrement: (version >= 2).then_some(head[11] as i8),
            old_wait_reason: Some(head[12]),
            old_wait_mode: Some(if version >= 3 { flags & 1 } else { flags }),
            old_qos: qos(1),
            new_qos: qos(4),
            old_state: Some(head[14]),
            old_ideal_cpu: Some(head[15]),
            new_wait_ticks: tail.map(|t| u32::from_le_bytes([t[0], t[1], t[2], t[3]])),
            old_remaining_quantum: tail
                .filter(|_| !idle_leaves)
                .map(|t| i32::from_le_bytes([t[4], t[5], t[6], t[7]])),
        })
    }

    /// Whether the rank byte means a rank in this version and build; samples follow the same rule.
    pub fn has_rank(version: u8, build: u32) -> bool {
        version >= 3 || (version == 2 && build >= FIRST_RANK_BUILD)
    }
}

/// One switch of a compact batch: the thread that leaves, and when. The thread that comes is the one that
/// leaves in the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactSwitch {
    /// Session clock.
    pub ticks: i64,
    /// Thread that leaves.
    pub old_tid: u32,
    /// Its priority, where the packet tells.
    pub old_priority: Option<i8>,
    /// Wait time of the new thread in clock ticks, where the packet tells.
    pub new_wait_ticks: Option<u32>,
}

const COMPACT_HEAD: usize = 88;

/// Unpacks a compact batch; `None` where it is shorter than its fixed part. Packets that are cut end it.
pub fn unpack_compact(payload: &[u8]) -> Option<Vec<CompactSwitch>> {
    let head = payload.first_chunk::<COMPACT_HEAD>()?;
    let mut ticks = i64::from_le_bytes(*head.first_chunk::<8>()?);
    let tid = |index: usize| {
        let at = 8 + 4 * index;
        u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
    };
    let priority = |index: usize| head[72 + index] as i8;
    let mut rest = &payload[COMPACT_HEAD..];
    let mut switches = Vec::new();
    while let Some(first) = rest.first() {
        let (used, delta, switch) = match first & 3 {
            0 => {
                let Some(p) = rest.first_chunk::<2>() else { break };
                (2, u64::from(u16::from_le_bytes(*p) >> 2), (0, None, None))
            }
            1 => {
                let Some(p) = rest.first_chunk::<4>() else { break };
                (4, u64::from(u32::from_le_bytes(*p) >> 2), (0, None, None))
            }
            2 => {
                let Some(p) = rest.first_chunk::<4>() else { break };
                let word = u32::from_le_bytes(*p);
                let index = (word >> 2 & 15) as usize;
                let raised = priority(index).saturating_add((word >> 6 & 7) as i8);
                (4, u64::from(word >> 15), (tid(index), Some(raised), None))
            }
            _ => {
                let Some(p) = rest.first_chunk::<8>() else { break };
                let word = u64::from_le_bytes(*p);
                let index = (word >> 32 & 15) as usize;
                let level = (word >> 42 & 31) as i8;
                let wait = (word >> 47) as u32;
                (8, word >> 2 & 0x3FFF_FFFF, (tid(index), Some(level), Some(wait)))
            }
        };
        ticks = ticks.saturating_add(delta as i64);
        let (old_tid, old_priority, new_wait_ticks) = switch;
        switches.push(CompactSwitch { ticks, old_tid, old_priority, new_wait_ticks });
        rest = &rest[used..];
    }
    Some(switches)
}

/// A thread is made ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyThread {
    /// Thread made ready.
    pub tid: u32,
    /// 0 none, 1 unwait, 2 boost.
    pub adjust_reason: u8,
    /// Priority increment.
    pub adjust_increment: i8,
    /// [`READY_IN_DPC`] and its siblings.
    pub flags: u8,
}

/// Logged in a DPC.
pub const READY_IN_DPC: u8 = 1;
/// The kernel stack has to be brought in.
pub const READY_STACK_OUT: u8 = 2;
/// The process has to be brought in.
pub const READY_PROCESS_OUT: u8 = 4;
/// A direct switch was attempted.
pub const READY_DIRECT: u8 = 8;

impl ReadyThread {
    /// Decodes version 2; eight bytes.
    pub fn decode(event: &RawEvent<'_>) -> Option<ReadyThread> {
        let p = event.payload.first_chunk::<7>()?;
        Some(ReadyThread {
            tid: u32::from_le_bytes([p[0], p[1], p[2], p[3]]),
            adjust_reason: p[4],
            adjust_increment: p[5] as i8,
            flags: p[6],
        })
    }
}
