//! `frame`: distinct return addresses.

use crate::table::table;

table! {
    /// One row per distinct address in a process (or in the kernel) that occurs in a stack.
    frame {
        /// Id, as in `stack.frame_ids`.
        frame_id: I64,
        /// Address.
        address: U64,
        /// Whether it is a kernel address.
        is_kernel: Bool,
        /// Module mapped there at that time. NULL: none known.
        image_key: Opt<I64>,
        /// File name of the module. NULL: none known.
        module: Opt<Text>,
        /// Address relative to the module's base. NULL: no module.
        rva: Opt<I64>,
        /// Function. NULL: not resolved.
        function: Opt<Text>,
        /// Bytes from the start of the function. NULL: not resolved.
        function_offset: Opt<I64>,
        /// Identity under which symbols are looked up: PDB GUID and age as symbol servers write them, or `PE-` and the image's time stamp and size. NULL: unknown.
        module_id: Opt<Text>,
    }
}
