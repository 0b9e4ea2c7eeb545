//! Writes `docs/reference/keys.md`: `cargo run -p flowloom --example keys_page > docs/reference/keys.md`
fn main() {
    print!("{}", flowloom::experiment::keys_page());
}
