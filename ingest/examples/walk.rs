//! Walks and merges `.etl` files and prints what the container decoder found, and how fast:
//! `cargo run --release -p etwas-ingest --example walk -- FILE...`
//! Rates are of CPU time where Linux tells it, so that a busy machine measures the same.

use std::fs::File;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use etwas_ingest::etl::{EtlFile, Merge, scan};

fn main() {
    for path in std::env::args().skip(1) {
        if let Err(error) = walk(&path) {
            println!("{path}: {error}");
        }
    }
}

fn walk(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let started = seconds();
    let file = EtlFile::open(Arc::new(File::open(path)?))?;
    let open_ms = (seconds() - started) * 1e3;
    let output: u64 = file.buffers().iter().map(|buffer| u64::from(buffer.filled)).sum();
    let rate = |seconds: f64| output as f64 / seconds / 1e6;

    let started = seconds();
    let mut checksum = 0i64;
    let scanned = scan(&file, |event| checksum = checksum.wrapping_add(event.ticks))?;
    let scan_seconds = seconds() - started;

    let started = seconds();
    let mut merged_checksum = 0i64;
    let merged = Merge::new(&[&file]).run(|_, event| {
        merged_checksum = merged_checksum.wrapping_add(event.ticks);
    })?;
    let merge_seconds = seconds() - started;

    println!(
        "{path}: {} buffers ({} compressed), {} records, {} bytes of buffers\n  \
         open {open_ms:.1} ms, scan {:.0} MB/s, merge {:.0} MB/s, {} open buffers, {} out of order, {}",
        file.buffers().len(),
        file.compressed_buffers(),
        scanned.records,
        output,
        rate(scan_seconds),
        rate(merge_seconds),
        merged.open_buffers_max,
        merged.out_of_order,
        if merged.records == scanned.records && checksum == merged_checksum {
            "same records"
        } else {
            "DIFFERENT RECORDS"
        },
    );
    for damage in file.damage().iter().chain(scanned.damage.listed()) {
        println!("  {damage}");
    }
    Ok(())
}

/// CPU seconds of this thread, else seconds of the clock on the wall.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = stat.as_deref().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ran.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}
