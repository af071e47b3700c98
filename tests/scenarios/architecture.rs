//! The house's rules that a compiler does not keep: which crate may know which, what lies at the
//! top, and how long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::rig::repository;

/// The arrows: a crate and which of ours it may depend on.
const ARROWS: [(&str, &[&str]); 10] = [
    ("core", &[]),
    ("codec", &["core"]),
    ("store", &["core", "codec"]),
    ("engine", &["core", "codec", "store"]),
    ("wire", &["core"]),
    ("verbs", &["core", "engine", "wire"]),
    ("nats", &["core", "engine", "wire", "verbs"]),
    ("client", &["wire"]),
    ("transcript", &["core"]),
    (
        "lacuna",
        &["core", "codec", "store", "engine", "wire", "verbs", "nats", "client", "transcript"],
    ),
];

/// Libraries that only these crates may use: they hide them from the others.
const FENCES: [(&str, &[&str]); 5] = [
    ("redb", &["store"]),
    ("async-nats", &["nats", "client", "bench"]),
    ("bincode", &["codec"]),
    ("chacha20poly1305", &["codec"]),
    ("ed25519-dalek", &["codec"]),
];

const LONGEST_FILE: usize = 500;

const TOP: [&str; 10] = [
    "Cargo.toml",
    "Cargo.lock",
    "crates",
    "schemas",
    "ops",
    "tests",
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "rust-toolchain.toml",
];
/// What building and serving leave there.
const LEFT_BEHIND: [&str; 2] = ["target", "lacuna-data"];

/// A crate's manifest.
fn manifest(folder: &Path) -> Table {
    let path = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The crates by the name of their folder.
fn crates() -> BTreeMap<String, Table> {
    let folders = std::fs::read_dir(repository().join("crates")).unwrap();
    let crates = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    crates
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), manifest(&path)))
        .collect()
}

/// The names in the tables of this kind, those of single platforms too.
fn dependencies(manifest: &Table, kind: &str) -> BTreeSet<String> {
    let mut tables = vec![manifest.get(kind)];
    if let Some(Value::Table(targets)) = manifest.get("target") {
        tables.extend(targets.values().map(|target| target.get(kind)));
    }
    let named = |(name, value): (&String, &Value)| {
        // A dependency may go by another name than its package.
        value.get("package").and_then(Value::as_str).unwrap_or(name).to_owned()
    };
    tables.into_iter().flatten().filter_map(Value::as_table).flatten().map(named).collect()
}

/// Of a crate's dependencies those that are ours, by the name of their folder.
fn ours(names: &BTreeSet<String>) -> BTreeSet<&str> {
    names
        .iter()
        .filter_map(|name| name.strip_prefix("lacuna-"))
        .chain(names.contains("lacuna").then_some("lacuna"))
        .collect()
}

#[test]
fn arrows_point_where_the_house_says() {
    let crates = crates();
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    for (name, manifest) in &crates {
        let package = if name == "lacuna" { name.clone() } else { format!("lacuna-{name}") };
        assert_eq!(manifest["package"]["name"].as_str(), Some(package.as_str()));
        if name == "bench" {
            continue;
        }
        let allowed = arrows.get(name.as_str());
        let allowed = allowed.unwrap_or_else(|| panic!("crates/{name} is not in the table"));
        // What a crate's own tests use is bound by the same arrows, or they would hide one.
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for other in ours(&dependencies(manifest, kind)) {
                assert!(allowed.contains(&other), "{kind} of {name}: {other} is not allowed");
            }
        }
    }
    for name in arrows.keys() {
        assert!(crates.contains_key(*name), "there is no crates/{name}");
    }
}

#[test]
fn libraries_stay_behind_their_fences() {
    for (name, manifest) in crates() {
        let used = dependencies(&manifest, "dependencies");
        let built = dependencies(&manifest, "build-dependencies");
        for (library, allowed) in FENCES {
            let uses = used.contains(library) || built.contains(library);
            assert!(!uses || allowed.contains(&name.as_str()), "{name} uses {library}");
        }
    }
    // The fences would fall silent if a library were renamed: each must still hold something.
    let all = crates();
    for (library, allowed) in FENCES {
        for name in allowed {
            let used = dependencies(&all[*name], "dependencies");
            assert!(used.contains(library), "{name} does not use {library} any more");
        }
    }
}

#[test]
fn the_domain_is_pure() {
    // Neither runtime nor I/O, nor logging.
    let banned = ["tokio", "async-nats", "redb", "tracing", "log", "rustix", "rand", "getrandom"];
    let used = dependencies(&crates()["core"], "dependencies");
    for library in banned {
        assert!(!used.contains(library), "core uses {library}");
    }
}

#[test]
fn members_share_one_set_of_rules() {
    for (name, manifest) in crates() {
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{name}");
        for field in ["version", "edition", "rust-version", "license"] {
            assert_eq!(
                manifest["package"][field]["workspace"].as_bool(),
                Some(true),
                "{name} {field}"
            );
        }
    }
    let workspace = manifest(repository());
    let lints = &workspace["workspace"]["lints"];
    assert_eq!(lints["rust"]["unsafe_code"].as_str(), Some("forbid"));
    // Bytes on disk hang on these.
    let pinned = |name: &str| {
        let value = &workspace["workspace"]["dependencies"][name];
        value.as_str().or_else(|| value["version"].as_str()).unwrap().to_owned()
    };
    assert_eq!((pinned("bincode").as_str(), pinned("redb").as_str()), ("=2.0.1", "=4.6.0"));
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    let mut found = Vec::new();
    sources(&repository().join("crates"), &mut found);
    sources(&repository().join("tests"), &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let long: Vec<String> = found
        .iter()
        .map(|path| (path, std::fs::read_to_string(path).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| {
            format!("{}: {lines}", path.strip_prefix(repository()).unwrap().display())
        })
        .collect();
    assert!(long.is_empty(), "over {LONGEST_FILE} lines:\n{}", long.join("\n"));
}

#[test]
fn the_top_is_what_the_house_says() {
    let found: BTreeSet<String> = std::fs::read_dir(repository())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.') && !LEFT_BEHIND.contains(&name.as_str()))
        .collect();
    let expected: BTreeSet<String> = TOP.iter().map(|&name| name.to_owned()).collect();
    let odd: Vec<_> = found.difference(&expected).collect();
    assert!(odd.is_empty(), "does not belong at the top: {odd:?}");
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(missing.is_empty(), "missing at the top: {missing:?}");
}
