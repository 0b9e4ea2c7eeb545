//! Writes `docs/reference/keys.md`: `cargo run -p flowloom --example keys_page > docs/reference/keys.md`; with the argument `registry`
//! `docs/reference/registry.md`.
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("registry") => print!("{}", flowloom::registry_page()),
        _ => print!("{}", flowloom::experiment::keys_page()),
    }
}
