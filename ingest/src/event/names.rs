//! Names of kernel hooks and classic events, for the census, and which of them are understood without being
//! stored (event-payloads.md 12).

use crate::etl::Guid;

/// A kernel group: its byte in a hook, the class it is known by, and its name.
struct Group {
    group: u8,
    class: Guid,
    name: &'static str,
}

const fn group(group: u8, name: &'static str, d1: u32, d2: u16, d3: u16, d4: [u8; 8]) -> Group {
    Group { group, class: Guid::new(d1, d2, d3, d4), name }
}

/// The groups whose class GUID is documented.
static GROUPS: &[Group] = &[
    group(
        0x00,
        "EventTrace",
        0x68fdd900,
        0x4a3e,
        0x11d1,
        [0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3],
    ),
    group(
        0x01,
        "DiskIo",
        0x3d6fa8d4,
        0xfe05,
        0x11d0,
        [0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c],
    ),
    group(
        0x02,
        "PageFault",
        0x3d6fa8d3,
        0xfe05,
        0x11d0,
        [0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c],
    ),
    group(
        0x03,
        "Process",
        0x3d6fa8d0,
        0xfe05,
        0x11d0,
        [0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c],
    ),
    group(
        0x04,
        "FileIo",
        0x90cbdc39,
        0x4a3e,
        0x11d1,
        [0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3],
    ),
    group(
        0x05,
        "Thread",
        0x3d6fa8d1,
        0xfe05,
        0x11d0,
        [0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c],
    ),
    group(
        0x06,
        "TcpIp",
        0x9a280ac0,
        0xc8e0,
        0x11d1,
        [0x84, 0xe2, 0x00, 0xc0, 0x4f, 0xb9, 0x98, 0xa2],
    ),
    group(
        0x08,
        "UdpIp",
        0xbf3a50c5,
        0xa9c9,
        0x4988,
        [0xa0, 0x05, 0x2d, 0xf0, 0xb7, 0xc8, 0x0f, 0x80],
    ),
    group(
        0x09,
        "Registry",
        0xae53722e,
        0xc863,
        0x11d2,
        [0x86, 0x59, 0x00, 0xc0, 0x4f, 0xa3, 0x21, 0xa1],
    ),
    group(
        0x0B,
        "SystemConfig",
        0x01853a65,
        0x418f,
        0x4f36,
        [0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35],
    ),
    group(
        0x0F,
        "PerfInfo",
        0xce1dbfb4,
        0x137e,
        0x4da6,
        [0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc],
    ),
    group(
        0x11,
        "Object",
        0x89497f50,
        0xeffe,
        0x4440,
        [0x8c, 0xf2, 0xce, 0x6b, 0x1c, 0xdc, 0xac, 0xa7],
    ),
    group(
        0x14,
        "Image",
        0x2cb15d1d,
        0x5fc1,
        0x11d2,
        [0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18],
    ),
    group(
        0x18,
        "StackWalk",
        0xdef2fe46,
        0x7bd6,
        0x4b80,
        [0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3],
    ),
    group(
        0x1A,
        "Alpc",
        0x45d8cccd,
        0x539f,
        0x4b72,
        [0xa8, 0xb7, 0x5c, 0x68, 0x31, 0x42, 0x60, 0x9a],
    ),
];

/// Groups without a documented class here.
static GROUP_NAMES: &[(u8, &str)] = &[
    (0x07, "Job"),
    (0x0A, "DbgPrint"),
    (0x0D, "Wnf"),
    (0x0E, "Pool"),
    (0x10, "Heap"),
    (0x12, "Power"),
    (0x13, "ModBound"),
    (0x15, "Dpc"),
    (0x16, "Cc"),
    (0x17, "CritSec"),
    (0x19, "Ums"),
    (0x1B, "SplitIo"),
    (0x1C, "ThreadPool"),
    (0x1D, "Hypervisor"),
    (0x1E, "HypervisorX"),
];

/// The group byte of a kernel event class.
pub fn group_of_class(class: Guid) -> Option<u8> {
    GROUPS.iter().find(|g| g.class == class).map(|g| g.group)
}

/// The event class of a hook; loads logged under the process group belong to Image.
pub fn class_of_hook(hook: u16) -> Option<Guid> {
    let group = if hook == 0x030A { 0x14 } else { (hook >> 8) as u8 };
    GROUPS.iter().find(|g| g.group == group).map(|g| g.class)
}

/// The name of a hook's group.
pub fn group_name(hook: u16) -> Option<&'static str> {
    let group = if hook == 0x030A { 0x14 } else { (hook >> 8) as u8 };
    GROUPS
        .iter()
        .find(|g| g.group == group)
        .map(|g| g.name)
        .or_else(|| GROUP_NAMES.iter().find(|(g, _)| *g == group).map(|(_, name)| *name))
}

/// Hooks that are understood, sorted by number.
static HOOKS: &[(u16, &str)] = &[
    (0x0000, "Header"),
    (0x0005, "GroupMasks"),
    (0x0008, "RundownComplete"),
    (0x0020, "GroupMasksEnd"),
    (0x0030, "RundownBegin"),
    (0x0031, "RundownEnd"),
    (0x0040, "DbgIdRSDS"),
    (0x0041, "DbgIdNB10"),
    (0x0042, "BuildLab"),
    (0x0043, "BinaryPath"),
    (0x0050, "PartitionInfo"),
    (0x0052, "LastDroppedTimes"),
    (0x010A, "Read"),
    (0x010B, "Write"),
    (0x010C, "ReadInit"),
    (0x010D, "WriteInit"),
    (0x010E, "Flush"),
    (0x010F, "FlushInit"),
    (0x0110, "Redirected"),
    (0x020A, "TransitionFault"),
    (0x020B, "DemandZeroFault"),
    (0x020C, "CopyOnWrite"),
    (0x020D, "GuardPageFault"),
    (0x020E, "HardPageFault"),
    (0x020F, "AccessViolation"),
    (0x0220, "HardFault"),
    (0x0262, "VirtualAlloc"),
    (0x0263, "VirtualFree"),
    (0x0264, "HeapRangeRundown"),
    (0x0265, "HeapRangeCreate"),
    (0x0266, "HeapRangeReserve"),
    (0x0267, "HeapRangeRelease"),
    (0x0268, "HeapRangeDestroy"),
    (0x0269, "ImageLoadBacked"),
    (0x0270, "MemoryInfo"),
    (0x0301, "Start"),
    (0x0302, "End"),
    (0x0303, "DCStart"),
    (0x0304, "DCEnd"),
    (0x030A, "Load"),
    (0x030B, "Terminate"),
    (0x0320, "PerfCtr"),
    (0x0321, "PerfCtrRundown"),
    (0x0323, "InSwap"),
    (0x0327, "Defunct"),
    (0x0400, "Name"),
    (0x0420, "FileCreate"),
    (0x0423, "FileDelete"),
    (0x0424, "FileRundown"),
    (0x0425, "MapFile"),
    (0x0426, "UnMapFile"),
    (0x0427, "MapFileDCStart"),
    (0x0428, "MapFileDCEnd"),
    (0x0440, "Create"),
    (0x0441, "Cleanup"),
    (0x0442, "Close"),
    (0x0443, "Read"),
    (0x0444, "Write"),
    (0x0445, "SetInfo"),
    (0x0446, "Delete"),
    (0x0447, "Rename"),
    (0x0448, "DirEnum"),
    (0x0449, "Flush"),
    (0x044A, "QueryInfo"),
    (0x044B, "FSControl"),
    (0x044C, "OperationEnd"),
    (0x044D, "DirNotify"),
    (0x0501, "Start"),
    (0x0502, "End"),
    (0x0503, "DCStart"),
    (0x0504, "DCEnd"),
    (0x0524, "CSwitch"),
    (0x0525, "CompactCSwitch"),
    (0x0529, "SpinLock"),
    (0x0530, "SetPriority"),
    (0x0531, "SetBasePriority"),
    (0x0532, "ReadyThread"),
    (0x0533, "SetPagePriority"),
    (0x0534, "SetIoPriority"),
    (0x0535, "Affinity"),
    (0x0539, "WorkerThread"),
    (0x053A, "DfssInterval"),
    (0x053B, "DfssIdleOnlyRelease"),
    (0x053C, "AntiStarvationBoost"),
    (0x053D, "ThreadMigration"),
    (0x053E, "KernelQueueEnqueue"),
    (0x053F, "KernelQueueDequeue"),
    (0x0542, "AutoBoostSetFloor"),
    (0x0543, "AutoBoostClearFloor"),
    (0x0544, "AutoBoostEntryExhaustion"),
    (0x0545, "SubProcessTagChanged"),
    (0x0548, "SetName"),
    (0x060A, "SendIPV4"),
    (0x060B, "RecvIPV4"),
    (0x060C, "ConnectIPV4"),
    (0x060D, "DisconnectIPV4"),
    (0x060E, "RetransmitIPV4"),
    (0x060F, "AcceptIPV4"),
    (0x0610, "ReconnectIPV4"),
    (0x0611, "Fail"),
    (0x0612, "TCPCopyIPV4"),
    (0x061A, "SendIPV6"),
    (0x061B, "RecvIPV6"),
    (0x061C, "ConnectIPV6"),
    (0x061D, "DisconnectIPV6"),
    (0x061E, "RetransmitIPV6"),
    (0x061F, "AcceptIPV6"),
    (0x0620, "ReconnectIPV6"),
    (0x0622, "TCPCopyIPV6"),
    (0x072C, "JobCpuRate"),
    (0x080A, "SendIPV4"),
    (0x080B, "RecvIPV4"),
    (0x081A, "SendIPV6"),
    (0x081B, "RecvIPV6"),
    (0x0B0A, "CPU"),
    (0x0B0B, "PhyDisk"),
    (0x0B0C, "LogDisk"),
    (0x0B0D, "NIC"),
    (0x0B0E, "Video"),
    (0x0B0F, "Services"),
    (0x0B10, "Power"),
    (0x0B11, "Network"),
    (0x0B12, "OpticalDisk"),
    (0x0B15, "IRQ"),
    (0x0B16, "PnP"),
    (0x0B17, "IDEChannel"),
    (0x0B18, "NumaNode"),
    (0x0B19, "Platform"),
    (0x0B1A, "ProcessorGroup"),
    (0x0B1B, "ProcessorNumber"),
    (0x0B1C, "DPI"),
    (0x0B1D, "CodeIntegrity"),
    (0x0B1E, "MachineId"),
    (0x0B21, "DeviceFamily"),
    (0x0B22, "FlightIds"),
    (0x0B23, "Processors"),
    (0x0B24, "Virtualization"),
    (0x0B25, "Boot"),
    (0x0F22, "Mark"),
    (0x0F2E, "Sample"),
    (0x0F2F, "PmcSample"),
    (0x0F30, "PmcConfig"),
    (0x0F32, "ISR-MSI"),
    (0x0F33, "SysCallEnter"),
    (0x0F34, "SysCallExit"),
    (0x0F42, "ThreadedDPC"),
    (0x0F43, "ISR"),
    (0x0F44, "DPC"),
    (0x0F45, "TimerDPC"),
    (0x0F46, "IOTimer"),
    (0x0F48, "SetInterval"),
    (0x0F49, "CollectionStart"),
    (0x0F4A, "CollectionEnd"),
    (0x0F4B, "SpinLockConfig"),
    (0x0F4F, "ClockInterrupt"),
    (0x0F5F, "ISR-Passive"),
    (0x0F64, "DpcEnqueue"),
    (0x0F65, "DpcExecute"),
    (0x1230, "PreSleep"),
    (0x1231, "PostSleep"),
    (0x1233, "PerfStateChange"),
    (0x1239, "IdleStateEnter"),
    (0x123A, "IdleStateExit"),
    (0x1402, "Unload"),
    (0x1403, "DCStart"),
    (0x1404, "DCEnd"),
    (0x140A, "Load"),
    (0x1421, "KernelBase"),
    (0x1422, "HypercallPage"),
    (0x1820, "Stack"),
    (0x1822, "StackCreate"),
    (0x1823, "StackDelete"),
    (0x1824, "StackRundown"),
    (0x1825, "StackKeyKernel"),
    (0x1826, "StackKeyUser"),
];

/// The name of a hook that is understood.
pub fn hook_name(hook: u16) -> Option<&'static str> {
    HOOKS.binary_search_by_key(&hook, |(h, _)| *h).ok().map(|index| HOOKS[index].1)
}

/// WinSAT assessments, written by a merge.
const WINSAT: Guid =
    Guid::new(0xed54dff8, 0xc409, 0x4cf6, [0xbf, 0x83, 0x05, 0xe1, 0xe6, 0x1a, 0x09, 0xc4]);
/// PerfTrack metadata, written by a merge.
const PERF_TRACK: Guid =
    Guid::new(0xbf6ef1cb, 0x89b5, 0x0490, [0x80, 0xac, 0xb1, 0x80, 0xcf, 0xbc, 0xff, 0x0f]);
/// What a consumer writes in place of lost events.
const RT_LOST: Guid =
    Guid::new(0x6a399ae0, 0x4bc6, 0x4de9, [0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e]);

/// Provider and event name of a classic event that is understood.
pub fn classic_name(class: Guid, opcode: u8) -> Option<(&'static str, &'static str)> {
    if class == super::IMAGE_ID {
        let name = match opcode {
            0 => "ImageID",
            32 => "NoDebugInfo",
            36 => "DbgID_RSDS",
            37 => "DbgID_ILRSDS",
            38 => "DbgID_PPDB",
            40 => "Deterministic",
            64 => "FileVersion",
            _ => return None,
        };
        return Some(("KernelTraceControl", name));
    }
    if class == super::SYS_CONFIG_EX {
        let name = match opcode {
            32 => "BuildInfo",
            33 => "SystemPaths",
            34 => "UnknownVolume",
            35 => "VolumeMapping",
            36 => "NetworkInterface",
            37 => "OSVersion",
            _ => return None,
        };
        return Some(("SysConfigEx", name));
    }
    if class == super::EVENT_METADATA {
        return match opcode {
            32 => Some(("EventMetadata", "EventInfo")),
            33 => Some(("EventMetadata", "EventMapInfo")),
            _ => None,
        };
    }
    if class == WINSAT {
        return match opcode {
            33 => Some(("WinSAT", "WinSPR")),
            35 => Some(("WinSAT", "Metrics")),
            37 => Some(("WinSAT", "SystemConfig")),
            _ => None,
        };
    }
    if class == RT_LOST {
        return match opcode {
            32 => Some(("RTLost", "RTLostEvent")),
            33 => Some(("RTLost", "RTLostBuffer")),
            34 => Some(("RTLost", "RTLostFile")),
            _ => None,
        };
    }
    (class == PERF_TRACK).then_some(("PerfTrack", "Metadata"))
}
