//! The external stores of the configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lacuna_engine::{FolderStore, Stores};
use lacuna_nats::Buckets;
use serde::Deserialize;

use crate::failure::Failure;

/// The longest that a store may have for an answer: whoever asks waits as long.
const LONGEST: u64 = 60_000;
const SHORTEST: u64 = 10;
/// The longest name of a store.
const NAME: usize = 64;

/// The `[stores]` and `[probe]` sections.
#[derive(Debug, Clone)]
pub(crate) struct StoresConfig<'a> {
    pub(crate) named: &'a BTreeMap<String, StoreConfig>,
    pub(crate) probe: &'a ProbeConfig,
}

/// One `[stores.NAME]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum StoreConfig {
    Folder { path: PathBuf, tells_removed: bool },
    Bucket { bucket: String, tells_removed: bool },
}

/// The `[probe]` section.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProbeConfig {
    timeout_ms: u64,
}

impl StoresConfig<'_> {
    /// Refuses what no store can be made of.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let timeout = self.probe.timeout_ms;
        if !(SHORTEST..=LONGEST).contains(&timeout) {
            let range = format!("{SHORTEST} to {LONGEST}");
            return Err(Failure::Usage(format!("probe.timeout_ms must be {range}")));
        }
        for (name, store) in self.named {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if name.is_empty() || name.len() > NAME || !name.chars().all(plain) {
                return Err(Failure::Usage(format!(
                    "stores.{name}: a store's name is 1 to {NAME} letters, digits, _ and -"
                )));
            }
            if name == "journal" {
                let why = "is where copies are that no external store holds; choose another name";
                return Err(Failure::Usage(format!("stores.{name}: journal {why}")));
            }
            match store {
                StoreConfig::Folder { path, .. } if path.as_os_str().is_empty() => {
                    return Err(Failure::Usage(format!("stores.{name}.path is empty")));
                }
                StoreConfig::Bucket { bucket, .. } if !is_bucket(bucket) => {
                    return Err(Failure::Usage(format!(
                        "stores.{name}.bucket: {bucket:?} is no name of a bucket: letters, digits, \
                         _ and -"
                    )));
                }
                StoreConfig::Folder { .. } | StoreConfig::Bucket { .. } => {}
            }
        }
        Ok(())
    }

    /// The folders that are not there, each with what to say of it.
    pub(crate) fn missing(&self) -> Vec<String> {
        let folders = self.named.iter().filter_map(|(name, store)| match store {
            StoreConfig::Folder { path, .. } if !path.is_dir() => Some((name, path)),
            StoreConfig::Folder { .. } | StoreConfig::Bucket { .. } => None,
        });
        let say = |(name, path): (&String, &PathBuf)| {
            let path = path.display();
            format!(
                "stores.{name}.path: there is no folder {path}; make or mount it, or correct it"
            )
        };
        folders.map(say).collect()
    }

    /// The stores as the engine asks them.
    pub(crate) fn stores(&self, buckets: &Buckets) -> Stores {
        let mut stores = Stores::new(Duration::from_millis(self.probe.timeout_ms));
        for (name, store) in self.named {
            match store {
                StoreConfig::Folder { path, tells_removed } => {
                    stores.add(name, Arc::new(FolderStore::new(path, *tells_removed)));
                }
                StoreConfig::Bucket { bucket, tells_removed } => {
                    stores.add(name, Arc::new(buckets.bucket(bucket, *tells_removed)));
                }
            }
        }
        stores
    }
}

/// The names that brokers take.
fn is_bucket(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.len() <= NAME && name.chars().all(plain)
}
