//! Configuration files. Their reader is inside of the binary, so the binary itself is run: built without
//! fuzzing, and not measured. What it prints it reads again, and it never prints a password.
//!
//! LACUNA_BINARY names the binary; that of a debug build is taken otherwise.
#![no_main]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;
use toml::{Table, Value};

const SECRET: &str = "pa55-w0rd";

static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/debug/lacuna");
    std::env::var_os("LACUNA_BINARY").map_or_else(|| built.into(), PathBuf::from)
});

fuzz_target!(|text: &str| {
    let Some(shown) = run(text, "--dump-config") else { return };
    let again = run(&shown, "--dump-config").expect("what is shown is a configuration");
    assert_eq!(again, shown);
    run(&with_a_password(text), "--check");
});

/// The same with a password in the broker's URL, if it is no broken file.
fn with_a_password(text: &str) -> String {
    let Ok(mut table) = text.parse::<Table>() else { return text.to_owned() };
    let nats = table.entry("nats").or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(nats) = nats {
        let host = nats.get("url").and_then(Value::as_str).unwrap_or("h").replace(SECRET, "");
        nats.insert("url".to_owned(), format!("nats://user:{SECRET}@{host}").into());
    }
    let told = table.to_string();
    run(&told, "--dump-config");
    told
}

/// What it prints; none if it refuses the file.
fn run(text: &str, flag: &str) -> Option<String> {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it can be written");
    let mut ran = Command::new(&*BINARY);
    ran.env_clear().args(["serve", flag, "--config"]);
    let Output { status, stdout, stderr } = ran.arg(file.path()).output().expect("it runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(matches!(status.code(), Some(0 | 1 | 2)), "{status}: {stderr}");
    assert!(!stderr.contains("fault of ours"), "{stderr}");
    assert!(!stdout.contains(SECRET), "a password is shown: {stdout}");
    assert!(!stderr.contains(SECRET), "a password is shown: {stderr}");
    (status.code() == Some(0)).then(|| stdout.into_owned())
}
