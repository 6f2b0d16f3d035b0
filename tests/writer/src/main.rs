//! `etwas-writer`: scenario texts to `.etl` files, and a check that committed traces are fresh.
//!
//! ```text
//! etwas-writer SCENARIO.txt... --out DIR [--compressed] [--bits 32|64] [--file-bits 32|64]
//!              [--buffer BYTES] [--rotate] [--symbols DIR]
//! etwas-writer --experiment DIR [--repeats N]
//! etwas-writer --check [SCENARIO.txt...] [--out fixtures/traces]
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use etwas_writer::{OutFile, Scenario, Variant};

struct Arguments {
    scenarios: Vec<PathBuf>,
    out: Option<PathBuf>,
    symbols: Option<PathBuf>,
    variant: Variant,
    check: bool,
    experiment: Option<PathBuf>,
    repeats: u32,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("etwas-writer: {message}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        scenarios: Vec::new(),
        out: None,
        symbols: None,
        variant: Variant::default(),
        check: false,
        experiment: None,
        repeats: 3,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("'{text}' is no number"));
        match word.as_str() {
            "--out" => found.out = Some(value()?.into()),
            "--symbols" => found.symbols = Some(value()?.into()),
            "--compressed" => found.variant.compressed = true,
            "--rotate" => found.variant.rotate = true,
            "--bits" => found.variant.bits = Some(number(value()?)? as u8),
            "--file-bits" => found.variant.file_bits = Some(number(value()?)? as u8),
            "--buffer" => found.variant.buffer_bytes = Some(number(value()?)?),
            "--experiment" => found.experiment = Some(value()?.into()),
            "--repeats" => found.repeats = number(value()?)?.clamp(1, 1000),
            "--check" => found.check = true,
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            path => found.scenarios.push(path.into()),
        }
    }
    Ok(found)
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    if arguments.check {
        return check(arguments);
    }
    if let Some(folder) = &arguments.experiment {
        return experiment(folder, arguments.repeats);
    }
    let out = arguments.out.as_deref().ok_or("--out is missing")?;
    if arguments.scenarios.is_empty() {
        return Err("no scenario given".into());
    }
    fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    for path in &arguments.scenarios {
        let scenario = read(path)?;
        for file in scenario.write(&arguments.variant) {
            save(out, &file)?;
        }
        if let Some(store) = &arguments.symbols {
            for file in scenario.symbol_files() {
                save(store, file)?;
            }
        }
    }
    Ok(true)
}

fn read(path: &Path) -> Result<Scenario, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Scenario::parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn save(folder: &Path, file: &OutFile) -> Result<(), String> {
    let target = put(folder, file)?;
    println!("{} {}", target.display(), file.bytes.len());
    Ok(())
}

fn put(folder: &Path, file: &OutFile) -> Result<PathBuf, String> {
    let target = folder.join(&file.name);
    let fail = |e: std::io::Error| format!("{}: {e}", target.display());
    fs::create_dir_all(target.parent().unwrap_or(folder)).map_err(fail)?;
    fs::write(&target, &file.bytes).map_err(fail)?;
    Ok(target)
}

/// Writes the experiment over power policies; its hundreds of files are told in one line.
fn experiment(folder: &Path, repeats: u32) -> Result<bool, String> {
    let (mut files, mut bytes) = (0, 0);
    etwas_writer::experiment(repeats, |file| {
        (files, bytes) = (files + 1, bytes + file.bytes.len());
        put(folder, file).map(drop)
    })?;
    println!("{}: {files} files, {bytes} bytes", folder.display());
    Ok(true)
}

/// Compares every committed trace with what its scenario gives today.
fn check(arguments: &Arguments) -> Result<bool, String> {
    let out = arguments.out.clone().unwrap_or_else(|| "fixtures/traces".into());
    let mut scenarios = arguments.scenarios.clone();
    if scenarios.is_empty() {
        texts_below(Path::new("fixtures/scenarios"), &mut scenarios)?;
    }
    let mut unexplained = traces_in(&out)?;
    let mut fresh = true;
    for path in &scenarios {
        for file in read(path)?.write(&Variant::default()) {
            let target = out.join(&file.name);
            let Ok(known) = fs::read(&target) else { continue };
            unexplained.retain(|name| *name != file.name);
            if known != file.bytes {
                fresh = false;
                println!("{} is not what {} gives", target.display(), path.display());
            }
        }
    }
    for name in &unexplained {
        fresh = false;
        println!("no scenario gives {}", out.join(name).display());
    }
    Ok(fresh)
}

fn texts_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            texts_below(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "txt") {
            found.push(path);
        }
    }
    Ok(())
}

fn traces_in(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".etl"))
        .collect();
    names.sort();
    Ok(names)
}
