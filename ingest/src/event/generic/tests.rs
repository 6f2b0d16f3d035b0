//! Byte-level tests of the whole module: every type, structures, arrays, limits, damage; and the
//! real recordings where they are at hand.

use super::*;
use crate::etl::RecordKind;

const PROVIDER: Guid = Guid::new(0x11223344, 0x5566, 0x7788, [1, 2, 3, 4, 5, 6, 7, 8]);

/// One event, with its bytes owned.
struct Record {
    id: EventId,
    pointer_size: u8,
    pid: u32,
    extended: Vec<u8>,
    payload: Vec<u8>,
}

impl Record {
    fn manifest(provider: Guid, id: u16, version: u8, payload: Vec<u8>) -> Record {
        let (opcode, flags) = if id == manifest::EVENT_ID { (manifest::OPCODE, 0) } else { (0, 0) };
        let id = EventId::Manifest {
            provider,
            id,
            version,
            channel: 0,
            level: 4,
            opcode,
            task: 0,
            keyword: 0,
            flags,
            activity: Guid::ZERO,
        };
        Record { id, pointer_size: 8, pid: 1, extended: Vec::new(), payload }
    }

    fn classic(opcode: u8, payload: Vec<u8>) -> Record {
        let id = EventId::Classic { class: metadata::CLASS, opcode, level: 0, version: 0 };
        Record { id, pointer_size: 8, pid: 1, extended: Vec::new(), payload }
    }

    fn tracelogging(schema: &[u8], payload: Vec<u8>) -> Record {
        let mut record = Record::manifest(PROVIDER, 0, 0, payload);
        item(&mut record.extended, 12, true, &traits("My.Provider"));
        item(&mut record.extended, 11, false, schema);
        record
    }

    fn event(&self) -> RawEvent<'_> {
        RawEvent {
            ticks: 0,
            cpu: 0,
            kind: match self.id {
                EventId::Classic { .. } => RecordKind::Full,
                _ => RecordKind::Event,
            },
            pointer_size: self.pointer_size,
            tid: 2,
            pid: self.pid,
            id: self.id,
            extended: &self.extended,
            payload: &self.payload,
            offset: 0x48,
            bytes: 0,
        }
    }
}

fn item(out: &mut Vec<u8>, kind: u16, more: bool, data: &[u8]) {
    let size = (8 + data.len()).next_multiple_of(8);
    for word in [size as u16, kind, u16::from(more), data.len() as u16] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(8), 0);
}

/// A size in front of the bytes that counts itself.
fn sized(bytes: &[u8]) -> Vec<u8> {
    let mut out = (bytes.len() as u16 + 2).to_le_bytes().to_vec();
    out.extend_from_slice(bytes);
    out
}

fn traits(name: &str) -> Vec<u8> {
    sized(&[name.as_bytes(), &[0]].concat())
}

/// A TraceLogging schema of fields that are written as bytes after their names.
fn schema(event: &str, fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend_from_slice(event.as_bytes());
    bytes.push(0);
    for (name, rest) in fields {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(rest);
    }
    sized(&bytes)
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn wide_z(text: &str) -> Vec<u8> {
    [wide(text), vec![0, 0]].concat()
}

fn decoded(schemas: &Schemas, record: &Record) -> Result<String, Undecoded> {
    let mut out = "before".to_owned();
    let result = schemas.fields(&record.event(), &mut out);
    let json = out.strip_prefix("before").unwrap().to_owned();
    match result {
        Ok(()) => {
            serde_json::from_str::<serde_json::Value>(&json)
                .unwrap_or_else(|e| panic!("{e}: {json}"));
            Ok(json)
        }
        Err(e) => {
            assert_eq!(json, "", "output of a failure");
            Err(e)
        }
    }
}

/// Decodes, with and without having seen the schema before, and cuts payload and schema everywhere.
fn tracelogging_decoded(schema: &[u8], payload: Vec<u8>) -> Result<String, Undecoded> {
    let record = Record::tracelogging(schema, payload);
    let cold = decoded(&Schemas::new(), &record);
    let mut schemas = Schemas::new();
    assert!(!schemas.note(&record.event()));
    let warm = decoded(&schemas, &record);
    assert_eq!(cold, warm);
    let step = |length: usize| 1 + length / 500;
    for n in (0..record.payload.len()).step_by(step(record.payload.len())) {
        let _ = decoded(&schemas, &Record::tracelogging(schema, record.payload[..n].to_vec()));
    }
    for n in (0..schema.len()).step_by(step(schema.len())) {
        let cut = Record::tracelogging(&schema[..n], record.payload.clone());
        assert!(decoded(&Schemas::new(), &cut).is_err());
        // Cut, and claiming to be whole.
        let lying = Record::tracelogging(&sized(&schema[2.min(n)..n]), record.payload.clone());
        let mut schemas = Schemas::new();
        schemas.note(&lying.event());
        let _ = (decoded(&schemas, &lying), schemas.name(&lying.event()));
    }
    warm
}

const SID: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];

#[test]
fn every_tracelogging_type() {
    // name, type bytes, value bytes, JSON
    let counted = |b: &[u8]| [(b.len() as u16).to_le_bytes().to_vec(), b.to_vec()].concat();
    let cases: Vec<(&str, &[u8], Vec<u8>, &str)> = vec![
        ("null", &[0], vec![], "null"),
        ("wide", &[1], wide_z("a\"é"), r#""a\"é""#),
        ("ansi", &[2], b"b\0".to_vec(), r#""b""#),
        ("i8", &[3], vec![0xFF], "-1"),
        ("u8", &[4], vec![0xFF], "255"),
        ("i16", &[5], vec![0xFE, 0xFF], "-2"),
        ("u16", &[6], vec![0xFE, 0xFF], "65534"),
        ("i32", &[7], (-3i32).to_le_bytes().to_vec(), "-3"),
        ("u32", &[8], u32::MAX.to_le_bytes().to_vec(), "4294967295"),
        ("i64", &[9], i64::MIN.to_le_bytes().to_vec(), "-9223372036854775808"),
        ("u64", &[10], 7u64.to_le_bytes().to_vec(), "7"),
        ("u64_said", &[0x8A, 18], u64::MAX.to_le_bytes().to_vec(), "18446744073709551615"),
        ("f32", &[11], 1.5f32.to_le_bytes().to_vec(), "1.5"),
        ("f64", &[12], f64::NAN.to_le_bytes().to_vec(), r#""NaN""#),
        ("bool32", &[13], vec![1, 0, 0, 0], "true"),
        ("binary", &[14], counted(&[0xAB, 0x0C]), r#""ab0c""#),
        ("guid", &[15], (0..16).collect(), r#""03020100-0504-0706-0809-0a0b0c0d0e0f""#),
        ("filetime", &[17], vec![0; 8], r#""1601-01-01T00:00:00.0000000Z""#),
        (
            "systemtime",
            &[18],
            [2021u16, 9, 4, 9, 12, 59, 35, 30].iter().flat_map(|w| w.to_le_bytes()).collect(),
            r#""2021-09-09T12:59:35.030""#,
        ),
        ("sid", &[19], SID.to_vec(), r#""S-1-5-18""#),
        ("hex32", &[20], vec![0x1F, 0, 0, 0], r#""0x1f""#),
        ("hex64", &[21], 0x1F00000000u64.to_le_bytes().to_vec(), r#""0x1f00000000""#),
        ("counted", &[22], counted(&wide("x\u{0}y")), r#""x\u0000y""#),
        ("counted_ansi", &[23], counted(b"xy"), r#""xy""#),
        ("counted_binary", &[25], counted(&[1]), r#""01""#),
        ("bool8", &[0x84, 3], vec![0], "false"),
        ("hex", &[0x86, 4], vec![0xFF, 0xFF], r#""0xffff""#),
        ("negative_hex", &[0x83, 4], vec![0xFF], r#""0xff""#),
        ("pid", &[0x88, 5], vec![4, 0, 0, 0], "4"),
        ("tid", &[0x88, 6], vec![8, 0, 0, 0], "8"),
        ("port", &[0x86, 7], vec![0, 80], "80"),
        ("ipv4", &[0x88, 8], vec![10, 0, 0, 1], r#""10.0.0.1""#),
        ("ipv6", &[0x8E, 9], counted(&[0; 16]), r#""::""#),
        ("socket", &[0x8E, 10], counted(&[2, 0, 0, 80, 1, 2, 3, 4]), r#""1.2.3.4:80""#),
        ("xml", &[0x81, 11], wide_z("<a/>"), r#""<a/>""#),
        ("json", &[0x82, 12], b"{}\0".to_vec(), r#""{}""#),
        ("win32", &[0x88, 13], vec![5, 0, 0, 0], "5"),
        ("ntstatus", &[0x88, 14], vec![5, 0, 0, 0xC0], r#""0xc0000005""#),
        ("hresult", &[0x87, 15], vec![5, 0, 7, 0x80], r#""0x80070005""#),
        ("time", &[0x89, 16], vec![0; 8], r#""1601-01-01T00:00:00.0000000Z""#),
        ("utf8", &[0x82, 35], "é\0".into(), r#""é""#),
        ("bad_utf8", &[2], b"\xE9\0".to_vec(), "\"\u{FFFD}\""),
        ("char8", &[0x84, 2], vec![77], "77"),
        ("char16", &[0x86, 2], vec![77, 0], r#""M""#),
        ("tagged", &[0x84, 0x80, 0x81, 0x01], vec![9], "9"),
        ("three", &[0x24, 3, 0], vec![1, 2, 3], "[1,2,3]"),
        ("some", &[0x46], vec![2, 0, 1, 0, 2, 0], "[1,2]"),
        ("none", &[0x46], vec![0, 0], "[]"),
        ("strings", &[0x41], [vec![2, 0], wide_z("a"), wide_z("b")].concat(), r#"["a","b"]"#),
        ("chars", &[0xC4, 2], vec![2, 0, b'o', b'k'], r#""ok""#),
        ("wide_chars", &[0xA6, 2, 2, 0], wide("ok"), r#""ok""#),
        ("custom", &[0xE4, 0, 3, 0, 1, 2, 3], counted(&[1, 2]), r#""0102""#),
        ("struct", &[0x98, 2, b'm', 0, 4, b'n', 0, 4], vec![1, 2], r#"{"m":1,"n":2}"#),
        (
            "structs",
            &[0xD8, 1, b'm', 0, 0x98, 1, b'n', 0, 0x44],
            vec![2, 0, 1, 0, 7, 0, 0],
            r#"[{"m":{"n":[7]}},{"m":{"n":[]}}]"#,
        ),
    ];
    let mut all = (Vec::new(), Vec::new(), Vec::new());
    for (name, kind, value, json) in &cases {
        let json = format!("\"{name}\":{json}");
        let got = tracelogging_decoded(&schema("E", &[(name, kind)]), value.clone());
        assert_eq!(got.as_deref(), Ok(&*format!("{{{json}}}")), "{name}");
        all.0.push((*name, *kind));
        all.1.extend_from_slice(value);
        all.2.push(json);
    }
    let got = tracelogging_decoded(&schema("All", &all.0), all.1);
    assert_eq!(got, Ok(format!("{{{}}}", all.2.join(","))));
}

#[test]
fn tracelogging_names_and_repetitions() {
    let record = Record::tracelogging(&schema("Tick", &[("a", &[4]), ("a", &[4])]), vec![1, 2, 3]);
    let mut schemas = Schemas::new();
    let expected = EventName { provider: Some("My.Provider"), event: Some("Tick") };
    assert_eq!(schemas.name(&record.event()), expected);
    schemas.note(&record.event());
    assert_eq!(schemas.name(&record.event()), expected);
    assert_eq!(decoded(&schemas, &record).unwrap(), r#"{"a":1,"a_2":2,"_rest":"03"}"#);
    assert_eq!(schemas.events_longer(), 1);
    assert!(schemas.problems().is_empty());
}

#[test]
fn a_cut_tracelogging_event_is_malformed() {
    let blob = schema("E", &[("a", &[4]), ("b", &[8])]);
    let got = tracelogging_decoded(&blob, vec![1]);
    assert_eq!(got, Err(Undecoded::Malformed { offset: 1 }));
    let got = tracelogging_decoded(&schema("E", &[("a", &[16])]), vec![0; 8]);
    assert_eq!(got, Ok(r#"{"a":"0x0"}"#.into()));
    let mut schemas = Schemas::new();
    schemas.note(&Record::tracelogging(&schema("E", &[("a", &[26])]), vec![0; 8]).event());
    let kinds: Vec<_> = schemas.problems().iter().map(|p| (p.kind, p.count)).collect();
    assert_eq!(kinds, [(ProblemKind::TraceLogging, 1)]);
}

#[test]
fn limits_hold() {
    let limit = |what| Err(Undecoded::Limit { what });
    // An array of structures without bytes costs the payload nothing.
    let empty = schema("E", &[("s", &[0xB8, 0, 0xFF, 0xFF]), ("t", &[0xB8, 0, 0xFF, 0xFF])]);
    let many: Vec<(&str, &[u8])> = vec![("s", &[0x20, 0xFF, 0xFF]); 8];
    assert!(tracelogging_decoded(&empty, vec![]).is_ok());
    assert_eq!(tracelogging_decoded(&schema("E", &many), vec![]), limit("bytes of output"));

    let fields: Vec<(&str, &[u8])> = vec![("f", &[4]); limits::FIELDS + 1];
    assert_eq!(tracelogging_decoded(&schema("E", &fields), vec![]), limit("fields of an event"));
    let got = tracelogging_decoded(&schema("E", &fields[1..]), vec![1; limits::FIELDS]);
    assert!(got.unwrap().contains("\"f_1024\":1"));

    let nested = |depth: usize| {
        let mut kind = Vec::new();
        for _ in 0..depth {
            kind.extend_from_slice(&[0x98, 1, b's', 0]);
        }
        kind.push(4);
        schema("E", &[("s", &kind)])
    };
    assert!(tracelogging_decoded(&nested(limits::DEPTH), vec![1]).is_ok());
    let got = tracelogging_decoded(&nested(limits::DEPTH + 1), vec![1]);
    assert_eq!(got, limit("structures inside structures"));
}

/// One property of a TRACE_EVENT_INFO.
#[derive(Clone, Copy)]
struct Property<'a> {
    flags: u32,
    name: &'a str,
    input: u16,
    output: u16,
    map: &'a str,
    count: u16,
    length: u16,
}

fn property(name: &str, input: u16, output: u16) -> Property<'_> {
    Property { flags: 0, name, input, output, map: "", count: 1, length: 0 }
}

fn event_info(id: u16, top: u32, properties: &[Property<'_>]) -> Vec<u8> {
    let mut bytes = vec![0; 112 + 24 * properties.len()];
    let text = |bytes: &mut Vec<u8>, text: &str| {
        let at = bytes.len() as u32;
        bytes.extend_from_slice(&wide_z(text));
        if text.is_empty() { 0 } else { at }
    };
    bytes[..16].copy_from_slice(&PROVIDER.0);
    bytes[32..34].copy_from_slice(&id.to_le_bytes());
    bytes[37] = 1;
    let set = |bytes: &mut Vec<u8>, at: usize, v: u32| {
        bytes[at..at + 4].copy_from_slice(&v.to_le_bytes());
    };
    for (at, name) in [(52, "My-Provider"), (68, "Task "), (72, "win:Start ")] {
        let offset = text(&mut bytes, name);
        set(&mut bytes, at, offset);
    }
    set(&mut bytes, 100, properties.len() as u32);
    set(&mut bytes, 104, top);
    for (n, p) in properties.iter().enumerate() {
        let at = 112 + 24 * n;
        let name = text(&mut bytes, p.name);
        let map = text(&mut bytes, p.map);
        set(&mut bytes, at, p.flags);
        set(&mut bytes, at + 4, name);
        set(&mut bytes, at + 8, u32::from(p.input) | u32::from(p.output) << 16);
        set(&mut bytes, at + 12, map);
        set(&mut bytes, at + 16, u32::from(p.count) | u32::from(p.length) << 16);
    }
    bytes
}

fn map_info(name: &str, flags: u32, entries: &[(u32, &str)]) -> Vec<u8> {
    let mut map = vec![0; 16 + 8 * entries.len()];
    let mut words = vec![map.len() as u32, flags, entries.len() as u32, 0];
    map.extend_from_slice(&wide_z(name));
    for (value, text) in entries {
        words.extend_from_slice(&[map.len() as u32, *value]);
        map.extend_from_slice(&wide_z(text));
    }
    for (n, word) in words.iter().enumerate() {
        map[4 * n..4 * n + 4].copy_from_slice(&word.to_le_bytes());
    }
    [PROVIDER.0.to_vec(), map].concat()
}

#[test]
fn embedded_metadata_decodes() {
    let p = property;
    let info = event_info(
        7,
        9,
        &[
            Property { map: "Kind", ..p("kind", 8, 0) },
            Property { map: "Bits", ..p("bits", 20, 0) },
            p("n", 6, 0),
            Property { flags: 4, count: 2, ..p("values", 8, 0) },
            Property { flags: 2, length: 2, ..p("data", 14, 0) },
            Property { flags: 1 | 4, count: 2, ..p("structs", 9, 2) },
            Property { length: 3, ..p("fixed", 1, 0) },
            p("pointer", 16, 0),
            p("late", 8, 0),
            p("m", 4, 0),
            Property { flags: 4, count: 9, ..p("inner", 4, 0) },
        ],
    );
    let payload = [
        &[2, 0, 0, 0, 5, 0, 0, 0, 2, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0xAA, 0xBB][..],
        &[1, 9, 2, 8, 7],
        &wide("ab\0"),
        &[0x10, 0, 0, 0],
    ]
    .concat();
    let mut record = Record::manifest(PROVIDER, 7, 0, payload);
    record.pointer_size = 4;
    let expected = r#"{"kind":"Two","bits":"A|C","n":2,"values":[1,2],"data":"aabb","structs":[{"m":1,"inner":[9]},{"m":2,"inner":[8,7]}],"fixed":"ab","pointer":"0x10"}"#;
    let notes = [
        Record::classic(metadata::EVENT_INFO, info.clone()),
        Record::classic(metadata::MAP_INFO, map_info("Kind", 1, &[(1, "One"), (2, "Two ")])),
        Record::classic(metadata::MAP_INFO, map_info("Bits", 2, &[(1, "A"), (2, "B"), (4, "C")])),
    ];
    for order in [[0, 1, 2], [2, 1, 0]] {
        let mut schemas = Schemas::new();
        assert_eq!(decoded(&schemas, &record), Err(Undecoded::NoSchema));
        for n in order {
            assert!(schemas.note(&notes[n].event()));
        }
        schemas.finish();
        assert_eq!(decoded(&schemas, &record).as_deref(), Ok(expected));
        assert_eq!(schemas.events_shorter(), 1, "the last field is not there");
        let name = EventName { provider: Some("My-Provider"), event: Some("Task/Start") };
        assert_eq!(schemas.name(&record.event()), name);
        for n in 0..record.payload.len() {
            let mut cut = Record::manifest(PROVIDER, 7, 0, record.payload[..n].to_vec());
            cut.pointer_size = 4;
            let _ = decoded(&schemas, &cut);
        }
    }
    for n in 0..info.len() {
        let mut schemas = Schemas::new();
        schemas.note(&Record::classic(metadata::EVENT_INFO, info[..n].to_vec()).event());
        schemas.note(&Record::classic(metadata::MAP_INFO, info[..n].to_vec()).event());
        let _ = decoded(&schemas, &record);
    }
    damaged(&info, |bytes| {
        let mut schemas = Schemas::new();
        schemas.note(&Record::classic(metadata::EVENT_INFO, bytes.to_vec()).event());
        let _ = decoded(&schemas, &record);
    });
}

/// Every byte of `good` replaced by a few others, one at a time.
fn damaged(good: &[u8], mut check: impl FnMut(&[u8])) {
    let mut bytes = good.to_vec();
    for n in 0..bytes.len() {
        for wrong in [0, 1, 0x7F, 0xFF, good[n] ^ 0x55] {
            bytes[n] = wrong;
            check(&bytes);
        }
        bytes[n] = good[n];
    }
}

#[test]
fn every_tdh_type() {
    let utf = wide("ab");
    let sid_user = [&[1u8, 0, 0, 0][..], &[0; 12], &SID[..]].concat();
    let counted = |n: [u8; 2], bytes: &[u8]| [n.to_vec(), bytes.to_vec()].concat();
    let cases: Vec<(u16, u16, Vec<u8>, &str)> = vec![
        (22, 0, counted([4, 0], &utf), r#""ab""#),
        (23, 0, counted([2, 0], b"ab"), r#""ab""#),
        (25, 0, counted([2, 0], &[1, 2]), r#""0102""#),
        (300, 0, counted([4, 0], &utf), r#""ab""#),
        (301, 0, counted([2, 0], b"ab"), r#""ab""#),
        (302, 0, counted([0, 4], &utf), r#""ab""#),
        (303, 0, counted([0, 2], b"ab"), r#""ab""#),
        (304, 0, utf.clone(), r#""ab""#),
        (305, 0, b"ab".to_vec(), r#""ab""#),
        (306, 0, wide("a"), r#""a""#),
        (307, 0, b"a".to_vec(), r#""a""#),
        (308, 0, 5u64.to_le_bytes().to_vec(), r#""0x5""#),
        (309, 0, vec![1, 0, 0, 0, 0xAB], r#""ab""#),
        (310, 0, sid_user, r#""S-1-5-18""#),
        (310, 0, vec![0, 0, 0, 0], "null"),
        (19, 0, SID.to_vec(), r#""S-1-5-18""#),
        (14, 24, vec![0; 16], r#""::""#),
        (14, 0, vec![1, 2], r#""0102""#),
        (8, 23, vec![1, 2, 3, 4], r#""1.2.3.4""#),
        (8, 31, vec![5, 0, 0, 0xC0], r#""0xc0000005""#),
        (8, 18, vec![5, 0, 0, 0], r#""0x5""#),
        (4, 13, vec![1], "true"),
        (6, 1, vec![65, 0], r#""A""#),
        (10, 0, u64::MAX.to_le_bytes().to_vec(), "18446744073709551615"),
        (18, 38, vec![0; 16], r#""0000-00-00T00:00:00.000Z""#),
        (1, 0, utf, r#""ab""#),
    ];
    for (input, output, payload, json) in cases {
        let mut schemas = Schemas::new();
        let info = event_info(1, 1, &[property("v", input, output)]);
        schemas.note(&Record::classic(metadata::EVENT_INFO, info).event());
        let record = Record::manifest(PROVIDER, 1, 0, payload);
        let got = decoded(&schemas, &record);
        assert_eq!(got, Ok(format!("{{\"v\":{json}}}")), "type {input}/{output}");
        for n in 0..record.payload.len() {
            let _ =
                decoded(&schemas, &Record::manifest(PROVIDER, 1, 0, record.payload[..n].into()));
        }
    }
}

#[test]
fn structures_that_contain_themselves_end() {
    let mut schemas = Schemas::new();
    let own = Property { flags: 1, ..property("s", 0, 1) };
    let info = event_info(1, 1, &[own]);
    schemas.note(&Record::classic(metadata::EVENT_INFO, info).event());
    let got = decoded(&schemas, &Record::manifest(PROVIDER, 1, 0, vec![1]));
    assert_eq!(got, Err(Undecoded::Limit { what: "structures inside structures" }));
}

const XML: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
 <instrumentation xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events"><events>
  <provider name="My-Source" guid="{11223344-5566-7788-0102-030405060708}" symbol="S">
   <tasks><task name="Request" value="1" message="$(string.task_Request)"/><task name="Log" value="2"/></tasks>
   <opcodes><opcode name="Mine" value="11" message="$(string.op_Mine)"/></opcodes>
   <maps>
    <valueMap name="Kind"><map value="1" message="$(string.k1)"/><map value="0x2" message="$(string.k2)"/></valueMap>
    <bitMap name="Bits"><map value="1" message="$(string.b1)"/></bitMap>
   </maps>
   <events>
    <event value="1" version="0" level="win:Informational" symbol="RequestStart" task="Request" opcode="win:Start" template="A"/>
    <event value="2" version="1" symbol="Log" task="Log" template="B"/>
    <event value="3" symbol="Lonely"/>
    <event value="4" symbol="X" task="Log" opcode="Mine"/>
   </events>
   <templates>
    <template tid="A">
     <data name="url" inType="win:UnicodeString"/>
     <data name="kind" inType="win:Int32" map="Kind"/>
     <data name="bits" inType="win:UInt32" map="Bits"/>
     <data name="size" inType="win:UInt32"/>
     <data name="bytes" inType="win:Binary" length="size"/>
     <data name="ok" inType="win:Boolean"/>
     <data name="when" inType="win:FILETIME"/>
    </template>
    <template tid="B">
     <data name="Count" inType="win:UInt16"/>
     <struct name="Values" count="Count"><data name="c" inType="win:UInt16" outType="xs:string"/><data name="two" inType="win:UInt8" count="2"/></struct>
    </template>
   </templates>
  </provider></events></instrumentation>
 <localization><resources culture="en-US"><stringTable>
  <string id="task_Request" value="Request"/><string id="op_Mine" value="Own &amp; op"/>
  <string id="k1" value="First"/><string id="k2" value="Second"/><string id="b1" value="Bit"/>
 </stringTable></resources></localization>
</instrumentationManifest>"#;

fn chunks(text: &[u8], pid: u32, size: usize) -> Vec<Record> {
    let total = text.len().div_ceil(size);
    let record = |(n, part): (usize, &[u8])| {
        let mut payload = vec![1, 1, 0, 0x5B];
        payload.extend_from_slice(&(total as u16).to_le_bytes());
        payload.extend_from_slice(&(n as u16).to_le_bytes());
        payload.extend_from_slice(part);
        let mut record = Record::manifest(PROVIDER, manifest::EVENT_ID, 1, payload);
        record.pid = pid;
        record
    };
    text.chunks(size).enumerate().map(record).collect()
}

#[test]
fn manifests_in_the_trace_decode() {
    // Two processes write at once; one starts in the middle of the recording.
    let (one, two) = (chunks(XML.as_bytes(), 1, 700), chunks(XML.as_bytes(), 2, 500));
    let mut schemas = Schemas::new();
    for n in 0..one.len().max(two.len()) {
        for source in [&one[..], &two[1..]] {
            assert!(source.get(n).is_none_or(|r| schemas.note(&r.event())));
        }
    }
    schemas.finish();
    assert!(schemas.problems().is_empty(), "{:?}", schemas.problems());
    let name = |record: &Record| {
        let name = schemas.name(&record.event());
        (name.provider.map(str::to_owned), name.event.map(str::to_owned))
    };
    let payload =
        [&wide_z("/")[..], &[2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0xAB, 1, 0, 0, 0], &[0; 8]]
            .concat();
    let record = Record::manifest(PROVIDER, 1, 0, payload);
    assert_eq!(
        decoded(&schemas, &record).unwrap(),
        r#"{"url":"/","kind":"Second","bits":"Bit|0x2","size":1,"bytes":"ab","ok":true,"when":"1601-01-01T00:00:00.0000000Z"}"#
    );
    assert_eq!(name(&record), (Some("My-Source".into()), Some("Request/Start".into())));
    let record = Record::manifest(PROVIDER, 2, 1, vec![2, 0, 65, 0, 1, 2, 66, 0, 3, 4]);
    assert_eq!(
        decoded(&schemas, &record).unwrap(),
        r#"{"Count":2,"Values":[{"c":"A","two":[1,2]},{"c":"B","two":[3,4]}]}"#
    );
    let record = Record::manifest(PROVIDER, 3, 0, vec![]);
    assert_eq!(decoded(&schemas, &record).unwrap(), "{}");
    assert_eq!(name(&record).1, Some("Lonely".into()));
    assert_eq!(name(&Record::manifest(PROVIDER, 4, 0, vec![])).1, Some("Log/Own & op".into()));
    assert_eq!(
        decoded(&schemas, &Record::manifest(PROVIDER, 1, 1, vec![])),
        Err(Undecoded::NoSchema)
    );
}

#[test]
fn broken_manifests_are_counted() {
    let problems = |records: &[Record]| {
        let mut schemas = Schemas::new();
        records.iter().for_each(|r| assert!(schemas.note(&r.event())));
        schemas.finish();
        schemas.problems().iter().map(|p| (p.kind, p.count)).collect::<Vec<_>>()
    };
    let parts = chunks(XML.as_bytes(), 1, 900);
    assert_eq!(problems(&parts[1..]), [(ProblemKind::ManifestIncomplete, 1)]);
    let broken = XML.replace("length=\"size\"", "length=\"nothing\"");
    assert_eq!(problems(&chunks(broken.as_bytes(), 1, 900)), [(ProblemKind::Manifest, 1)]);
    let mut wrong = chunks(b"x", 1, 9);
    wrong[0].payload[3] = 0;
    assert_eq!(problems(&wrong), [(ProblemKind::ManifestChunk, 1)]);
    let mut many = chunks(b"x", 1, 9);
    many[0].payload[4..6].copy_from_slice(&[0xFF, 0xFF]);
    assert_eq!(problems(&many), [(ProblemKind::Limit("chunks of a manifest"), 1)]);
    for n in 0..XML.len() {
        let _ = manifest::parse(&XML.as_bytes()[..n], |_| None);
    }
    damaged(XML.as_bytes(), |bytes| drop(manifest::parse(bytes, |_| None)));
}

#[test]
fn embedded_metadata_wins_over_a_manifest_and_the_table() {
    let mut schemas = Schemas::new();
    let mut info = event_info(111, 1, &[property("own", 4, 0)]);
    let power: Guid = "331c3b3a-2005-44c2-ac5e-77220c37d6b4".parse().unwrap();
    info[..16].copy_from_slice(&power.0);
    let record = Record::manifest(power, 111, 0, [&[0; 16][..], &[1, 0, 0, 0, 7]].concat());
    assert_eq!(
        decoded(&schemas, &record).unwrap(),
        r#"{"SettingGuid":"00000000-0000-0000-0000-000000000000","DataSize":1,"Data":"07"}"#
    );
    schemas.note(&Record::classic(metadata::EVENT_INFO, info).event());
    assert!(decoded(&schemas, &record).unwrap().starts_with(r#"{"own":0,"_rest":"#));
}

#[test]
fn built_in_layouts_go_by_length() {
    let schemas = Schemas::new();
    let win32k: Guid = "8c416c79-d49b-4f01-a467-e56d3aa8234c".parse().unwrap();
    let numbers = [1u32, 250, 3, 4].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let short = Record::manifest(win32k, 38, 0, numbers.clone());
    let head =
        r#"{"Flags":"0x1","DelayTimeMs":250,"TimeSinceInputRemoveMs":3,"TimeSinceOldestInputMs":4"#;
    assert_eq!(decoded(&schemas, &short).unwrap(), format!("{head}}}"));
    let texts = [wide_z("Cls"), wide_z("Top"), wide_z("a.exe")].concat();
    let long = [numbers, texts, vec![0x12, 0, 0, 0], vec![1, 0, 0, 0, 0, 0, 0, 0]].concat();
    let long = Record::manifest(win32k, 38, 0, long);
    let tail = r#","ClassName":"Cls","TopLevelClassName":"Top","ImagePath":"a.exe","MessageId":18,"WParam":"0x1"}"#;
    assert_eq!(decoded(&schemas, &long).unwrap(), format!("{head}{tail}"));
    let name =
        EventName { provider: Some("Microsoft-Windows-Win32k"), event: Some("MessageCheckDelay") };
    assert_eq!(schemas.name(&long.event()), name);
    assert_eq!(schemas.events_shorter(), 0, "that is how the table tells versions apart");
}

#[test]
fn schemas_can_be_read_from_many_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Schemas>();
}

#[test]
fn strings_alone_and_events_without_schema() {
    let schemas = Schemas::new();
    let mut text = Record::manifest(PROVIDER, 0, 0, wide("hi\""));
    if let EventId::Manifest { flags, .. } = &mut text.id {
        *flags = STRING_ONLY;
    }
    assert_eq!(decoded(&schemas, &text).unwrap(), r#"{"string":"hi\""}"#);
    text.payload.push(0);
    assert_eq!(decoded(&schemas, &text), Err(Undecoded::Malformed { offset: 6 }));
    text.id = EventId::Message { guid: PROVIDER, number: 1 };
    assert_eq!(decoded(&schemas, &text), Err(Undecoded::NoSchema));
    assert_eq!(schemas.name(&text.event()), EventName::default());
}

/// What the recordings at hand must give: events, and how many of them decode.
const RECORDINGS: &[(&str, u64, u64)] = &[
    ("win10-amsi-lost3.etl", 19, 19),
    ("win10-gcevents-circular.etl", 69, 67),
    ("win10-lxcore.etl", 2, 2),
    ("win10-msbuild-32bit-header-compressed.etl", 5795, 5761),
    ("win10-small-relogged-32bit.etl", 1, 1),
    ("win10-tracelogging-primitive-types.etl", 5, 5),
    ("win11-powershell-32cpu.etl", 112, 0),
    ("win11-tracelogging-one-event.etl", 1, 1),
    ("win11-vs-threads-compressed.etl", 21426, 20938),
    ("win7-http-server.etl", 2041, 0),
    ("win7-kernel-process.etl", 10343, 10343),
    ("win7-net45-x86.etl", 122288, 115791),
    ("win8-net452-x64-compressed.etl", 68143, 66512),
];

fn recording(name: &str) -> Option<crate::etl::EtlFile> {
    let corpus = std::env::var("ETWAS_CORPUS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared").to_owned());
    let path = std::path::Path::new(&corpus).join("traces").join(name);
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("not checked, since {} is absent", path.display());
        return None;
    };
    Some(crate::etl::EtlFile::open(std::sync::Arc::new(file)).unwrap())
}

fn survey(file: &crate::etl::EtlFile) -> Schemas {
    let mut schemas = Schemas::new();
    crate::etl::scan(file, |e| {
        schemas.note(e);
    })
    .unwrap();
    schemas.finish();
    schemas
}

#[test]
fn recordings_decode() {
    for (name, events, expected) in RECORDINGS {
        let Some(file) = recording(name) else { continue };
        let schemas = survey(&file);
        assert!(schemas.problems().is_empty(), "{name}: {:?}", schemas.problems());
        let (mut seen, mut decoded, mut out) = (0, 0, String::new());
        crate::etl::scan(&file, |e| {
            if e.kind != RecordKind::Event {
                return;
            }
            seen += 1;
            out.clear();
            match schemas.fields(e, &mut out) {
                Ok(()) => {
                    decoded += 1;
                    let value = serde_json::from_str::<serde_json::Value>(&out);
                    assert!(value.is_ok_and(|v| v.is_object()), "{name}: {out}");
                }
                Err(Undecoded::NoSchema) => {}
                Err(e) => panic!("{name}: {e}"),
            }
        })
        .unwrap();
        assert_eq!((seen, decoded), (*events, *expected), "{name}");
    }
}

#[test]
fn the_table_agrees_with_the_baseline_of_the_runtime_events() {
    let Some(file) = recording("win10-gcevents-circular.etl") else { return };
    let schemas = survey(&file);
    let (mut first, mut out) = (std::collections::BTreeMap::new(), String::new());
    crate::etl::scan(&file, |e| {
        out.clear();
        if let (Some(name), Ok(())) = (schemas.name(e).event, schemas.fields(e, &mut out)) {
            first.entry(name.to_owned()).or_insert_with(|| out.clone());
        }
    })
    .unwrap();
    // gcevents.baseline.txt: GC/CreateSegment and GC/AllocationTick.
    assert_eq!(
        first["GarbageCollection/GCCreateSegment"],
        r#"{"Address":"0x1b0f1000028","Size":"0x1ffffd8","Type":"PinnedObjectHeap","ClrInstanceID":8}"#
    );
    assert_eq!(
        first["GarbageCollection/GCAllocationTick"],
        r#"{"AllocationAmount":"0x1aa40","AllocationKind":"Small","ClrInstanceID":8,"AllocationAmount64":"0x1aa40","TypeID":"0x7ffb485e1c08","TypeName":"System.String","HeapIndex":0,"Address":"0x1b0f3818b30","ObjectSize":32}"#
    );
}

#[test]
fn primitive_types_agree_with_their_baseline() {
    let Some(file) = recording("win10-tracelogging-primitive-types.etl") else { return };
    let schemas = survey(&file);
    let mut rows = Vec::new();
    crate::etl::scan(&file, |e| {
        let mut out = String::new();
        if e.kind == RecordKind::Event && schemas.fields(e, &mut out).is_ok() {
            let name = schemas.name(e);
            assert_eq!(
                (name.provider, name.event),
                (Some("solar_system"), Some("PrimitiveTypesTest"))
            );
            rows.push(serde_json::from_str::<serde_json::Value>(&out).unwrap());
        }
    })
    .unwrap();
    let texts = |key: &str| rows.iter().map(|r| r[key].as_str().unwrap()).collect::<Vec<_>>();
    let numbers = |key: &str| rows.iter().map(|r| r[key].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!(texts("string_type"), ["Mercury", "Venus", "Earth", "Mars", "Jupiter"]);
    assert_eq!(numbers("char_type"), [77, 86, 69, 77, 74]);
    assert_eq!(numbers("int16_type"), [-51, -95, -65, -29, -69]);
    assert_eq!(numbers("uint32_type"), [102, 190, 130, 58, 138]);
    assert_eq!(numbers("int64_type"), [-204, -380, -260, -116, -276]);
    assert_eq!(numbers("uint64_type"), [204, 380, 260, 116, 276]);
    assert!(texts("guid_type")[1].starts_with("e04ff801-9ea3-494f-a"));
    assert!(texts("file_time_type")[4].starts_with("2021-09-09T14:59:37.48"));
    assert!(texts("system_time_type")[4].starts_with("2021-09-09T14:59:37"));
    let booleans: Vec<_> = rows.iter().map(|r| r["boolean_type"].as_bool()).collect();
    assert_eq!(booleans, [Some(false), Some(true), Some(false), Some(false), Some(true)]);
}
