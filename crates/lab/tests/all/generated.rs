//! The generated code is what `proto/lab.proto` makes.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let descriptors = protox::compile(["lab.proto"], [here.join("proto")]).unwrap();
    let made = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(made.path())
        .compile_fds(descriptors)
        .unwrap();
    let made = fs::read_to_string(made.path().join("flowloom.lab.v1.rs")).unwrap();
    let kept = here.join("src/rpc/flowloom.lab.v1.rs");
    if std::env::var_os("FLOWLOOM_REWRITE").is_some() {
        fs::write(&kept, &made).unwrap();
    }
    let same = fs::read_to_string(&kept).is_ok_and(|kept| kept == made);
    assert!(same, "{} is not what the .proto makes: FLOWLOOM_REWRITE=1 makes it again", kept.display());
}
