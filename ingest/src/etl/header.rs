//! The header record of a recording: SYSTEM header, TRACE_LOGFILE_HEADER and two names (etl-format.md 1.5).
//!
//! It says how to read the clock, what the session lost and how large its buffers were. It does not say how
//! wide pointers of other records are: every record says that itself. `file.rs` reads it when a file is opened.

use super::bytes::{i32_at, i64_at, u8_at, u16_at, u32_at, u64_at, utf16_z};

/// LogFileMode bit of circular logs.
pub const MODE_CIRCULAR: u32 = 0x2;
/// LogFileMode bit of logs that count MaximumFileSize in KB.
pub const MODE_KBYTES: u32 = 0x2000;
/// LogFileMode bit of files written by a relogger or merge.
pub const MODE_RELOG: u32 = 0x1_0000;
/// LogFileMode bit of files with compressed buffers.
pub const MODE_COMPRESSED: u32 = 0x0400_0000;
/// LogFileMode bit of sessions without a buffer stream per CPU; the CPU of their events is not recorded.
pub const MODE_NO_PER_CPU: u32 = 0x1000_0000;

/// Size of the SYSTEM header before TRACE_LOGFILE_HEADER.
const RECORD_HEADER: usize = 0x20;

/// Everything the header record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHeader {
    /// Size of the session's buffers in bytes; in compressed files the limit of a buffer's uncompressed size.
    pub buffer_size: u32,
    /// Windows major version (6, 10).
    pub os_major: u8,
    /// Windows minor version.
    pub os_minor: u8,
    /// Log layout, major part: 1, or 2 for compressed files, buffers over 1 MiB or more than 256 CPUs.
    pub layout_major: u8,
    /// Log layout, minor part: 0 XP, 2 Server 2003, 4 Vista, 5 Windows 7 and later.
    pub layout_minor: u8,
    /// Windows build (7600, 19041, 26100).
    pub os_build: u32,
    /// NumberOfProcessors; 1 for sessions without a stream per CPU.
    pub cpus: u32,
    /// Wall clock at the end (FILETIME, UTC); 0 in a file that was never closed. Merged files hold events beyond it.
    pub end_filetime: i64,
    /// Clock interrupt period in 100 ns units; CPU times in record headers count these.
    pub timer_resolution: u32,
    /// MaximumFileSize, in MB or with `MODE_KBYTES` in KB.
    pub maximum_file_size: u32,
    /// LogFileMode, see the `MODE_*` constants.
    pub log_mode: u32,
    /// Number of buffers the session had written when the header was last rewritten. Not to be trusted.
    pub buffers_written: u32,
    /// StartBuffers.
    pub start_buffers: u32,
    /// Pointer size of the program that made the session, 4 or 8. Says nothing about any event.
    pub pointer_size: u32,
    /// Events that found no buffer.
    pub events_lost: u32,
    /// Nominal CPU speed in MHz.
    pub cpu_mhz: u32,
    /// The field LoggerName: a stale pointer before Windows 7, then the timer source of the clock interrupt.
    pub logger_name_field: u64,
    /// The field LogFileName: a stale pointer before Windows 7, then the timer source of the performance counter.
    pub file_name_field: u64,
    /// Minutes to add to local time to get UTC.
    pub time_zone_bias_minutes: i32,
    /// Further minutes while standard time holds.
    pub standard_bias_minutes: i32,
    /// Further minutes while daylight time holds.
    pub daylight_bias_minutes: i32,
    /// Name of standard time, often a resource reference such as `@tzres.dll,-212`.
    pub standard_name: String,
    /// Name of daylight time.
    pub daylight_name: String,
    /// Wall clock at boot (FILETIME, UTC), coarse.
    pub boot_filetime: i64,
    /// Performance counter ticks in a second.
    pub perf_freq: i64,
    /// Wall clock at the start (FILETIME, UTC).
    pub start_filetime: i64,
    /// ReservedFlags: clock type 1, 2 or 3.
    pub clock_type: u32,
    /// Buffers that were lost.
    pub buffers_lost: u32,
    /// Session name, unpaired surrogates replaced.
    pub session_name: String,
    /// Log file name, unpaired surrogates replaced.
    pub file_name: String,
    /// Timestamp of the header record: the same moment as `start_filetime`.
    pub header_ticks: i64,
    /// Width of the header record's own form, 32 or 64.
    pub record_bits: u8,
    /// Version word of the header record: 2 since Vista, 1 before.
    pub record_version: u16,
}

impl LogHeader {
    /// Reads the header record that starts `record`; `Err` says in a few words what is not as it must be.
    pub(crate) fn parse(record: &[u8]) -> Result<LogHeader, &'static str> {
        let marker = u32_at(record, 0).ok_or("the header record is cut")?;
        let wide = match marker >> 16 {
            0xC001 => false,
            0xC002 => true,
            _ => return Err("no header record"),
        };
        if u16_at(record, 6) != Some(0) {
            return Err("the first record is not the header record");
        }
        let size = usize::from(u16_at(record, 4).unwrap_or(0));
        let record = record.get(..size).ok_or("the header record is cut")?;
        LogHeader::fields(record, marker, wide).ok_or("the header record is too short")
    }

    fn fields(record: &[u8], marker: u32, wide: bool) -> Option<LogHeader> {
        let body = record.get(RECORD_HEADER..)?;
        // The 32-bit form differs by its two narrower pointers.
        let zone = if wide { 0x48 } else { 0x40 };
        let tail = if wide { 0xF8 } else { 0xF0 };
        let pointer = |at: usize| {
            if wide { u64_at(body, at) } else { u32_at(body, at).map(u64::from) }
        };
        let names = body.get(tail + 0x20..)?;
        let (session_name, session_bytes) = utf16_z(names);
        let (file_name, _) = utf16_z(names.get(session_bytes..).unwrap_or(&[]));
        Some(LogHeader {
            buffer_size: u32_at(body, 0x00)?,
            os_major: u8_at(body, 0x04)?,
            os_minor: u8_at(body, 0x05)?,
            layout_major: u8_at(body, 0x06)?,
            layout_minor: u8_at(body, 0x07)?,
            os_build: u32_at(body, 0x08)?,
            cpus: u32_at(body, 0x0C)?,
            end_filetime: i64_at(body, 0x10)?,
            timer_resolution: u32_at(body, 0x18)?,
            maximum_file_size: u32_at(body, 0x1C)?,
            log_mode: u32_at(body, 0x20)?,
            buffers_written: u32_at(body, 0x24)?,
            start_buffers: u32_at(body, 0x28)?,
            pointer_size: u32_at(body, 0x2C)?,
            events_lost: u32_at(body, 0x30)?,
            cpu_mhz: u32_at(body, 0x34)?,
            logger_name_field: pointer(0x38)?,
            file_name_field: pointer(if wide { 0x40 } else { 0x3C })?,
            time_zone_bias_minutes: i32_at(body, zone)?,
            standard_name: utf16_z(body.get(zone + 0x04..zone + 0x44)?).0,
            standard_bias_minutes: i32_at(body, zone + 0x54)?,
            daylight_name: utf16_z(body.get(zone + 0x58..zone + 0x98)?).0,
            daylight_bias_minutes: i32_at(body, zone + 0xA8)?,
            boot_filetime: i64_at(body, tail)?,
            perf_freq: i64_at(body, tail + 0x08)?,
            start_filetime: i64_at(body, tail + 0x10)?,
            clock_type: u32_at(body, tail + 0x18)?,
            buffers_lost: u32_at(body, tail + 0x1C)?,
            session_name,
            file_name,
            header_ticks: i64_at(record, 0x10)?,
            record_bits: if wide { 64 } else { 32 },
            record_version: marker as u16,
        })
    }

    /// Whether the file was written by XP or Server 2003, whose buffer headers differ (etl-format.md 1.4).
    pub fn before_vista(&self) -> bool {
        self.layout_major < 1 || (self.layout_major == 1 && self.layout_minor < 3)
    }

    /// Whether INSTANCE records have the short form of XP and older.
    pub fn short_instances(&self) -> bool {
        self.layout_major < 1 || (self.layout_major == 1 && self.layout_minor < 1)
    }

    /// Pointer size for records that do not state one: that of the session's creator.
    pub fn default_pointer_size(&self) -> u8 {
        if self.record_bits == 32 { 4 } else { 8 }
    }
}
