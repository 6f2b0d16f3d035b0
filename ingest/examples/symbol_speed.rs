//! How many frames a second get a name from one PDB, and how much memory that takes.
//!
//! `cargo run --release -p etwas-ingest --example symbol_speed -- IMAGE SYMBOL_PATH [FRAMES]`: looks up FRAMES
//! addresses (default 100000), spread evenly over the image.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use etwas_ingest::symbols::{ModuleIdentity, Resolver, SymbolOptions, SymbolPath};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [image, path, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: symbol_speed IMAGE SYMBOL_PATH [FRAMES]");
        return ExitCode::from(2);
    };
    match run(Path::new(image), path, rest.first().map_or("100000", String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

fn run(image: &Path, path: &str, frames: &str) -> Result<(), String> {
    let frames: u64 = frames.parse().map_err(|_| "FRAMES is a number".to_owned())?;
    let identity = ModuleIdentity::of_image(image)?;
    let size = u64::from(identity.size.unwrap_or(0));
    let mut rvas: Vec<u32> = (0..frames).map(|frame| (frame * size / frames) as u32).collect();
    rvas.dedup();
    let path = SymbolPath::parse(path).map_err(|error| error.to_string())?;
    let resolver = Resolver::new(&SymbolOptions { path, ..SymbolOptions::default() });
    let start = Instant::now();
    let outcome = resolver.resolve(&identity, &rvas);
    let seconds = start.elapsed().as_secs_f64();
    for complaint in &outcome.complaints {
        eprintln!("{complaint}");
    }
    let lines = outcome.names.iter().filter(|named| named.source_line.is_some()).count();
    println!(
        "{} addresses, {} with a name, {lines} with a line, {seconds:.3} s, {:.0} frames a second",
        rvas.len(),
        outcome.names.len(),
        rvas.len() as f64 / seconds
    );
    if let Some(peak) = peak_memory() {
        println!("peak memory {peak}");
    }
    Ok(())
}

/// Known on Linux only.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.trim_start_matches("VmHWM:").trim().to_owned())
}
