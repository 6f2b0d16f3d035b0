//! `image`: loaded modules.

use crate::table::table;

table! {
    /// One row per module mapped into a process, or into the kernel.
    image {
        /// Key of the mapping, unique within the trace.
        image_key: I64,
        /// Process. NULL: the kernel, or a process that no event names.
        process_key: Opt<I64>,
        /// Load address.
        base: U64,
        /// Size in bytes.
        size: I64,
        /// Load. NULL: before the trace.
        load_ts_ns: Opt<I64>,
        /// Unload. NULL: after the trace.
        unload_ts_ns: Opt<I64>,
        /// Path as recorded.
        path: Text,
        /// Path with a drive letter, through the trace's volume mapping. NULL: no mapping fits.
        dos_path: Opt<Text>,
        /// File name.
        name: Text,
        /// TimeDateStamp of the PE header. NULL: unknown.
        timestamp: Opt<I64>,
        /// Checksum of the PE header. NULL: unknown.
        checksum: Opt<I64>,
        /// File name of the PDB as recorded. NULL: the trace was not merged, or the image has none.
        pdb_name: Opt<Text>,
        /// GUID of the PDB, lower case. NULL: unknown.
        pdb_guid: Opt<Text>,
        /// Age of the PDB. NULL: unknown.
        pdb_age: Opt<I64>,
        /// File version. NULL: unknown.
        file_version: Opt<Text>,
        /// Company name of the version resource. NULL: unknown.
        company: Opt<Text>,
        /// Product name of the version resource. NULL: unknown.
        product: Opt<Text>,
        /// File description of the version resource. NULL: unknown.
        description: Opt<Text>,
        /// Original file name of the version resource or PE image id. NULL: unknown.
        original_name: Opt<Text>,
    }
}
