//! Payloads that a line gives, against the bytes real kernels wrote (`vectors/kernel-payloads.json`).
//!
//! The folder is found through `ETWAS_CORPUS`, else beside the repository; where it is absent the test
//! says so and passes.

use std::fs;
use std::path::{Path, PathBuf};

use etwas_writer::{Scenario, Variant};

/// Vector, keys of the machine line, the line that must give it, hook of its record.
const CASES: [(&str, &str, &str, usize); 27] = [
    (
        "ThreadCSwitchV2",
        "build=9200",
        "1s cswitch cpu=0 new=2252 old=0 new_prio=8 cstate=1 ideal=4 ticks=1 quantum=881356167",
        0x0524,
    ),
    (
        "ThreadCSwitch32bitsV2",
        "bits=32 build=7601",
        "1s cswitch cpu=0 new=0 old=4396 old_prio=9 out=ready:WrProcessInSwap mode=kernel ideal=0 ticks=18 quantum=18470",
        0x0524,
    ),
    ("ThreadSetPriorityV3", "", "1s priority 544 dynamic 15 16", 0x0530),
    ("ThreadSetBasePriorityV3", "", "1s priority 6896 base 4 7", 0x0531),
    ("ThreadSetPagePriorityV3", "", "1s priority 6764 page 5 6", 0x0533),
    ("ThreadSetIoPriorityV3", "", "1s priority 188 io 2 0", 0x0534),
    ("ThreadEnd32bitsV1", "bits=32", "1s thread end 180 pid=4 v=1", 0x0502),
    (
        "ImageUnloadV2",
        "",
        r"1s image unload fastprox.dll pid=5956 base=8791654924288 size=925696 checksum=948129 time=1247534846 v=2 path=\Windows\System32\wbem\fastprox.dll",
        0x1402,
    ),
    (
        "ImageDCStart32bitsV0",
        "bits=32",
        r"1s image dcstart t.exe pid=1 base=18219008 size=1695744 v=0 path=C:\code\sawbuck\src\sawbuck\Debug\test_program.exe",
        0x1403,
    ),
    (
        "ImageDCStart32bitsV1",
        "bits=32",
        r"1s image dcstart t.exe pid=7644 base=18219008 size=1695744 v=1 path=C:\code\sawbuck\src\sawbuck\Debug\test_program.exe",
        0x1403,
    ),
    (
        "ImageDCStartV2",
        "",
        r"1s image dcstart ntoskrnl.exe base=0xfffff80002e08000 size=6184960 checksum=5612101 time=0 default_base=0 v=2 path=\SystemRoot\system32\ntoskrnl.exe",
        0x1403,
    ),
    (
        "ImageDCStartV3",
        "",
        r"1s image dcstart ntdll.dll pid=4 base=2001010688 size=1474560 checksum=1490712 time=0 sig_level=12 sig_type=1 v=3 path=\Device\HarddiskVolume4\Windows\SysWOW64\ntdll.dll",
        0x1403,
    ),
    (
        "ImageLoadV0",
        "",
        r"1s image dcstart t.exe pid=1 base=18219008 size=1695744 v=0 path=C:\code\sawbuck\src\sawbuck\Debug\test_program.exe",
        0x1403,
    ),
    ("ImageKernelBaseV2", "", "1s image kernelbase nt base=0xfffff80002e19000", 0x1421),
    ("ProcessTerminateV2", "", "1s process terminate 2040 x", 0x030B),
    ("PerfInfoSampleProfV2", "", "1s sample tid=8048 at=0xfffff800748cab4b prio=8", 0x0F2E),
    ("PerfInfoSysClEnterV2", "", "1s raw perfinfo hook=0x0f33 : ptr:18446735279572131108", 0x0F33),
    ("PerfInfoSysClExitV2", "", "1s raw perfinfo hook=0x0f34 : u32:0", 0x0F34),
    (
        "PerfInfoDPCV2",
        "anchor=4838945609293",
        "1.1s dpc cpu=0 for=100ms routine=0xfffff8007496bce4",
        0x0F44,
    ),
    (
        "PerfInfoThreadesDPC32bitsV2",
        "bits=32 anchor=2935901959818",
        "1.1s dpc cpu=0 for=100ms routine=0x82837107 threaded",
        0x0F42,
    ),
    (
        "PerfInfoTimerDPC32bitsV2",
        "bits=32 anchor=2935896974659",
        "1.1s dpc cpu=0 for=100ms routine=0x93fe27b0 timer",
        0x0F45,
    ),
    (
        "PerfInfoISRV2",
        "anchor=4838946092844",
        "1.1s isr cpu=0 for=100ms routine=0xfffff80002f915c0 vector=129 returned=0",
        0x0F43,
    ),
    (
        "PerfInfoISR32bitsV2",
        "bits=32 anchor=2935897008724",
        "1.1s isr cpu=0 for=100ms routine=0x94dcef00 vector=178 returned=0",
        0x0F43,
    ),
    (
        "PerfInfoISRMSI32bitsV2",
        "bits=32 anchor=2935899928952",
        "1.1s isr cpu=0 for=100ms routine=0x8b8ca90e vector=176 message=0",
        0x0F32,
    ),
    ("PerfInfoCollectionStartV3", "", "1s interval 1ms start", 0x0F49),
    ("PerfInfoCollectionEndV3", "", "1s interval 1ms end", 0x0F4A),
    ("PerfInfoCollectionStart32bitsV2", "bits=32", "1s interval 1ms start v=2", 0x0F49),
];

fn corpus() -> PathBuf {
    match std::env::var_os("ETWAS_CORPUS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    }
}

/// The payload of a vector, found by its name; the file is regular enough for a text search.
fn payload<'a>(json: &'a str, name: &str) -> &'a str {
    let at = json.find(&format!("\"name\": \"{name}\"")).unwrap_or_else(|| panic!("no {name}"));
    let rest = &json[at..];
    let start = rest.find("\"payload\": \"").expect("a payload follows") + 12;
    &rest[start..start + rest[start..].find('"').expect("it ends")]
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes([bytes[at], bytes[at + 1]]).into()
}

/// Payload of the first record with a hook, as hexadecimal digits.
fn written(bytes: &[u8], hook: usize) -> Option<String> {
    let size = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
    for buffer in bytes.chunks(size) {
        let end = u32::from_le_bytes(buffer[0x30..0x34].try_into().expect("four bytes")) as usize;
        let mut at = 0x48;
        while at + 8 <= end {
            let size = u16_at(buffer, at + 4);
            let header = if buffer[at + 2] >= 0x10 { 0x10 } else { 0x20 };
            if u16_at(buffer, at + 6) == hook {
                let payload = &buffer[at + header..at + size];
                return Some(payload.iter().map(|b| format!("{b:02x}")).collect());
            }
            at += size.next_multiple_of(8);
        }
    }
    None
}

#[test]
fn lines_give_the_bytes_of_real_kernels() {
    let path = corpus().join("vectors/kernel-payloads.json");
    let Ok(json) = fs::read_to_string(&path) else {
        eprintln!("skipped: {} is absent", path.display());
        return;
    };
    for (name, machine, line, hook) in CASES {
        let text = format!("machine cpus=1 {machine}\n{line}\n");
        let scenario = Scenario::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let file = &scenario.write(&Variant::default())[0];
        let found = written(&file.bytes, hook);
        assert_eq!(found.as_deref(), Some(payload(&json, name)), "{name}");
    }
}
