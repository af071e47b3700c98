//! The binary under test, and the runtime that scenarios run on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{Server, servers};

/// The repository's folder.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The `lacuna` binary of this very source: cargo is asked once for an up-to-date one, beside the
/// test executable, with the same profile.
pub(crate) fn lacuna() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(build)
}

fn build() -> PathBuf {
    // <target>/<profile>/deps/<this executable>
    let this = std::env::current_exe().unwrap();
    let profile = this.parent().and_then(Path::parent).unwrap();
    let target = profile.parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository()).args(["build", "--quiet", "--package", "lacuna"]);
    cargo.arg("--target-dir").arg(target);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    // What cargo tells this package about itself would make build scripts of others run again.
    for (name, _) in std::env::vars_os() {
        let told = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if told.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let built = cargo.output().expect("cargo runs, since it runs this test");
    assert!(
        built.status.success(),
        "building the binary under test failed:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let binary = profile.join("lacuna");
    assert!(binary.is_file(), "{} is not where cargo should have put it", binary.display());
    binary
}

/// Takes out of a command's environment what would set something: whoever runs the tests may have it.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy().into_owned();
        if told == "RUST_LOG"
            || (told.starts_with("LACUNA_") && !told.starts_with("LACUNA_NATS_SERVER"))
        {
            command.env_remove(name);
        }
    }
}

/// Runs a scenario once per broker release at hand; the log tells which one was on.
pub(crate) fn with_each_broker(scenario: impl AsyncFn(&Server)) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for server in servers() {
        eprintln!("with nats-server {}", server.version());
        runtime.block_on(scenario(&server));
    }
}
