//! The daemon's configuration: defaults compiled in, then the file, then environment and flags.

mod entrance;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lacuna_core::Limits;
use lacuna_core::retention::Period;
use lacuna_engine::{Options, RunLimit, ScrubOptions};
use lacuna_nats::{Bounds, BrokerUrl, FeedOptions};
use lacuna_verbs::Settings;
use serde::Deserialize;
use toml::{Table, Value};

use self::entrance::NatsConfig;
use crate::args::Global;
use crate::failure::Failure;
use crate::stores::{ProbeConfig, StoreConfig, StoresConfig};

const DEFAULTS: &str = include_str!("../../../ops/config/lacuna.toml");

/// The configuration in force. Each field is described in `ops/config/lacuna.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) journal: JournalConfig,
    pub(crate) nats: NatsConfig,
    writer: WriterConfig,
    service: ServiceConfig,
    limits: LimitsConfig,
    uploads: UploadsConfig,
    retention: RetentionConfig,
    backup: BackupConfig,
    #[serde(default)]
    stores: BTreeMap<String, StoreConfig>,
    probe: ProbeConfig,
    scrub: ScrubConfig,
    checkpoint: CheckpointConfig,
    feed: FeedConfig,
    stop: StopConfig,
    pub(crate) log: LogConfig,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalConfig {
    pub(crate) dir: PathBuf,
    cache_mib: usize,
    cached_spans: usize,
    keep_free_mib: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriterConfig {
    queue_commands: usize,
    queue_mib: usize,
    batch_commands: usize,
    batch_mib: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceConfig {
    in_flight: usize,
    in_flight_mib: usize,
    readers: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsConfig {
    spans_per_append: usize,
    span_mib: u64,
    spans_per_directive: usize,
    claim_kib: usize,
    label_kib: usize,
    remark_kib: usize,
    window_mib: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct UploadsConfig {
    mib: u64,
    ttl_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RetentionConfig {
    #[serde(deserialize_with = "period")]
    every: Period,
    limit_spans: u64,
    limit_percent: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackupConfig {
    root: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScrubConfig {
    bytes_per_second: u64,
    every: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointConfig {
    #[serde(deserialize_with = "period")]
    every: Period,
    key: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeedConfig {
    #[serde(deserialize_with = "period")]
    max_age: Period,
    max_mib: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopConfig {
    deadline_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogConfig {
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Config {
    /// The configuration that a file, the environment and the flags make together, and its text.
    pub(crate) fn load(file: Option<&Path>, global: &Global) -> Result<(Self, String), Failure> {
        let mut table: Table = toml::from_str(DEFAULTS)
            .map_err(|error| Failure::Other(format!("the built-in defaults: {error}")))?;
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(Failure::io(format!("reading {}", path.display())))?;
            let given: Table = toml::from_str(&text)
                // Not with the line that it is about: a password may stand in it.
                .map_err(|error| {
                    let at = error.span().map_or(0, |span| text[..span.start].lines().count());
                    let why = error.message();
                    Failure::Usage(format!("{}, near line {at}: {why}", path.display()))
                })?;
            overlay(&mut table, given);
        }
        let mut set = |section: &str, key: &str, value: String| {
            if let Some(Value::Table(section)) = table.get_mut(section) {
                section.insert(key.to_owned(), Value::String(value));
            }
        };
        if let Some(dir) = &global.journal {
            set("journal", "dir", dir.display().to_string());
        }
        if let Some(Value::Table(nats)) = table.get_mut("nats") {
            entrance::overlay(nats, &global.broker);
        }
        let mut shown = table.clone();
        redact(&mut shown);
        let text = toml::to_string(&shown).map_err(|error| Failure::Other(error.to_string()))?;
        let config: Self = table.try_into().map_err(|error: toml::de::Error| {
            let place = file.map_or("the configuration".into(), |path| path.display().to_string());
            Failure::Usage(format!("{place}: {error}; ops/config/lacuna.toml lists all settings"))
        })?;
        config.check()?;
        Ok((config, text))
    }

    fn check(&self) -> Result<(), Failure> {
        // Enough for any machine, and never too much to allocate for.
        const MOST: usize = 1_000_000;
        let positive = [
            ("journal.cache_mib", self.journal.cache_mib),
            ("journal.cached_spans", self.journal.cached_spans),
            ("writer.queue_commands", self.writer.queue_commands),
            ("writer.queue_mib", self.writer.queue_mib),
            ("writer.batch_commands", self.writer.batch_commands),
            ("writer.batch_mib", self.writer.batch_mib),
            ("service.in_flight", self.service.in_flight),
            ("service.in_flight_mib", self.service.in_flight_mib),
            ("service.readers", self.service.readers),
            ("limits.spans_per_append", self.limits.spans_per_append),
            ("limits.spans_per_directive", self.limits.spans_per_directive),
        ];
        for (name, value) in positive {
            if value == 0 || value > MOST {
                return Err(Failure::Usage(format!("{name} must be 1 to {MOST}")));
            }
        }
        if self.retention.limit_percent > 100 {
            return Err(Failure::Usage("retention.limit_percent must be 0 to 100".into()));
        }
        const MAX_SPAN_MIB: u64 = 1_024;
        if self.limits.span_mib == 0 || self.limits.span_mib > MAX_SPAN_MIB {
            return Err(Failure::Usage(format!("limits.span_mib must be 1 to {MAX_SPAN_MIB}")));
        }
        const MAX_FEED_MIB: u64 = 1 << 30;
        if self.feed.max_mib == 0 || self.feed.max_mib > MAX_FEED_MIB {
            return Err(Failure::Usage(format!("feed.max_mib must be 1 to {MAX_FEED_MIB}")));
        }
        // The broker takes no shorter one, and no longer one.
        const AGES: std::ops::RangeInclusive<u64> = 1_000..=36_500 * 86_400_000;
        if !AGES.contains(&self.feed.max_age.0) {
            return Err(Failure::Usage("feed.max_age must be 1s to 36500d".into()));
        }
        self.scrub()?;
        self.stores().check()
    }

    /// How the scrub reads; none if it is switched off.
    fn scrub(&self) -> Result<Option<ScrubOptions>, Failure> {
        let every: Period = self
            .scrub
            .every
            .parse()
            .map_err(|error| Failure::Usage(format!("scrub.every: {error}")))?;
        if every.0 == 0 {
            let why = "must be longer than nothing; bytes_per_second = 0 switches the scrub off";
            return Err(Failure::Usage(format!("scrub.every {why}")));
        }
        let bytes_per_second = self.scrub.bytes_per_second;
        let every = Duration::from_millis(every.0);
        Ok((bytes_per_second > 0).then_some(ScrubOptions { bytes_per_second, every }))
    }

    /// The external stores.
    pub(crate) fn stores(&self) -> StoresConfig<'_> {
        StoresConfig { named: &self.stores, probe: &self.probe }
    }

    /// How the engine runs; the external stores are not among it, for buckets need a runtime.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options {
            limits: Limits {
                spans_per_append: self.limits.spans_per_append,
                span_bytes: self.limits.span_mib << 20,
                spans_per_directive: self.limits.spans_per_directive,
                claim_bytes: self.limits.claim_kib << 10,
                label_bytes: self.limits.label_kib << 10,
                remark_bytes: self.limits.remark_kib << 10,
            },
            queue_commands: self.writer.queue_commands,
            queue_bytes: self.writer.queue_mib << 20,
            batch_commands: self.writer.batch_commands,
            batch_bytes: self.writer.batch_mib << 20,
            cached_spans: self.journal.cached_spans,
            keep_free: self.journal.keep_free_mib.saturating_mul(1 << 20),
            // Checked when it was loaded.
            scrub: self.scrub().ok().flatten(),
            signing_key: Some(self.checkpoint.key.clone())
                .filter(|key| !key.as_os_str().is_empty()),
            run_limit: RunLimit {
                spans: self.retention.limit_spans,
                share_ppm: self.retention.limit_percent * 10_000,
            },
            ..Options::default()
        };
        options.store.cache_bytes = self.journal.cache_mib << 20;
        options
    }

    /// How the verbs behave.
    pub(crate) fn settings(&self) -> Settings {
        let root = if self.backup.root.as_os_str().is_empty() {
            let mut name = self.journal.dir.as_os_str().to_owned();
            name.push("-backups");
            PathBuf::from(name)
        } else {
            self.backup.root.clone()
        };
        Settings {
            upload_bytes: self.uploads.mib << 20,
            upload_ttl: Duration::from_secs(self.uploads.ttl_seconds),
            span_bytes: self.limits.span_mib << 20,
            window_bytes: self.limits.window_mib << 20,
            backup_root: Some(root),
            backup_anywhere: false,
        }
    }

    /// How much the service takes on at a time.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds {
            in_flight: self.service.in_flight,
            in_flight_bytes: self.service.in_flight_mib << 20,
            readers: self.service.readers,
        }
    }

    /// How the feed is kept.
    pub(crate) fn feed(&self) -> FeedOptions {
        FeedOptions {
            max_age: Duration::from_millis(self.feed.max_age.0),
            max_bytes: self.feed.max_mib << 20,
            place: self.journal.dir.join("journal.feed"),
        }
    }

    /// How often policies run; zero: only when asked.
    pub(crate) fn retention_every(&self) -> Duration {
        Duration::from_millis(self.retention.every.0)
    }

    /// How often checkpoints are signed; zero: only when asked.
    pub(crate) fn checkpoint_every(&self) -> Duration {
        Duration::from_millis(self.checkpoint.every.0)
    }

    /// How long a stopping daemon waits for requests in flight.
    pub(crate) fn deadline(&self) -> Duration {
        Duration::from_secs(self.stop.deadline_seconds)
    }
}

/// Reads a duration as policies have them.
fn period<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Period, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

fn overlay(base: &mut Table, given: Table) {
    for (key, value) in given {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(given)) => overlay(base, given),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Hides user and password in the broker's URLs.
fn redact(table: &mut Table) {
    let Some(Value::Table(nats)) = table.get_mut("nats") else { return };
    let Some(Value::String(urls)) = nats.get_mut("url") else { return };
    let one = |url: &str| {
        let shown = BrokerUrl::from(url).to_string();
        match shown == url.trim() {
            true => shown,
            false => match shown.split_once("://") {
                Some((scheme, host)) => format!("{scheme}://***@{host}"),
                None => format!("***@{shown}"),
            },
        }
    };
    *urls = urls.split(',').map(one).collect::<Vec<_>>().join(",");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Broker;

    fn global(nats: Option<&str>) -> Global {
        Global {
            broker: Broker { nats: nats.map(BrokerUrl::from), ..Broker::default() },
            journal: None,
            tenant: "default".into(),
            principal: "cli".into(),
            session: None,
            json: false,
        }
    }

    fn load(text: &str) -> Result<(Config, String), Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Config::load(Some(file.path()), &global(None))
    }

    #[test]
    fn defaults_are_those_of_the_libraries() {
        let (config, _) = Config::load(None, &global(None)).unwrap();
        assert_eq!(config.options().limits, Limits::default());
        assert_eq!(config.options().queue_bytes, Options::default().queue_bytes);
        assert_eq!(config.options().store.cache_bytes, Options::default().store.cache_bytes);
        assert_eq!(config.options().run_limit, RunLimit::default());
        assert_eq!(config.bounds().in_flight, Bounds::default().in_flight);
        assert_eq!(config.settings().upload_bytes, Settings::default().upload_bytes);
    }

    #[test]
    fn a_file_overrides_only_what_it_names() {
        let (config, _) = load("[writer]\nbatch_mib = 2\n").unwrap();
        assert_eq!(config.options().batch_bytes, 2 << 20);
        assert_eq!(config.options().batch_commands, 2_048);
    }

    #[test]
    fn unknown_keys_wrong_types_and_zeros_are_refused() {
        for (text, says) in [
            ("[writer]\nbatch_mb = 2\n", "batch_mb"),
            ("[wrter]\n", "wrter"),
            ("[writer]\nbatch_mib = \"2\"\n", "invalid type"),
            ("[writer]\nbatch_mib = 0\n", "writer.batch_mib"),
            ("[log]\nformat = \"xml\"\n", "xml"),
            ("[limits]\nspan_mib = 5000\n", "limits.span_mib"),
            ("[retention]\nevery = \"1y\"\n", "1y"),
            ("[checkpoint]\nevery = \"often\"\n", "often"),
            ("[retention]\nlimit_percent = 101\n", "retention.limit_percent"),
            ("[feed]\nmax_age = \"0s\"\n", "feed.max_age"),
            ("[feed]\nmax_mib = 0\n", "feed.max_mib"),
            ("writer = 3\n", "writer"),
            ("[probe]\ntimeout_ms = 0\n", "probe.timeout_ms"),
            ("[probe]\ntimeout_ms = 61000\n", "probe.timeout_ms"),
            ("[stores.a]\nkind = \"tape\"\n", "tape"),
            ("[stores.a]\nkind = \"folder\"\npath = \"/x\"\n", "tells_removed"),
            ("[stores.a]\nkind = \"folder\"\npaht = \"/x\"\ntells_removed = true\n", "paht"),
            ("[stores.a]\nkind = \"folder\"\npath = \"\"\ntells_removed = true\n", "path"),
            (
                "[stores.journal]\nkind = \"folder\"\npath = \"/x\"\ntells_removed = true\n",
                "journal",
            ),
            ("[stores.\"a b\"]\nkind = \"folder\"\npath = \"/x\"\ntells_removed = true\n", "a b"),
            ("[stores.a]\nkind = \"bucket\"\nbucket = \"a.b\"\ntells_removed = true\n", "a.b"),
            ("[stores]\na = 1\n", "stores"),
            ("[scrub]\nevery = \"soon\"\n", "scrub.every"),
            ("[scrub]\nevery = \"0s\"\n", "scrub.every"),
            ("[scrub]\nbytes_per_second = -1\n", "invalid value"),
            ("[", "expected"),
        ] {
            let message = load(text).unwrap_err().to_string();
            assert!(message.contains(says), "{text:?}: {message}");
        }
    }

    #[test]
    fn the_scrub_runs_unless_it_is_switched_off() {
        let (config, _) = load("").unwrap();
        let every = Duration::from_secs(7 * 86_400);
        let scrub = ScrubOptions { bytes_per_second: 1 << 20, every };
        assert_eq!(config.options().scrub, Some(scrub));
        let (config, _) = load("[scrub]\nbytes_per_second = 0\n").unwrap();
        assert_eq!(config.options().scrub, None);
    }

    #[test]
    fn stores_are_those_of_the_file_and_missing_folders_are_found() {
        let (config, dump) = load(
            "[stores.logs]\nkind = \"folder\"\npath = \"/no/such\"\ntells_removed = false\n\
             [stores.archive]\nkind = \"bucket\"\nbucket = \"spans\"\ntells_removed = true\n",
        )
        .unwrap();
        let [missing] = config.stores().missing().try_into().unwrap();
        assert!(missing.contains("stores.logs.path: there is no folder /no/such"), "{missing}");
        assert!(dump.contains("[stores.archive]"), "{dump}");
        let (none, _) = load("").unwrap();
        assert!(none.stores().named.is_empty());
    }

    #[test]
    fn a_dump_hides_secrets() {
        let url = Some("nats://me:secret@host:4222");
        let (config, dump) = Config::load(None, &global(url)).unwrap();
        assert_eq!(config.nats.url.as_str(), "nats://me:secret@host:4222");
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        assert!(dump.contains("nats://***@host:4222"), "{dump}");
        assert!(!dump.contains("secret"), "{dump}");
        for (url, shown) in [
            ("me:secret@h", "***@h"),
            ("tls://a:secret@h, nats://c:secret@h2", "tls://***@h,nats://***@h2"),
        ] {
            let (_, dump) = Config::load(None, &global(Some(url))).unwrap();
            assert!(dump.contains(&format!("\"{shown}\"")) && !dump.contains("secret"), "{dump}");
        }
        let error = load("[nats]\nurl = \"nats://me:secret@h:4222\n").unwrap_err().to_string();
        assert!(error.contains("near line") && !error.contains("secret"), "{error}");
    }
}
