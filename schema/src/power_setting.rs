//! `power_setting`: power policy values.

use crate::table::table;

table! {
    /// One row per power setting value that the trace states. Repeated rundowns of an unchanged value are one row; a change is a row with its time.
    power_setting {
        /// When it was seen (rundown) or changed, nanoseconds since the start. A rundown says nothing about when it was set.
        ts_ns: I64,
        /// 'effective' (the kernel's value in force), 'stored_ac' or 'stored_dc' (of the active scheme), 'overlay', 'profile' and 'override' (stored for a profile, or over all schemes), or 'engine' (the processor engine's own profile view).
        source: Text,
        /// GUID of the scheme, overlay or profile. NULL: the event does not tell.
        scheme_guid: Opt<Text>,
        /// Name of the scheme, overlay or profile. NULL: unknown.
        scheme: Opt<Text>,
        /// GUID of the subgroup. NULL: the event does not tell.
        subgroup_guid: Opt<Text>,
        /// GUID of the setting.
        setting_guid: Text,
        /// powercfg alias. NULL: unknown GUID.
        alias: Opt<Text>,
        /// Readable name. NULL: unknown GUID.
        name: Opt<Text>,
        /// Efficiency class that the setting is for: 1 for the settings of class-1 cores, 0 for their twins. NULL: the setting has no such twin.
        efficiency_class: Opt<I32>,
        /// Value. NULL: the setting is no number.
        value: Opt<F64>,
        /// Readable value: enumerations by name, packed thresholds split. NULL: unknown.
        value_text: Opt<Text>,
        /// Unit of the value. NULL: none or unknown.
        unit: Opt<Text>,
        /// 'rundown' or 'change'.
        kind: Text,
        /// Whether an override is in force. NULL: the event does not tell.
        r#override: Opt<Bool>,
        /// The bytes of the value, in hex.
        raw: Text,
    }
}
