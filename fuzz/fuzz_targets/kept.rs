#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| flowloom_fuzz::run("kept", data));
