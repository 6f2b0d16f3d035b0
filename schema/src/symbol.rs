//! `symbol`: names found for frames, shared by all recordings of a lake.

use crate::table::table;

table! {
    /// One row per distinct place in a module for which a name was found. The one table that belongs to the lake and not to a recording (`trace_id` is 0): symbols can be added at any time.
    symbol {
        /// Identity of the module, as in `frame.module_id`.
        module_id: Text,
        /// File name of the module.
        module: Text,
        /// Address relative to the module's base.
        rva: I64,
        /// Function.
        function: Text,
        /// Bytes from the start of the function.
        function_offset: I64,
        /// Source file. NULL: not known.
        source_file: Opt<Text>,
        /// Line in the source file. NULL: not known.
        source_line: Opt<I64>,
        /// Where the name comes from: 'pdb' or 'export'.
        source: Text,
    }
}
