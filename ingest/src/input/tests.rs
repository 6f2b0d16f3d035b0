//! Inputs from outside: what arguments come to, and the bytes that come out.
