//! What a package of the command brings along: completions, manual pages, licences and readmes.

use std::path::Path;
use std::process::Command;

/// The built command.
const ETWAS: &str = env!("CARGO_BIN_EXE_etwas");

/// Commands that people see in `--help`.
const COMMANDS: [&str; 10] = [
    "ingest", "info", "reports", "report", "sql", "shell", "remove", "compact", "symbols",
    "compare",
];

fn printed(args: &[&str]) -> String {
    let output = Command::new(ETWAS).args(args).output().expect("the command starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_shell_completes_every_command_and_option() {
    for (shell, sign) in [
        ("bash", "complete -F _etwas"),
        ("zsh", "#compdef etwas"),
        ("fish", "complete -c etwas"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = printed(&["completions", shell]);
        assert!(script.contains(sign), "{shell}: {script}");
        for word in COMMANDS.into_iter().chain(["name-pattern", "fail-if"]) {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    let unknown = Command::new(ETWAS).args(["completions", "abacus"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn bash_completes_an_option() {
    let script = printed(&["completions", "bash"]);
    let ask = "COMP_WORDS=(etwas ingest --name); COMP_CWORD=2; _etwas etwas --name ingest; \
               echo \"${COMPREPLY[@]}\"";
    let Ok(answer) = Command::new("bash").arg("-c").arg(format!("{script}\n{ask}")).output() else {
        eprintln!("skipped: no bash here");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "--name-pattern");
}

#[test]
fn manual_pages_are_whole() {
    let page = printed(&["man"]);
    assert!(page.contains(".TH etwas 1") && page.contains(".SH NAME"), "{page}");
    for command in COMMANDS {
        assert!(page.contains(&format!("etwas\\-{command}(1)")), "{command} is not in the page");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    printed(&["man", &folder.path().join("man1").to_string_lossy()]);
    for command in COMMANDS {
        let file = folder.path().join(format!("man1/etwas-{command}.1"));
        let page = std::fs::read_to_string(&file).expect("the page of the subcommand");
        assert!(page.contains(".SH OPTIONS") || command == "reports", "{command}: {page}");
    }
    assert!(!folder.path().join("man1/etwas-completions.1").exists(), "hidden commands have none");
}

#[test]
fn packages_bring_licences_readmes_and_what_the_code_includes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (package, wanted) in [
        ("etwas-schema", ["SCHEMA.md", "schema.sql", "src/lib.rs"]),
        ("etwas-ingest", ["src/lib.rs", "src/event/generic/builtin.txt", "src/etl/mod.rs"]),
        ("etwas-queries", ["build.rs", "src/record_with.tsv", "lib/frame_at.sql"]),
        ("etwas", ["cli/main.rs", "docs/etwas.wprp", "docs/recording.md"]),
    ] {
        let listed = Command::new(env!("CARGO"))
            .args(["package", "--list", "--allow-dirty", "--offline", "-p", package])
            .current_dir(root)
            .output()
            .expect("cargo starts");
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8_lossy(&listed.stdout).replace('\\', "/");
        let files: Vec<&str> = listed.lines().collect();
        let common = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];
        for file in common.into_iter().chain(wanted) {
            assert!(files.contains(&file), "{package} is packaged without {file}: {files:?}");
        }
        for file in &files {
            assert!(!file.ends_with(".etl"), "{package} is packaged with the trace {file}");
        }
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let text = std::fs::read(root.join(licence)).expect("the licence");
        for package in ["schema", "ingest", "queries"] {
            assert_eq!(std::fs::read(root.join(package).join(licence)).unwrap(), text, "{package}");
        }
    }
}
