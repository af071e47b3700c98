//! Logs: to standard error, never with content of spans.

use std::io::IsTerminal as _;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt};

use crate::config::{LogConfig, LogFormat};
use crate::failure::Failure;

/// Starts logging as configured; `RUST_LOG` overrides the filter.
pub(crate) fn start(config: &LogConfig) -> Result<(), Failure> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(filter) => EnvFilter::try_new(filter),
        Err(_) => EnvFilter::try_new(&config.filter),
    };
    let filter = filter.map_err(|error| Failure::Usage(format!("log.filter: {error}")))?;
    let lines =
        fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let lines: Box<dyn tracing_subscriber::Layer<Registry> + Send + Sync> = lines;
    let started =
        Registry::default().with(lines.with_filter(filter_fn(tells_no_content))).with(filter);
    started.try_init().map_err(|error| Failure::Other(format!("starting the log: {error}")))
}

/// What the broker's client says at the level `trace` are the messages themselves, contents in them, whatever the
/// filter asks for.
fn tells_no_content(meta: &Metadata<'_>) -> bool {
    !(meta.target().starts_with("async_nats") && *meta.level() == Level::TRACE)
}
