//! Texts in all dialects at once.

#![no_main]

use clada::reply::dialect::Dialect;

libfuzzer_sys::fuzz_target!(|data: &[u8]| clada_fuzz::scan(data, &Dialect::ALL));
