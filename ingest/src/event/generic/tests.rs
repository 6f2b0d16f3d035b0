//! Byte-level tests of the whole module.
