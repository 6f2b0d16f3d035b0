//! What must be recorded is said in four places: the questions' needs with the lists beside `needs.rs`, the page
//! docs/recording.md, the profile docs/etwas.wprp, and `etwas report NAME --help`. Here they are held together:
//! the tables of the page are made from the lists (`UPDATE=1` rewrites them), the rest is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use etwas_ingest::etl::Guid;
use etwas_ingest::event::{kernel_process, power, uiforetw, win32k};
use etwas_queries::catalog;
use etwas_queries::needs::{self, Recorder};
use quick_xml::events::{BytesStart, Event};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

fn text_of(name: &str) -> String {
    std::fs::read_to_string(docs(name)).expect("the file is there").replace("\r\n", "\n")
}

/// Tables that come from any trace, or not from the recording at all.
const ALWAYS: [&str; 5] = ["trace", "health", "event_census", "gap", "symbol"];

fn tables() -> String {
    let mut text = String::from(
        "| table | kernel flag (xperf) or provider | WPR profile that has it |\n|---|---|---|\n",
    );
    for (need, record, profile) in needs::record_with() {
        if !ALWAYS.contains(&need) && !need.contains('.') {
            let profile = if matches!(profile, "any" | "none") { "" } else { profile };
            let _ = writeln!(text, "| `{need}` | {record} | {profile} |");
        }
    }
    text
}

/// Needs by what they take, in the order of the list.
fn uses() -> Vec<(Recorder, Vec<&'static str>)> {
    let mut all: Vec<(Recorder, Vec<&'static str>)> = Vec::new();
    for (need, recorder) in needs::recorders() {
        match all.iter_mut().find(|(known, _)| *known == recorder) {
            Some((_, needs)) => needs.push(need),
            None => all.push((recorder, vec![need])),
        }
    }
    all
}

fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn flags() -> String {
    let mut text = String::from("| xperf | WPR | for |\n|---|---|---|\n");
    for (recorder, needs) in uses() {
        let row = match recorder {
            Recorder::Flag { xperf, wpr } => format!("| flag {xperf} | Keyword {wpr} |"),
            Recorder::Stack { xperf, wpr } => format!("| stack {xperf} | Stack {wpr} |"),
            Recorder::Provider { .. } => continue,
        };
        let _ = writeln!(text, "{row} {} |", code(&needs));
    }
    text
}

fn mask(keywords: u64) -> String {
    match keywords {
        u64::MAX => "all".to_owned(),
        0 => String::new(),
        some => format!("{some:#x}"),
    }
}

fn providers() -> String {
    let mut text = String::from(
        "| provider | GUID | keywords | of its state | for |\n|---|---|---|---|---|\n",
    );
    for (recorder, needs) in uses() {
        if let Recorder::Provider { name, guid, keywords, state, .. } = recorder {
            let (keywords, state) = (mask(keywords), mask(state));
            let needs = code(&needs);
            let _ = writeln!(text, "| {name} | `{guid}` | {keywords} | {state} | {needs} |");
        }
    }
    text
}

fn questions() -> String {
    let mut text =
        String::from("| question | needs | kernel flags, stacks, providers |\n|---|---|---|\n");
    for question in &catalog().questions {
        let needed: Vec<&str> =
            needs::of(question).into_iter().filter(|need| *need != "trace").collect();
        let mut told: Vec<String> = Vec::new();
        for need in &needed {
            for (_, recorder) in needs::recorders().filter(|(name, _)| name == need) {
                let name = match recorder {
                    Recorder::Flag { xperf, .. } => xperf.to_owned(),
                    Recorder::Stack { xperf, .. } => format!("stacks of {xperf}"),
                    Recorder::Provider { name, .. } => name.to_owned(),
                };
                if !told.contains(&name) {
                    told.push(name);
                }
            }
        }
        let needs = if needed.is_empty() { "any trace".to_owned() } else { code(&needed) };
        let _ = writeln!(text, "| `{}` | {needs} | {} |", question.name, told.join(", "));
    }
    text
}

#[test]
fn the_page_is_made_from_the_lists() {
    let committed = text_of("recording.md");
    let mut page = committed.clone();
    for (region, made) in [
        ("tables", tables()),
        ("flags", flags()),
        ("providers", providers()),
        ("questions", questions()),
    ] {
        let begin = format!("<!-- begin {region} -->\n");
        let from = page.find(&begin).expect("the region begins") + begin.len();
        let to = page.find(&format!("<!-- end {region} -->")).expect("the region ends");
        page.replace_range(from..to, &made);
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(docs("recording.md"), &page).expect("the page can be written");
        return;
    }
    assert!(
        page == committed,
        "docs/recording.md is stale: run UPDATE=1 cargo test --release and look at the difference"
    );
}

#[test]
fn what_the_lists_name_exists() {
    for (need, _) in needs::recorders() {
        let (table, column) = need.split_once('.').map_or((need, None), |(t, c)| (t, Some(c)));
        let declared = etwas_schema::table(table).unwrap_or_else(|| panic!("no table {table}"));
        if let Some(column) = column {
            assert!(declared.columns.iter().any(|c| c.name == column), "no column {need}");
        }
    }
    // The GUIDs are those that the decoders know.
    let decoded = BTreeMap::from([
        ("Microsoft-Windows-Kernel-Power", power::KERNEL_POWER),
        ("Microsoft-Windows-Kernel-Processor-Power", power::PROCESSOR),
        ("Microsoft-Windows-UserModePowerService", power::SERVICE),
        ("Microsoft-Windows-Win32k", win32k::PROVIDER),
        ("Microsoft-Windows-Kernel-Process", kernel_process::PROVIDER),
        ("Multi-Main", uiforetw::MAIN),
        ("Multi-Input", uiforetw::INPUT),
    ]);
    for (recorder, _) in uses() {
        if let Recorder::Provider { name, guid, keywords, .. } = recorder {
            assert_eq!(Some(Guid::from_str(guid).unwrap()), decoded.get(name).copied(), "{name}");
            assert_ne!(keywords, 0, "{name}");
        }
    }
}

#[test]
fn the_sentences_name_what_the_lists_name() {
    for (need, sentence, _) in needs::record_with() {
        let takes: Vec<Recorder> =
            needs::recorders().filter(|(name, _)| *name == need).map(|(_, r)| r).collect();
        for word in sentence.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')) {
            let flag = sentence.starts_with("kernel flag")
                && word.len() > 2
                && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            let known = |r: &Recorder| match r {
                Recorder::Flag { xperf, .. } => *xperf == word,
                Recorder::Stack { .. } => false,
                Recorder::Provider { name, .. } => *name == word,
            };
            if flag || word.starts_with("Microsoft-Windows-") {
                assert!(takes.iter().any(known), "{need}: {word} is not in recorders.tsv");
            }
        }
        for recorder in takes {
            if let Recorder::Flag { xperf, .. } = recorder {
                assert!(sentence.contains(xperf), "{need}: the sentence does not name {xperf}");
            }
        }
    }
}

/// What a recording is told, whoever tells it.
#[derive(Default, Debug, PartialEq, Eq)]
struct Told {
    flags: BTreeSet<String>,
    stacks: BTreeSet<String>,
    /// Keywords and those of the state, by GUID.
    providers: BTreeMap<String, (u64, u64)>,
}

/// All that the questions need, by WPR's names or by xperf's.
fn needed(wpr_names: bool) -> Told {
    let mut told = Told::default();
    for (_, recorder) in needs::recorders() {
        match recorder {
            Recorder::Flag { xperf, wpr } => {
                told.flags.insert(if wpr_names { wpr } else { xperf }.to_owned());
            }
            Recorder::Stack { xperf, wpr } => {
                told.stacks.insert(if wpr_names { wpr } else { xperf }.to_owned());
            }
            Recorder::Provider { foreign: true, .. } => {}
            Recorder::Provider { guid, keywords, state, .. } => {
                let both = told.providers.entry(guid.to_owned()).or_default();
                *both = (both.0 | keywords, both.1 | state);
            }
        }
    }
    told
}

fn hex(text: &str) -> u64 {
    let digits = text.strip_prefix("0x").unwrap_or_else(|| panic!("{text} is not hexadecimal"));
    u64::from_str_radix(digits, 16).expect("a keyword mask")
}

/// The attribute `name` of an element.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).expect("attributes can be read")?;
    Some(found.value.into_owned())
}

/// What the profile tells, the identifiers it defines, and those it refers to.
fn profile(xml: &str) -> (Told, BTreeSet<String>, BTreeSet<String>) {
    let (mut told, mut defined, mut referred) = (Told::default(), BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<String> = Vec::new();
    let mut provider = String::new();
    let mut reader = quick_xml::Reader::from_str(xml);
    loop {
        let (element, empty) = match reader.read_event().expect("the profile is well-formed") {
            Event::Start(element) => (element, false),
            Event::Empty(element) => (element, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        let name = element.name().as_ref().to_owned();
        let value = attribute(&element, "Value").unwrap_or_default();
        if let Some(id) = attribute(&element, "Id") {
            assert!(defined.insert(id.clone()), "{id} is defined twice");
        }
        let parent = open.last().map_or("", String::as_str);
        let within = open.iter().rev().nth(1).map_or("", String::as_str);
        match (name.as_str(), parent, within) {
            ("EventProvider", ..) => {
                provider = attribute(&element, "Name").expect("a provider has a name");
                told.providers.insert(provider.clone(), (0, 0));
            }
            ("Keyword", "Keywords", "SystemProvider") => {
                told.flags.insert(value.clone());
            }
            ("Stack", "Stacks", "SystemProvider") => {
                told.stacks.insert(value.clone());
            }
            ("Keyword", "Keywords", "EventProvider") => {
                told.providers.get_mut(&provider).unwrap().0 |= hex(&value);
            }
            ("Keyword", "CaptureStateOnStart" | "CaptureStateOnSave", "EventProvider") => {
                told.providers.get_mut(&provider).unwrap().1 |= hex(&value);
            }
            (
                "EventProviderId" | "SystemProviderId" | "SystemCollectorId" | "EventCollectorId",
                ..,
            ) => {
                referred.insert(value.clone());
            }
            _ => {}
        }
        if !empty {
            open.push(name);
        }
    }
    (told, defined, referred)
}

#[test]
fn the_profile_records_what_the_questions_need() {
    let (told, defined, referred) = profile(&text_of("etwas.wprp"));
    let wanted = needed(true);
    assert_eq!(told.providers, wanted.providers);
    assert_eq!(told.stacks, wanted.stacks);
    assert!(told.flags.is_superset(&wanted.flags), "{:?}", wanted.flags.difference(&told.flags));
    // Beyond needs only what describes the machine.
    let beyond: Vec<&String> = told.flags.difference(&wanted.flags).collect();
    assert_eq!(beyond, ["CpuConfig", "Power"]);
    let profiles = |id: &&String| id.starts_with("etwas.");
    let (modes, parts): (Vec<&String>, Vec<&String>) = defined.iter().partition(profiles);
    assert_eq!(modes, ["etwas.Verbose.File", "etwas.Verbose.Memory"]);
    assert!(parts.iter().copied().eq(&referred), "defined {parts:?}, used {referred:?}");
}

#[test]
fn state_is_captured_at_both_ends() {
    let xml = text_of("etwas.wprp");
    let captures = |what: &str| xml.matches(&format!("<{what}>")).count();
    let stateful = needed(true).providers.values().filter(|(_, state)| *state != 0).count();
    assert_eq!(
        (captures("CaptureStateOnStart"), captures("CaptureStateOnSave")),
        (stateful, stateful)
    );
}

/// `GUID:0xKEYWORDS:LEVEL+...` of xperf.
fn xperf_providers(list: &str) -> BTreeMap<String, u64> {
    let one = |part: &str| {
        let mut fields = part.split(':');
        let guid = fields.next().unwrap_or_default().to_owned();
        (guid, fields.next().map_or(u64::MAX, hex))
    };
    list.split('+').map(one).collect()
}

#[test]
fn the_commands_of_xperf_record_what_the_questions_need() {
    let page = text_of("recording.md");
    let words = |start: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no line starts with {start}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    let after = |words: &[String], option: &str| -> String {
        let at = words.iter().position(|word| word == option).expect("the option is there");
        words[at + 1].clone()
    };
    let set = |list: String| list.split('+').map(str::to_owned).collect::<BTreeSet<String>>();
    let wanted = needed(false);
    let kernel = words("xperf -on ");
    let flags = set(after(&kernel, "-on"));
    assert!(flags.is_superset(&wanted.flags), "{:?}", wanted.flags.difference(&flags));
    assert_eq!(set(after(&kernel, "-stackwalk")), wanted.stacks);
    let keywords = xperf_providers(&after(&words("xperf -start etwas "), "-on"));
    assert_eq!(keywords, wanted.providers.iter().map(|(g, (k, _))| (g.clone(), *k)).collect());
    let state = xperf_providers(&after(&words("xperf -capturestate "), "etwas"));
    let stateful = wanted.providers.iter().filter(|(_, (_, state))| *state != 0);
    assert_eq!(state, stateful.map(|(g, (_, state))| (g.clone(), *state)).collect());
}

#[test]
fn the_help_of_every_question_says_what_the_page_says() {
    let page = text_of("recording.md");
    for question in &catalog().questions {
        let row = format!("| `{}` |", question.name);
        let row = page.lines().find(|line| line.starts_with(&row)).expect("a row of the page");
        let help = Command::new(env!("CARGO_BIN_EXE_etwas"))
            .args(["report", &question.name, "--help"])
            .output()
            .expect("the command starts");
        assert!(help.status.success(), "{}", question.name);
        let help = String::from_utf8_lossy(&help.stdout);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for need in needs::of(question) {
            let told = format!("{need} {}", needs::hint(need));
            assert!(help.contains(&told), "{} --help: {told}", question.name);
            assert!(need == "trace" || row.contains(&format!("`{need}`")), "{row}: {need}");
        }
    }
}
