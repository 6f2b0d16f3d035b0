//! Power: the processor settings, schemes and overlays that traces name by GUID only, and what their values
//! mean. Used by the reader to fill `power_setting` and `power_event`; GUIDs that are not here stay raw.

use crate::domain::Name;

/// How the value of a setting reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A number, with its unit.
    Number(Option<&'static str>),
    /// A number with its unit, of which 0 means that there is no limit.
    Limit(Option<&'static str>),
    /// One of a set of choices.
    Names(&'static [Name]),
    /// Four numbers of one byte each, with their unit.
    Packed(&'static str),
    /// The GUID of a scheme.
    Scheme,
}

use Values::{Limit, Names, Number, Packed};

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// GUID, in lower case.
    pub guid: &'static str,
    /// Alias, as `powercfg` takes it; empty: none.
    pub alias: &'static str,
    /// Readable name.
    pub name: &'static str,
    /// Of twins, the efficiency class that this one is for.
    pub efficiency_class: Option<i32>,
    /// How its values read.
    pub values: Values,
}

impl Setting {
    /// Unit of the value.
    pub fn unit(&self) -> Option<&'static str> {
        match self.values {
            Number(unit) | Limit(unit) => unit,
            Packed(unit) => Some(unit),
            Names(_) | Values::Scheme => None,
        }
    }
}

const fn of(
    guid: &'static str,
    alias: &'static str,
    name: &'static str,
    efficiency_class: Option<i32>,
    values: Values,
) -> Setting {
    Setting { guid, alias, name, efficiency_class, values }
}

static SWITCH: &[Name] = &[(0, "Off"), (1, "On")];
static THROTTLE_STATES: &[Name] = &[(0, "Off"), (1, "On"), (2, "Automatic")];
static PERFORMANCE_POLICIES: &[Name] =
    &[(0, "Ideal"), (1, "Single"), (2, "Rocket"), (3, "Ideal aggressive")];
static PARKING_POLICIES: &[Name] = &[(0, "Ideal"), (1, "Single"), (2, "Rocket"), (3, "Multistep")];
static PARKED_STATES: &[Name] = &[(0, "No preference"), (1, "Deepest"), (2, "Lightest")];
static COOLING_POLICIES: &[Name] = &[(0, "Active"), (1, "Passive")];
static HETERO_POLICIES: &[Name] = &[
    (0, "Use policy 0"),
    (1, "Use policy 1"),
    (2, "Use policy 2"),
    (3, "Use policy 3"),
    (4, "Use policy 4"),
];
static THREAD_POLICIES: &[Name] = &[
    (0, "All processors"),
    (1, "Performant processors"),
    (2, "Prefer performant processors"),
    (3, "Efficient processors"),
    (4, "Prefer efficient processors"),
    (5, "Automatic"),
];
static BOOST_MODES: &[Name] = &[
    (0, "Off"),
    (1, "On"),
    (2, "Aggressive"),
    (3, "Efficient"),
    (4, "Efficient aggressive"),
    (5, "Aggressive at guaranteed"),
    (6, "Efficient aggressive at guaranteed"),
];

/// Subgroup of the processor settings.
pub static SUB_PROCESSOR: &str = "54533251-82be-4824-96c1-47b60b740d00";

/// Every setting that is known by name, by GUID.
pub static SETTINGS: &[Setting] = &[
    of(
        "06cadf0e-64ed-448a-8927-ce7bf90eb35d",
        "PERFINCTHRESHOLD",
        "Processor performance increase threshold",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "06cadf0e-64ed-448a-8927-ce7bf90eb35e",
        "PERFINCTHRESHOLD1",
        "Processor performance increase threshold for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "0cc5b647-c1df-4637-891a-dec35c318583",
        "CPMINCORES",
        "Processor performance core parking min cores",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "0cc5b647-c1df-4637-891a-dec35c318584",
        "CPMINCORES1",
        "Processor performance core parking min cores for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "12a0ab44-fe28-4fa9-b3bd-4b64f44960a6",
        "PERFDECTHRESHOLD",
        "Processor performance decrease threshold",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "12a0ab44-fe28-4fa9-b3bd-4b64f44960a7",
        "PERFDECTHRESHOLD1",
        "Processor performance decrease threshold for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "1facfc65-a930-4bc5-9f38-504ec097bbc0",
        "HETEROCLASS1INITIALPERF",
        "Initial performance for class-1 processors when unparked",
        None,
        Number(Some("%")),
    ),
    of(
        "2430ab6f-a520-44a2-9601-f7f23b5134b1",
        "CPCONCURRENCY",
        "Core parking concurrency threshold",
        None,
        Number(Some("%")),
    ),
    of(
        "2ddd5a84-5a71-437e-912a-db0b8c788732",
        "CPINCREASETIME",
        "Core parking increase time",
        None,
        Number(Some("check intervals")),
    ),
    of(
        "36687f9e-e3a5-4dbf-b1dc-15eb381c6863",
        "PERFEPP",
        "Processor energy performance preference",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "36687f9e-e3a5-4dbf-b1dc-15eb381c6864",
        "PERFEPP1",
        "Processor energy performance preference for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "3b04d4fd-1cc7-4f23-ab1c-d1337819c4bb",
        "THROTTLING",
        "Allow throttle states",
        None,
        Names(THROTTLE_STATES),
    ),
    of(
        "4009efa7-e72d-4cba-9edf-91084ea8cbc3",
        "HETEROINCREASETIME",
        "Heterogeneous increase time",
        None,
        Number(Some("check intervals")),
    ),
    of(
        "40fbefc7-2e9d-4d25-a185-0cfd8574bac6",
        "PERFDECPOL",
        "Processor performance decrease policy",
        Some(0),
        Names(PERFORMANCE_POLICIES),
    ),
    of(
        "40fbefc7-2e9d-4d25-a185-0cfd8574bac7",
        "PERFDECPOL1",
        "Processor performance decrease policy for efficiency class 1",
        Some(1),
        Names(PERFORMANCE_POLICIES),
    ),
    of(
        "43f278bc-0f8a-46d0-8b31-9a23e615d713",
        "LONGTHREADARCHCLASSLOWERTHRESHOLD",
        "Long-running threads: lower architecture limit",
        None,
        Number(None),
    ),
    of(
        "447235c7-6a8d-4cc0-8e24-9eaf70b96e2b",
        "CPPERF",
        "Performance state of parked cores",
        Some(0),
        Names(PARKED_STATES),
    ),
    of(
        "447235c7-6a8d-4cc0-8e24-9eaf70b96e2c",
        "CPPERF1",
        "Performance state of parked cores for efficiency class 1",
        Some(1),
        Names(PARKED_STATES),
    ),
    of(
        "45bcc044-d885-43e2-8605-ee0ec6e96b59",
        "PERFBOOSTPOL",
        "Processor performance boost policy",
        None,
        Number(Some("%")),
    ),
    of(
        "465e1f50-b610-473a-ab58-00d1077dc418",
        "PERFINCPOL",
        "Processor performance increase policy",
        Some(0),
        Names(PERFORMANCE_POLICIES),
    ),
    of(
        "465e1f50-b610-473a-ab58-00d1077dc419",
        "PERFINCPOL1",
        "Processor performance increase policy for efficiency class 1",
        Some(1),
        Names(PERFORMANCE_POLICIES),
    ),
    of(
        "4b70f900-cdd9-4e66-aa26-ae8417f98173",
        "LATENCYHINTEPP",
        "Energy performance preference on a latency hint",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "4b70f900-cdd9-4e66-aa26-ae8417f98174",
        "LATENCYHINTEPP1",
        "Energy performance preference on a latency hint for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "4b92d758-5a24-4851-a470-815d78aee119",
        "IDLEDEMOTE",
        "Processor idle demote threshold",
        None,
        Number(Some("%")),
    ),
    of(
        "4bdaf4e9-d103-46d7-a5f0-6280121616ef",
        "CPDISTRIBUTION",
        "Core parking distribution threshold",
        None,
        Number(Some("%")),
    ),
    of(
        "4d2b0152-7d5c-498b-88e2-34345392a2c5",
        "PERFCHECK",
        "Processor performance time check interval",
        None,
        Number(Some("ms")),
    ),
    of(
        "4e4450b3-6179-4e91-b8f1-5bb9938f81a1",
        "PERFDUTYCYCLING",
        "Processor duty cycling",
        None,
        Names(SWITCH),
    ),
    of(
        "53824d46-87bd-4739-aa1b-aa793fac36d6",
        "SHORTTHREADARCHCLASSLOWERTHRESHOLD",
        "Short-running threads: lower architecture limit",
        None,
        Number(None),
    ),
    of(
        "5d76a2ca-e8c0-402f-a133-2158492d58ad",
        "IDLEDISABLE",
        "Processor idle states disabled",
        None,
        Names(SWITCH),
    ),
    of(
        "616cdaa5-695e-4545-97ad-97dc2d1bdd88",
        "LATENCYHINTUNPARK",
        "Unparked cores on a latency hint",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "616cdaa5-695e-4545-97ad-97dc2d1bdd89",
        "LATENCYHINTUNPARK1",
        "Unparked cores on a latency hint for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "619b7505-003b-4e82-b7a6-4dd29c300971",
        "LATENCYHINTPERF",
        "Processor performance on a latency hint",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "619b7505-003b-4e82-b7a6-4dd29c300972",
        "LATENCYHINTPERF1",
        "Processor performance on a latency hint for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "6c2993b0-8f48-481f-bcc6-00dd2742aa06",
        "IDLESCALING",
        "Processor idle threshold scaling",
        None,
        Names(SWITCH),
    ),
    of(
        "71021b41-c749-4d21-be74-a00f335d582b",
        "CPDECREASEPOL",
        "Core parking decrease policy",
        None,
        Names(PARKING_POLICIES),
    ),
    of(
        "75b0ae3f-bce0-45a7-8c89-c9611c25e100",
        "PROCFREQMAX",
        "Maximum processor frequency",
        Some(0),
        Limit(Some("MHz")),
    ),
    of(
        "75b0ae3f-bce0-45a7-8c89-c9611c25e101",
        "PROCFREQMAX1",
        "Maximum processor frequency for efficiency class 1",
        Some(1),
        Limit(Some("MHz")),
    ),
    of(
        "7b224883-b3cc-4d79-819f-8374152cbe7c",
        "IDLEPROMOTE",
        "Processor idle promote threshold",
        None,
        Number(Some("%")),
    ),
    of(
        "7d24baa7-0b84-480f-840c-1b0743c00f5f",
        "PERFHISTORY",
        "Processor performance history count",
        Some(0),
        Number(None),
    ),
    of(
        "7d24baa7-0b84-480f-840c-1b0743c00f60",
        "PERFHISTORY1",
        "Processor performance history count for efficiency class 1",
        Some(1),
        Number(None),
    ),
    of(
        "7f2492b6-60b1-45e5-ae55-773f8cd5caec",
        "HETERODECREASETIME",
        "Heterogeneous decrease time",
        None,
        Number(Some("check intervals")),
    ),
    of(
        "7f2f5cfa-f10c-4823-b5e1-e93ae85f46b5",
        "HETEROPOLICY",
        "Heterogeneous policy in effect",
        None,
        Names(HETERO_POLICIES),
    ),
    of(
        "828423eb-8662-4344-90f7-52bf15870f5a",
        "SHORTTHREADARCHCLASSUPPERTHRESHOLD",
        "Short-running threads: upper architecture limit",
        None,
        Number(None),
    ),
    of(
        "893dee8e-2bef-41e0-89c6-b55d0929964c",
        "PROCTHROTTLEMIN",
        "Minimum processor state",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "893dee8e-2bef-41e0-89c6-b55d0929964d",
        "PROCTHROTTLEMIN1",
        "Minimum processor state for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "8baa4a8a-14c6-4451-8e8b-14bdbd197537",
        "PERFAUTONOMOUS",
        "Processor performance autonomous mode",
        None,
        Names(SWITCH),
    ),
    of(
        "93b8b6dc-0698-4d1c-9ee4-0644e900c85d",
        "SCHEDPOLICY",
        "Heterogeneous thread scheduling policy",
        None,
        Names(THREAD_POLICIES),
    ),
    of(
        "943c8cb6-6f93-4227-ad87-e9a3feec08d1",
        "CPOVERUTIL",
        "Core parking over-utilization threshold",
        None,
        Number(Some("%")),
    ),
    of(
        "94d3a615-a899-4ac5-ae2b-e4d8f634367f",
        "SYSCOOLPOL",
        "System cooling policy",
        None,
        Names(COOLING_POLICIES),
    ),
    of(
        "97cfac41-2217-47eb-992d-618b1977c907",
        "SOFTPARKLATENCY",
        "Soft parking latency",
        None,
        Number(Some("us")),
    ),
    of(
        "984cf492-3bed-4488-a8f9-4286c97bf5aa",
        "PERFINCTIME",
        "Processor performance increase time",
        Some(0),
        Number(Some("check intervals")),
    ),
    of(
        "984cf492-3bed-4488-a8f9-4286c97bf5ab",
        "PERFINCTIME1",
        "Processor performance increase time for efficiency class 1",
        Some(1),
        Number(Some("check intervals")),
    ),
    of(
        "9943e905-9a30-4ec1-9b99-44dd3b76f7a2",
        "IDLESTATEMAX",
        "Processor idle state maximum",
        None,
        Limit(None),
    ),
    of(
        "b000397d-9b0b-483d-98c9-692a6060cfbf",
        "HETEROINCREASETHRESHOLD",
        "Heterogeneous increase thresholds",
        Some(0),
        Packed("%"),
    ),
    of(
        "b000397d-9b0b-483d-98c9-692a6060cfc0",
        "HETEROINCREASETHRESHOLD1",
        "Heterogeneous increase thresholds for efficiency class 1",
        Some(1),
        Packed("%"),
    ),
    of(
        "b0deaf6b-59c0-4523-8a45-ca7f40244114",
        "MODULEUNPARKPOLICY",
        "Module unpark policy",
        None,
        Number(None),
    ),
    of(
        "b28a6829-c5f7-444e-8f61-10e24e85c532",
        "SMTUNPARKPOLICY",
        "SMT thread unpark policy",
        None,
        Number(None),
    ),
    of(
        "b669a5e9-7b1d-4132-baaa-49190abcfeb6",
        "COMPLEXUNPARKPOLICY",
        "Complex unpark policy",
        None,
        Number(None),
    ),
    of(
        "bae08b81-2d5e-4688-ad6a-13243356654b",
        "SHORTSCHEDPOLICY",
        "Heterogeneous short-running thread scheduling policy",
        None,
        Names(THREAD_POLICIES),
    ),
    of(
        "bc5038f7-23e0-4960-96da-33abaf5935ec",
        "PROCTHROTTLEMAX",
        "Maximum processor state",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "bc5038f7-23e0-4960-96da-33abaf5935ed",
        "PROCTHROTTLEMAX1",
        "Maximum processor state for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "be337238-0d82-4146-a960-4f3749d470c7",
        "PERFBOOSTMODE",
        "Processor performance boost mode",
        None,
        Names(BOOST_MODES),
    ),
    of(
        "bf903d33-9d24-49d3-a468-e65e0325046a",
        "LONGTHREADARCHCLASSUPPERTHRESHOLD",
        "Long-running threads: upper architecture limit",
        None,
        Number(None),
    ),
    of(
        "c4581c31-89ab-4597-8e2b-9c9cab440e6b",
        "IDLECHECK",
        "Processor idle time check",
        None,
        Number(Some("us")),
    ),
    of(
        "c7be0679-2817-4d69-9d02-519a537ed0c6",
        "CPINCREASEPOL",
        "Core parking increase policy",
        None,
        Names(PARKING_POLICIES),
    ),
    of(
        "cfeda3d0-7697-4566-a922-a9086cd49dfa",
        "PERFAUTONOMOUSWINDOW",
        "Processor autonomous activity window",
        None,
        Number(Some("us")),
    ),
    of(
        "d8edeb9b-95cf-4f95-a73c-b061973693c8",
        "PERFDECTIME",
        "Processor performance decrease time",
        Some(0),
        Number(Some("check intervals")),
    ),
    of(
        "d8edeb9b-95cf-4f95-a73c-b061973693c9",
        "PERFDECTIME1",
        "Processor performance decrease time for efficiency class 1",
        Some(1),
        Number(Some("check intervals")),
    ),
    of(
        "d92998c2-6a48-49ca-85d4-8cceec294570",
        "SHORTTHREADRUNTIMETHRESHOLD",
        "Short-running thread threshold",
        None,
        Number(Some("us")),
    ),
    of(
        "dfd10d17-d5eb-45dd-877a-9a34ddd15c82",
        "CPDECREASETIME",
        "Core parking decrease time",
        None,
        Number(Some("check intervals")),
    ),
    of(
        "e0007330-f589-42ed-a401-5ddb10e785d3",
        "DISTRIBUTEUTIL",
        "Utility distribution",
        None,
        Names(SWITCH),
    ),
    of(
        "ea062031-0e34-4ff1-9b6d-eb1059334028",
        "CPMAXCORES",
        "Processor performance core parking max cores",
        Some(0),
        Number(Some("%")),
    ),
    of(
        "ea062031-0e34-4ff1-9b6d-eb1059334029",
        "CPMAXCORES1",
        "Processor performance core parking max cores for efficiency class 1",
        Some(1),
        Number(Some("%")),
    ),
    of(
        "f735a673-2066-4f80-a0c5-ddee0cf1bf5d",
        "CPHEADROOM",
        "Core parking concurrency headroom threshold",
        None,
        Number(Some("%")),
    ),
    of(
        "f8861c27-95e7-475c-865b-13c0cb3f9d6b",
        "HETERODECREASETHRESHOLD",
        "Heterogeneous decrease thresholds",
        Some(0),
        Packed("%"),
    ),
    of(
        "f8861c27-95e7-475c-865b-13c0cb3f9d6c",
        "HETERODECREASETHRESHOLD1",
        "Heterogeneous decrease thresholds for efficiency class 1",
        Some(1),
        Packed("%"),
    ),
    of(
        "fddc842b-8364-4edc-94cf-c17f60de1c80",
        "HETEROCLASS0FLOORPERF",
        "Floor performance for class-0 processors when class-1 processors are unparked",
        None,
        Number(Some("%")),
    ),
    // Not of the processor, but what the processor's settings come from.
    of("245d8541-3943-4422-b025-13a784f679b7", "", "Base power scheme", None, Values::Scheme),
    of("31f9f286-5084-42fe-b720-2b0264993763", "", "Active power scheme", None, Values::Scheme),
];

/// Schemes, by GUID.
pub static SCHEMES: &[(&str, &str)] = &[
    ("381b4222-f694-41f0-9685-ff5bb260df2e", "Balanced"),
    ("8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c", "High performance"),
    ("a1841308-3541-4fab-bc81-f71556f20b4a", "Power saver"),
    ("e9a42b02-d5df-448d-aa00-03f14749eb61", "Ultimate performance"),
];

/// Overlays, by GUID.
pub static OVERLAYS: &[(&str, &str)] = &[
    ("00000000-0000-0000-0000-000000000000", "None"),
    ("3af9b8d9-7c97-431d-ad78-34a8bfea439f", "Better performance"),
    ("961cc777-2547-4f9d-8174-7d86181b8a7a", "Best power efficiency"),
    ("ded574b5-45a0-4f42-8737-46345c09c238", "Best performance"),
];

/// SYSTEM_POWER_STATE: what a machine sleeps in.
pub static SYSTEM_STATES: &[Name] = &[
    (1, "S0 (working)"),
    (2, "S1 (sleep)"),
    (3, "S2 (sleep)"),
    (4, "S3 (sleep)"),
    (5, "S4 (hibernate)"),
    (6, "S5 (shutdown)"),
];

/// The setting with this GUID, in lower case.
pub fn setting(guid: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.guid == guid)
}

fn named(list: &[(&str, &'static str)], guid: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == guid).map(|(_, name)| *name)
}

/// Name of a scheme.
pub fn scheme(guid: &str) -> Option<&'static str> {
    named(SCHEMES, guid)
}

/// Name of an overlay.
pub fn overlay(guid: &str) -> Option<&'static str> {
    named(OVERLAYS, guid)
}

/// Name of a number in a list.
pub fn name_of(list: &[Name], value: i64) -> Option<&'static str> {
    list.iter().find(|(number, _)| i64::from(*number) == value).map(|(_, name)| *name)
}

/// The number in a value's bytes; `None` where they are none.
pub fn number(data: &[u8]) -> Option<u64> {
    match data.len() {
        1 | 2 | 4 | 8 => {
            Some(data.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
        }
        _ => None,
    }
}

/// How the value of a setting reads; `None` where it is not known how, or is not among the known ones.
pub fn value_text(setting: &Setting, data: &[u8]) -> Option<String> {
    match setting.values {
        Names(list) => {
            let value = i64::try_from(number(data)?).ok()?;
            name_of(list, value).map(str::to_owned)
        }
        Limit(_) if number(data)? == 0 => Some("No limit".to_owned()),
        Number(unit) | Limit(unit) => {
            let value = number(data)?;
            Some(unit.map_or_else(|| value.to_string(), |unit| format!("{value} {unit}")))
        }
        Packed(unit) => match data {
            [a, b, c, d] => Some(format!("{a},{b},{c},{d} {unit}")),
            _ => None,
        },
        Values::Scheme => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_differ_in_the_last_digit_and_settings_are_there_once() {
        for class_1 in SETTINGS.iter().filter(|s| s.efficiency_class == Some(1)) {
            let number = |guid: &str| u128::from_str_radix(&guid.replace('-', ""), 16).unwrap();
            let alias = class_1.alias.strip_suffix('1').unwrap();
            let class_0 = SETTINGS.iter().find(|s| s.alias == alias).unwrap();
            assert_eq!(class_0.efficiency_class, Some(0));
            assert_eq!(number(class_0.guid) + 1, number(class_1.guid), "{alias}");
            assert_eq!(class_0.values, class_1.values);
        }
        let mut guids: Vec<&str> = SETTINGS.iter().map(|s| s.guid).collect();
        guids.sort_unstable();
        guids.dedup();
        assert_eq!(guids.len(), SETTINGS.len());
        assert!(SETTINGS.iter().filter(|s| !s.alias.is_empty()).count() >= 75);
    }

    #[test]
    fn values_read_as_people_write_them() {
        let text = |alias: &str, data: &[u8]| {
            value_text(SETTINGS.iter().find(|s| s.alias == alias).unwrap(), data)
        };
        let word = |value: u32| value.to_le_bytes();
        assert_eq!(text("SCHEDPOLICY", &word(5)).as_deref(), Some("Automatic"));
        assert_eq!(text("SCHEDPOLICY", &word(6)), None);
        assert_eq!(text("PERFEPP", &word(60)).as_deref(), Some("60 %"));
        assert_eq!(text("IDLECHECK", &word(5000)).as_deref(), Some("5000 us"));
        assert_eq!(
            text("HETEROINCREASETHRESHOLD", &[60, 50, 40, 30]).as_deref(),
            Some("60,50,40,30 %")
        );
        assert_eq!(text("PERFEPP", &[1, 2, 3]), None);
        assert_eq!(text("PROCFREQMAX1", &word(0)).as_deref(), Some("No limit"));
        assert_eq!(text("PROCFREQMAX1", &word(2400)).as_deref(), Some("2400 MHz"));
        assert_eq!(scheme("381b4222-f694-41f0-9685-ff5bb260df2e"), Some("Balanced"));
    }
}
