//! An experiment over power policies, 540 recordings, and the settings of three power profiles: what the questions on
//! power must find there.
//!
//! The figures are those of the investigation: twelve threads that want 10 s each are to get 120 s of CPU time, and
//! fewer than 115 s is trouble. They were counted by hand from the policies:
//!
//! * Policy 2 has E cores only (2 releases x 6 thread policies x 3 priorities x 3 repeats = 108 runs), and so has
//!   thread policy 3 of Windows 11 (the 4 other policies x 3 x 3 = 36 runs): 8 E cores give 80 s at most.
//! * Windows 10 with policy 4 leaves one core to thread policy 1 and two to thread policy 2, unless the priority is
//!   below normal (2 priorities x 3 repeats = 6 runs each).

use std::fs;
use std::path::Path;

use etwas_ingest::IngestOptions;
use etwas_ingest::input::InputArgs;
use etwas_queries::compact::compact;
use etwas_queries::run::{Answer, Target};
use etwas_queries::value::plain;
use etwas_queries::{Lake, OpenOptions};
use etwas_writer::{Scenario, Variant, experiment, late_runs};

const REPEATS: u32 = 3;

const NAMES: &str =
    "(?<os>Win1[01])_H(?<hetero>\\d)_T(?<thread>\\d)_(?<priority>[A-Za-z]+)_r(?<repeat>\\d+)";

fn ingest(traces: &Path, root: &Path) {
    let options = IngestOptions {
        input: InputArgs { inputs: vec![traces.into()], ..InputArgs::default() },
        lake: root.to_owned(),
        name_pattern: Some(NAMES.parse().expect("a pattern")),
        ..IngestOptions::default()
    };
    let summary = etwas_ingest::run(&options, &()).expect("the ingest begins");
    assert!(!summary.is_trouble());
}

fn open(root: &Path) -> Lake {
    Lake::open(root, &OpenOptions::default()).expect("the lake opens")
}

/// The rows of a query, a line each.
fn lines(lake: &Lake, sql: &str) -> Vec<String> {
    let mut answer = Answer::default();
    if let Err(error) = lake.sql(sql, None, Target::Sink(&mut answer)) {
        panic!("{error}\n{sql}");
    }
    let line = |row: &Vec<_>| row.iter().map(plain).collect::<Vec<_>>().join(",");
    answer.rows.iter().map(line).collect()
}

#[test]
fn the_experiment_tells_which_policy_is_to_blame() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, root) = (folder.path().join("traces"), folder.path().join("lake"));
    fs::create_dir(&traces).unwrap();
    experiment(REPEATS, |file| {
        fs::write(traces.join(&file.name), &file.bytes).map_err(|e| e.to_string())
    })
    .unwrap();
    ingest(&traces, &root);
    let copy = folder.path().join("copy");
    assert_eq!(compact(&root, &copy).unwrap().recordings, 540);
    let lake = open(&copy);

    let load = "core_placement(process := 'LoadStress.exe', threads := 12, expected_s := 10)";
    let of = |columns: &str, condition: &str| {
        lines(
            &lake,
            &format!(
                "SELECT {columns} FROM {load} AS c JOIN trace AS t ON t.trace_id = c.trace_id
            WHERE {condition}"
            ),
        )
    };
    assert_eq!(
        of("count(*), min(c.expected_cpu_s), max(c.expected_cpu_s)", "true"),
        ["540,120.0,120.0"]
    );
    // S2.8 and S2.9: the runs below 115 s, and no others.
    assert_eq!(of("count(*)", "c.cpu_s < 115"), ["156"]);
    assert_eq!(
        of("count(*)", "c.cpu_s < 115 AND NOT (tag(c.trace_id, 'hetero') = '2'
            OR (tag(c.trace_id, 'os') = 'Win11' AND tag(c.trace_id, 'thread') = '3')
            OR (tag(c.trace_id, 'os') = 'Win10' AND tag(c.trace_id, 'hetero') = '4'
                AND tag(c.trace_id, 'thread') IN ('1', '2') AND tag(c.trace_id, 'priority') <> 'BelowNormal'))"),
        ["0"]
    );
    assert_eq!(of("count(*)", "c.cpu_s >= 115 AND c.missing_cpu_s < 0.001"), ["384"]);
    // S2.10: policy 3 has about 110 of 120 s on P.
    assert_eq!(
        of(
            "DISTINCT round(c.p_cpu_s), round(c.e_cpu_s)",
            "tag(c.trace_id, 'hetero') = '3' AND c.cpu_s > 115"
        ),
        ["110.0,10.0"]
    );
    // S2.11: runs on one and on two cores.
    for (cores, thread) in [(1, 1), (2, 2)] {
        assert_eq!(
            of(
                "count(*), min(tag(c.trace_id, 'os')), min(tag(c.trace_id, 'hetero')),
                min(tag(c.trace_id, 'thread')), max(c.cpu_s)",
                &format!("c.cores_used = {cores}")
            ),
            [format!("6,Win10,4,{thread},{cores}0.0")]
        );
    }
    // S2.13: on E cores alone 80 s at most.
    assert_eq!(of("count(*), max(c.cpu_s)", "c.p_share = 0"), ["144,80.0"]);
    // S2.12: the runs whose last threads started late.
    let mut late = late_runs(REPEATS);
    late.sort();
    let found = lines(
        &lake,
        "SELECT trace FROM ramp_up(process := 'LoadStress.exe', threads := 12)
        WHERE ramp_up_s > 1 ORDER BY trace",
    );
    assert_eq!(found, late);
    // S2.14: the policies as a matrix (of the 54 runs of policy 4, 6 have 10 s, 6 have 20 s, 18 have 40 s and 24
    // have 100 s on P cores), and the one that explains the trouble.
    assert_eq!(
        lines(&lake, "SELECT row_value, column_value, traces, round(median) FROM experiment_matrix('hetero', 'os',
            measure := 'p_cpu_s', process := 'LoadStress.exe') WHERE column_value = 'Win10' ORDER BY ALL"),
        ["0,Win10,54,80.0", "1,Win10,54,80.0", "2,Win10,54,0.0", "3,Win10,54,110.0", "4,Win10,54,40.0"]
    );
    // Low priorities go to E cores under policy 4, not under policy 3.
    let by_priority = |hetero: u32| {
        lines(
            &lake,
            &format!(
                "SELECT column_value, traces, round(median), round(greatest) FROM experiment_matrix('hetero',
            'priority', measure := 'p_cpu_s', process := 'LoadStress.exe', trace := 'Win11*')
            WHERE row_value = '{hetero}' ORDER BY ALL"
            ),
        )
    };
    assert_eq!(
        by_priority(4),
        ["AboveNormal,18,100.0,100.0", "BelowNormal,18,40.0,40.0", "Normal,18,100.0,100.0"]
    );
    assert_eq!(
        by_priority(3),
        ["AboveNormal,18,110.0,110.0", "BelowNormal,18,110.0,110.0", "Normal,18,110.0,110.0"]
    );
    // Every setting is told twice in each recording and is one row, the same as the file's name says.
    assert_eq!(
        lines(&lake, "SELECT p.alias, count(*), count(*) FILTER (p.value = CAST(tag(p.trace_id,
            CASE p.alias WHEN 'HETEROPOLICY' THEN 'hetero' ELSE 'thread' END) AS DOUBLE))
            FROM power_setting p WHERE p.alias IN ('HETEROPOLICY', 'SCHEDPOLICY') GROUP BY 1 ORDER BY 1"),
        ["HETEROPOLICY,540,540", "SCHEDPOLICY,540,540"]
    );
    let call = load.replace('\'', "''");
    let first = lines(
        &lake,
        &format!(
            "SELECT factor, level, traces, with_finding FROM prevalence(
        question := '{call}', finding := 'missing_cpu_s > 5') LIMIT 2"
        ),
    );
    assert_eq!(first, ["hetero,2,108,108", "power:HETEROPOLICY,Use policy 2,108,108"]);
    // Of the rest on Windows 11 it is the thread policy.
    let first = lines(
        &lake,
        &format!(
            "SELECT factor, level, traces, with_finding FROM prevalence(question := '{call}', trace := 'Win11*',
        finding := 'f.missing_cpu_s > 5 AND NOT contains(f.trace, ''_H2_'')') LIMIT 2"
        ),
    );
    // The short-running threads of these recordings have the same policy.
    assert_eq!(
        first,
        [
            "power:SCHEDPOLICY,Efficient processors,45,36",
            "power:SHORTSCHEDPOLICY,Efficient processors,45,36"
        ]
    );
}

/// Settings of Windows 11 in three profiles: alias, GUID, values.
const PROFILES: &[(&str, &str, [u32; 3])] = &[
    ("HETEROPOLICY", "7f2f5cfa-f10c-4823-b5e1-e93ae85f46b5", [0, 0, 4]),
    ("SCHEDPOLICY", "93b8b6dc-0698-4d1c-9ee4-0644e900c85d", [5, 2, 5]),
    ("PROCTHROTTLEMAX1", "bc5038f7-23e0-4960-96da-33abaf5935ed", [100, 100, 75]),
    ("PROCTHROTTLEMIN", "893dee8e-2bef-41e0-89c6-b55d0929964c", [5, 100, 5]),
    ("PERFINCTHRESHOLD", "06cadf0e-64ed-448a-8927-ce7bf90eb35d", [60, 30, 90]),
    ("PERFDECPOL", "40fbefc7-2e9d-4d25-a185-0cfd8574bac6", [0, 1, 2]),
    ("PERFEPP", "36687f9e-e3a5-4dbf-b1dc-15eb381c6863", [50, 0, 60]),
    ("PERFBOOSTPOL", "45bcc044-d885-43e2-8605-ee0ec6e96b59", [60, 100, 0]),
    // The same in all three.
    ("PERFBOOSTMODE", "be337238-0d82-4146-a960-4f3749d470c7", [2, 2, 2]),
];

/// More of them, whose values are not plain numbers: packed thresholds, a scheme, and a GUID that nobody knows.
const OTHERS: &[(&str, [&str; 3])] = &[
    ("b000397d-9b0b-483d-98c9-692a6060cfc0", ["hex:3c3c3c3c", "hex:3c3c3c3c", "hex:5a50463c"]),
    (
        "31f9f286-5084-42fe-b720-2b0264993763",
        [
            "381b4222-f694-41f0-9685-ff5bb260df2e",
            "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c",
            "a1841308-3541-4fab-bc81-f71556f20b4a",
        ],
    ),
    ("01234567-89ab-cdef-0123-456789abcdef", ["7", "8", "7"]),
    // The same in all three.
    ("b000397d-9b0b-483d-98c9-692a6060cfbf", ["hex:1e1e1e1e"; 3]),
];

#[test]
fn three_power_profiles_differ_where_they_differ() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, root) = (folder.path().join("traces"), folder.path().join("lake"));
    fs::create_dir(&traces).unwrap();
    for (at, name) in ["1-balanced", "2-high-performance", "3-power-saver"].iter().enumerate() {
        let mut text = format!("scenario {name}\nmachine cpus=1 build=22631 length=1s\n");
        for (_, guid, values) in PROFILES {
            text += &format!("100ms power-setting {guid} {}\n", values[at]);
            text += &format!("900ms power-setting {guid} {}\n", values[at]);
        }
        for (guid, values) in OTHERS {
            text += &format!("100ms power-setting {guid} {}\n", values[at]);
        }
        for file in Scenario::parse(&text).unwrap().write(&Variant::default()) {
            fs::write(traces.join(file.name), file.bytes).unwrap();
        }
    }
    ingest(&traces, &root);
    let found = lines(
        &open(&root),
        "SELECT coalesce(alias, setting), string_agg(value_text || ' ' || status, ' | ' ORDER BY trace)
        FROM power_diff() GROUP BY ALL ORDER BY ALL",
    );
    assert_eq!(
        found,
        [
            "01234567-89ab-cdef-0123-456789abcdef,7 same | 8 changed | 7 same",
            "Active power scheme,Balanced same | High performance changed | Power saver changed",
            "HETEROINCREASETHRESHOLD1,60,60,60,60 % same | 60,60,60,60 % same | 90,80,70,60 % changed",
            "HETEROPOLICY,Use policy 0 same | Use policy 0 same | Use policy 4 changed",
            "PERFBOOSTPOL,60 % same | 100 % changed | 0 % changed",
            "PERFDECPOL,Ideal same | Single changed | Rocket changed",
            "PERFEPP,50 % same | 0 % changed | 60 % changed",
            "PERFINCTHRESHOLD,60 % same | 30 % changed | 90 % changed",
            "PROCTHROTTLEMAX1,100 % same | 100 % same | 75 % changed",
            "PROCTHROTTLEMIN,5 % same | 100 % changed | 5 % same",
            "SCHEDPOLICY,Automatic same | Prefer performant processors changed | Automatic same",
        ]
    );
}

/// Tags from four places: a table and `NAME.json` beside the traces, the name, and the command line, which holds most.
#[test]
fn tags_come_from_names_and_from_what_lies_beside() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, root) = (folder.path().join("traces"), folder.path().join("lake"));
    for name in ["Win10_H1_T1_Normal_r1", "Win11_H2_T1_Normal_r1"] {
        let text = format!("scenario {name}\nmachine cpus=1 length=1s\n1ms mark {name}\n");
        fs::create_dir_all(&traces).unwrap();
        for file in Scenario::parse(&text).unwrap().write(&Variant::default()) {
            fs::write(traces.join(file.name), file.bytes).unwrap();
        }
    }
    let table = "file,hetero,bench,room,lab\nWin10_H1_T1_Normal_r1.etl,9,b1,r1,table\n\
                 Win11_H2_T1_Normal_r1.etl,9,b2,,table\nelsewhere/Win10_H1_T1_Normal_r1.etl,9,b9,r9,x\n";
    fs::write(traces.join("runs.csv"), table).unwrap();
    fs::write(traces.join("other.csv"), "x,y\n1,2\n").unwrap();
    let object = r#"{"bench": "own", "thread": "9", "count": 3, "lab": "object"}"#;
    fs::write(traces.join("Win10_H1_T1_Normal_r1.json"), object).unwrap();
    let options = IngestOptions {
        input: InputArgs { inputs: vec![traces.into()], ..InputArgs::default() },
        lake: root.clone(),
        name_pattern: Some(NAMES.parse().expect("a pattern")),
        tags: vec![("lab".into(), "north".into()), ("repeat".into(), "told".into())],
        ..IngestOptions::default()
    };
    assert!(!etwas_ingest::run(&options, &()).unwrap().is_trouble());
    assert_eq!(
        lines(
            &open(&root),
            "SELECT array_to_string(list_transform(map_keys(t.tags), lambda k: k || '=' || t.tags[k]), ' ')
            FROM trace t ORDER BY t.name"
        ),
        [
            "bench=own count=3 hetero=1 lab=north os=Win10 priority=Normal repeat=told room=r1 thread=1",
            "bench=b2 hetero=2 lab=north os=Win11 priority=Normal repeat=told thread=1",
        ]
    );
}
