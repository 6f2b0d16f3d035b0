//! Reports and exports of the stories: the data in them are the lake's, names in them stay text, and
//! a browser, where there is one, opens the report without an error and without a request.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

/// The built command.
const ETWAS: &str = env!("CARGO_BIN_EXE_etwas");

/// A name that would run in a page that did not take it as text.
#[cfg(unix)]
const HOSTILE: &str = "<img src=x onerror=hacked=1>'\"&%s";
#[cfg(not(unix))]
const HOSTILE: &str = "img src=x onerror=hacked=1'&%s";

fn etwas(folder: &Path, args: &[&str]) -> Output {
    Command::new(ETWAS).args(args).current_dir(folder).output().expect("the command starts")
}

/// What the command prints, when all is well.
fn good(folder: &Path, args: &[&str]) -> String {
    let output = etwas(folder, args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A lake of three stories and of a trace with a hostile name.
fn stories() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/traces");
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for name in ["lockapp", "exits-hang", "hitch-slow"] {
        let file = format!("{name}.etl");
        std::fs::copy(traces.join(&file), folder.path().join("in").join(&file)).unwrap();
    }
    let hostile = folder.path().join("in").join(format!("{HOSTILE}.etl"));
    std::fs::copy(traces.join("hitch-fast.etl"), hostile).unwrap();
    good(folder.path(), &["ingest", "in", "--quiet", "--tag", "kind=<b>bold</b>"]);
    folder
}

/// The one number that a statement gives.
fn number(folder: &Path, sql: &str) -> i64 {
    let text = good(folder, &["sql", sql, "--format", "csv"]);
    text.lines().nth(1).and_then(|line| line.trim().parse().ok()).unwrap_or(i64::MIN)
}

fn report_data(page: &str) -> Json {
    let begin = page.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
    let end = begin + page[begin..].find("</script>").expect("their end");
    serde_json::from_str(&page[begin..end]).expect("JSON")
}

#[test]
fn reports_and_exports_have_the_stories_numbers() {
    let folder = stories();
    let at = folder.path();
    good(at, &["html", "--output", "r.html", "--questions", "topology,ui_delays"]);
    let page = std::fs::read_to_string(at.join("r.html")).unwrap();
    assert!(!page.contains("<img") && !page.contains("<b>"), "a name became markup");
    let data = report_data(&page);
    assert_eq!(data["traces"].as_array().map(Vec::len), Some(4));
    assert!(data["traces"].as_array().unwrap().iter().any(|t| t["name"] == HOSTILE));
    assert_eq!(data["answers"].as_array().map(Vec::len), Some(2));
    starved_thread(&data);
    cpu_time_adds_up(at, &data);
    chain_of_the_hitch(&data);
    perfetto(at);
    stacks(at);
    wrong_use(at);
    browser(at);
}

/// The finding of a kind, and its figure of a kind.
fn finding<'a>(data: &'a Json, question: &str, kind: &str) -> (&'a Json, &'a Json) {
    let findings = data["findings"].as_array().expect("findings");
    let found = findings.iter().find(|f| f["question"] == question).expect("the finding");
    let mut figures = found["figures"].as_array().expect("figures").iter();
    let figure = |at: &Json| &data["figures"][at.as_u64().unwrap_or(u64::MAX) as usize];
    let shown = figures.find(|at| figure(at)["kind"] == kind).expect("the figure");
    (found, figure(shown))
}

/// The first lane is the thread that was ready for 19.494 s.
fn starved_thread(data: &Json) {
    let (_, figure) = finding(data, "rank_starvation", "lanes");
    let lane = &figure["threads"][0];
    assert_eq!((&lane[0][0], &lane[0][2]), (&Json::from("LockApp.exe"), &Json::from(9001)));
    let states: Vec<&[Json]> = lane[1].as_array().unwrap().chunks(8).collect();
    let longest = states.iter().filter(|s| s[2] == "ready").filter_map(|s| s[1].as_i64()).max();
    assert_eq!(longest.map(|ns| ns / 1_000_000), Some(19_494));
    assert!(figure["runs_sql"].as_str().unwrap().contains("runs_of"));
    let (found, chain) = finding(data, "ui_delays", "chain");
    assert_eq!(found["seconds"], 1.125);
    assert_eq!(chain["rows"][0][1], "Taskmgr.exe");
}

/// Busy time in the chart is the lake's.
fn cpu_time_adds_up(at: &Path, data: &Json) {
    let traces = data["traces"].as_array().unwrap();
    let lockapp = traces.iter().position(|t| t["name"] == "lockapp").unwrap();
    let chart = data["figures"].as_array().unwrap().iter();
    let mut charts = chart.filter(|f| f["kind"] == "cpu" && f["trace"] == lockapp);
    let chart = charts.next().expect("a chart");
    let want = number(
        at,
        "SELECT CAST(round(sum(cpu_s) * 1e9) AS BIGINT) FROM cpu_by_process(trace := 'lockapp') \
         WHERE pid <> 0",
    );
    for by in ["process", "priority"] {
        let series = chart[by]["busy_ns"].as_array().unwrap();
        let sum: i64 =
            series.iter().flat_map(|list| list.as_array().unwrap()).filter_map(Json::as_i64).sum();
        assert_eq!(sum, want, "by {by}");
    }
}

/// Who waited for whom in the console hand-off.
fn chain_of_the_hitch(data: &Json) {
    let figures = data["figures"].as_array().unwrap();
    let names = |f: &Json| -> Vec<String> {
        let rows = f["rows"].as_array().into_iter().flatten();
        rows.filter_map(|r| r[1].as_str().map(str::to_owned)).collect()
    };
    let want = ["love.exe", "cmd.exe", "conhost.exe", "OpenConsole.exe", "WindowsTerminal.exe"];
    assert!(figures.iter().any(|f| f["kind"] == "chain" && names(f) == want));
}

/// The timeline has every run, every wake-up and every delay, and the time that they took.
fn perfetto(at: &Path) {
    good(at, &["export", "perfetto", "--trace", "exits-hang", "--output", "p.json"]);
    let text = std::fs::read_to_string(at.join("p.json")).unwrap();
    let file: Json = serde_json::from_str(&text).expect("JSON");
    let events = file["traceEvents"].as_array().expect("events");
    let count = |f: &dyn Fn(&Json) -> bool| events.iter().filter(|e| f(e)).count() as i64;
    let of = "trace_id = (SELECT trace_id FROM trace WHERE name = 'exits-hang')";
    let ran = "run_ns > 0 AND new_tid <> 0 AND coalesce(new_pid, -1) <> 0";
    let runs = number(at, &format!("SELECT count(*) FROM cswitch WHERE {of} AND {ran}"));
    let open = number(
        at,
        &format!("SELECT count(*) FROM thread_end_state WHERE {of} AND state = 'running'"),
    );
    let drawn = count(&|e| e["cat"] == "cpu");
    assert!(runs > 1000 && drawn >= runs && drawn <= runs + open, "{drawn} {runs} {open}");
    assert_eq!(count(&|e| e["cat"] == "state" && e["name"] == "running"), drawn);
    let ready =
        format!("SELECT count(*) FROM cswitch WHERE {of} AND ready_ns > 0 AND new_tid <> 0");
    let still = format!("SELECT count(*) FROM thread_end_state WHERE {of} AND state = 'ready'");
    let ready = number(at, &ready) + number(at, &still);
    assert_eq!(count(&|e| e["cat"] == "state" && e["name"] == "ready"), ready);
    let length = |f: &dyn Fn(&Json) -> bool| -> i64 {
        let list = events.iter().filter(|e| f(e)).filter_map(|e| e["dur"].as_f64());
        list.map(|us| (us * 1000.0).round() as i64).sum()
    };
    let want = format!(
        "SELECT CAST(round(sum(cpu_s) * 1e9) AS BIGINT) FROM cpu_by_process(trace := 'exits-hang') \
         WHERE {of} AND pid <> 0"
    );
    let want = number(at, &want);
    assert_eq!(length(&|e| e["cat"] == "cpu"), want);
    assert_eq!(length(&|e| e["cat"] == "state" && e["name"] == "running"), want);
    let (starts, ends) = (count(&|e| e["ph"] == "s"), count(&|e| e["ph"] == "f"));
    assert!(starts > 1000 && starts == ends, "{starts} arrows begin and {ends} end");
    let delays: Vec<&Json> = events.iter().filter(|e| e["cat"] == "ui delay").collect();
    assert_eq!(delays.len(), 2);
    let ts = |e: &Json| e["ts"].as_f64().unwrap_or(f64::NAN);
    assert!((ts(delays[1]) - ts(delays[0]) - 1_125_000.0).abs() < 0.001);
    for event in events {
        let phase = event["ph"].as_str().unwrap_or_default();
        assert!(["M", "X", "s", "f", "b", "e", "i", "C"].contains(&phase), "{event}");
        assert!(phase == "M" || event["ts"].is_number(), "{event}");
        assert!(phase != "X" || event["dur"].as_f64().is_some_and(|dur| dur >= 0.0), "{event}");
    }
}

/// Weights are the lake's in every format.
fn stacks(at: &Path) {
    let want = "SELECT CAST(sum(weight_ns) AS BIGINT) FROM weighted_stacks('new', trace := \
                'exits-hang')";
    let want = number(at, want);
    let waits = ["export", "folded", "--trace", "exits-hang", "--stacks", "waits"];
    let folded = good(at, &waits);
    let weight = |line: &str| line.rsplit_once(' ').and_then(|(_, n)| n.parse::<i64>().ok());
    assert_eq!(folded.lines().filter_map(weight).sum::<i64>(), want);
    let file = good(at, &["export", "speedscope", "--trace", "exits-hang"]);
    let file: Json = serde_json::from_str(&file).expect("JSON");
    let profiles = file["profiles"].as_array().unwrap();
    let off = profiles.iter().find(|p| p["name"].as_str().unwrap().contains("waits")).unwrap();
    let weights = off["weights"].as_array().unwrap();
    assert_eq!(weights.iter().filter_map(Json::as_i64).sum::<i64>(), want);
    let frames = file["shared"]["frames"].as_array().unwrap().len() as u64;
    for profile in profiles {
        assert_eq!(
            profile["samples"].as_array().unwrap().len(),
            profile["weights"].as_array().unwrap().len()
        );
        let mut used =
            profile["samples"].as_array().unwrap().iter().flat_map(|s| s.as_array().unwrap());
        assert!(used.all(|frame| frame.as_u64().is_some_and(|frame| frame < frames)));
    }
    let picture = good(at, &["export", "flamegraph", "--trace", "exits-hang", "--stacks", "waits"]);
    assert!(picture.starts_with("<svg") && picture.contains("gomacc.exe"), "{picture:.200}");
    let samples = number(at, "SELECT count(*) FROM sample WHERE tid <> 0");
    assert!(samples > 0);
}

fn wrong_use(at: &Path) {
    for args in [
        vec!["export", "perfetto"],
        vec!["export", "perfetto", "--trace", "nobody"],
        vec!["export", "pdf", "--trace", "lockapp"],
        vec!["export", "folded", "--trace", "lockapp", "--from", "5", "--to", "4"],
        vec!["export", "folded", "--trace", "lockapp", "--finding", "convoys"],
        vec!["html", "--output", "x.html", "--questions", "nonsense"],
        vec!["html", "--output", "x.html", "--questions", "wait_chain"],
        vec!["html", "--output", "x.html", "--trace", "nobody"],
    ] {
        let output = etwas(at, &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    assert!(!at.join("x.html").exists(), "a wrong question costs no file");
}

/// Opens the report in a browser, where one is.
fn browser(at: &Path) {
    let python = std::env::var_os("ETWAS_BROWSER_PYTHON").unwrap_or_else(|| "python3".into());
    let able = Command::new(&python).args(["-c", "import playwright"]).output();
    let chromium = std::env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join("chromium")).find(|file| file.is_file())
    });
    let (Some(chromium), true) = (chromium, able.is_ok_and(|o| o.status.success())) else {
        println!("skipped: no chromium, or no playwright for ETWAS_BROWSER_PYTHON");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.py");
    let output = Command::new(python)
        .arg(script)
        .args(["r.html", "--hostile", "--expect", "19.494", "--expect", HOSTILE])
        .env("CHROMIUM", chromium)
        .current_dir(at)
        .output()
        .expect("python starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{error}");
}
