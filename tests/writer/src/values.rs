//! Names of closed value sets as scenarios write them: thread states, wait reasons, providers.

use crate::body::Guid;

const STATES: [&str; 10] = [
    "initialized",
    "ready",
    "running",
    "standby",
    "terminated",
    "waiting",
    "transition",
    "deferredready",
    "gatewait",
    "processinswap",
];

const REASONS: [&str; 43] = [
    "Executive",
    "FreePage",
    "PageIn",
    "PoolAllocation",
    "DelayExecution",
    "Suspended",
    "UserRequest",
    "WrExecutive",
    "WrFreePage",
    "WrPageIn",
    "WrPoolAllocation",
    "WrDelayExecution",
    "WrSuspended",
    "WrUserRequest",
    "WrEventPair",
    "WrQueue",
    "WrLpcReceive",
    "WrLpcReply",
    "WrVirtualMemory",
    "WrPageOut",
    "WrRendezvous",
    "WrKeyedEvent",
    "WrTerminated",
    "WrProcessInSwap",
    "WrCpuRateControl",
    "WrCalloutStack",
    "WrKernel",
    "WrResource",
    "WrPushLock",
    "WrMutex",
    "WrQuantumEnd",
    "WrDispatchInt",
    "WrPreempted",
    "WrYieldExecution",
    "WrFastMutex",
    "WrGuardedMutex",
    "WrRundown",
    "WrAlertByThreadId",
    "WrDeferredPreempt",
    "WrPhysicalFault",
    "WrIoRing",
    "WrMdlCache",
    "WrRcu",
];

/// Providers that scenarios call by a short name.
const PROVIDERS: [(&str, &str); 12] = [
    ("Win32k", "8c416c79-d49b-4f01-a467-e56d3aa8234c"),
    ("Kernel-Process", "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"),
    ("Kernel-Power", "331c3b3a-2005-44c2-ac5e-77220c37d6b4"),
    ("Kernel-Processor-Power", "0f67e49f-fe51-4e9f-b490-6f2948cc6027"),
    ("UserModePowerService", "ce8dee0b-d539-4000-b0f8-77bed049c590"),
    ("Multi-Main", "231cf54b-22a0-49e4-a59a-47052a30ffed"),
    ("Multi-Worker", "e9c3da11-e2a5-48fd-9cd3-17e7c764d303"),
    ("Multi-FrameRate", "2b25961d-ba6e-4d79-bec7-3605366e2e09"),
    ("Multi-Input", "70e2503b-c6f3-4780-b323-bd8ed0c61bf8"),
    ("ImageID", "b3e675d7-2554-4f18-830b-2762732560de"),
    ("EventMetadata", "bbccf6c1-6cd1-48c4-80ff-839482e37671"),
    ("SysConfigEx", "9b79ee91-b5fd-41c0-a243-4248e266e9d0"),
];

/// A state by name or number.
pub(crate) fn state(text: &str) -> Result<u8, String> {
    let lower = text.to_lowercase();
    match STATES.iter().position(|name| *name == lower) {
        Some(at) => Ok(at as u8),
        None => crate::text::field(text).map_err(|_| format!("'{text}' is no thread state")),
    }
}

/// A wait reason by name (with or without its `Wr`) or number.
pub(crate) fn reason(text: &str) -> Result<u8, String> {
    let same = |name: &str| name.eq_ignore_ascii_case(text);
    let short = |name: &str| name.strip_prefix("Wr").is_some_and(|n| n.eq_ignore_ascii_case(text));
    match REASONS.iter().position(|n| same(n)).or(REASONS.iter().position(|n| short(n))) {
        Some(at) => Ok(at as u8),
        None => crate::text::field(text).map_err(|_| format!("'{text}' is no wait reason")),
    }
}

/// `state:reason`, or a state alone.
pub(crate) fn leaving(text: &str) -> Result<(u8, u8), String> {
    match text.split_once(':') {
        Some((left, right)) => Ok((state(left)?, reason(right)?)),
        None => Ok((state(text)?, 0)),
    }
}

/// A provider by short name, by name with its `Microsoft-Windows-` prefix, or by GUID.
pub(crate) fn provider(text: &str) -> Result<Guid, String> {
    let short = text.strip_prefix("Microsoft-Windows-").unwrap_or(text);
    match PROVIDERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(short)) {
        Some((_, guid)) => Ok(Guid::known(guid)),
        None => Guid::parse(text).ok_or_else(|| format!("'{text}' is no provider")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(leaving("waiting:UserRequest"), Ok((5, 6)));
        assert_eq!(leaving("waiting:WrUserRequest"), Ok((5, 13)));
        assert_eq!(leaving("ready:QuantumEnd"), Ok((1, 30)));
        assert_eq!(leaving("standby:WrRcu"), Ok((3, 42)));
        assert_eq!(leaving("12:200"), Ok((12, 200)));
        assert!(leaving("asleep").is_err());
    }

    #[test]
    fn every_provider_is_a_guid() {
        for (name, guid) in PROVIDERS {
            assert_eq!(Guid::parse(guid), provider(name).ok(), "{name}");
        }
    }
}
