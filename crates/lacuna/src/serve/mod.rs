//! The daemon: journal, broker, service, and their end.

mod broker;
mod checkpoint;

use std::sync::Arc;
use std::time::Duration;

use lacuna_engine::{CheckpointClock, Journal, Options, RetentionClock};
use lacuna_nats::{Access, Buckets, ConnectError};
use lacuna_verbs::Service;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{Global, Serve};
use crate::backend::DEFAULT_NATS;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::telemetry;

/// How often the daemon looks whether its journal still writes.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// Runs the daemon until a signal or a failure of the journal.
pub(crate) fn run(global: &Global, args: &Serve) -> Result<Exit, Failure> {
    let (config, dump) = Config::load(args.config.as_deref(), global)?;
    if args.dump_config {
        anstream::print!("{dump}");
        return Ok(Exit::Done);
    }
    let missing = config.stores().missing();
    if args.check {
        config.nats.access(config.nats.url.clone()).keys.check()?;
        if !missing.is_empty() {
            return Err(Failure::Usage(missing.join("\n")));
        }
        anstream::println!("the configuration is valid");
        return Ok(Exit::Done);
    }
    telemetry::start(&config.log)?;
    for what in missing {
        // The rest of the journal is worth serving; what lies there is answered `unavailable`.
        tracing::warn!("{what}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(lacuna_nats::worker_threads())
        .enable_all()
        .build()
        .map_err(Failure::io("starting the runtime"))?;
    let buckets = Buckets::new(runtime.handle().clone());
    let options = Options { stores: config.stores().stores(&buckets), ..config.options() };
    let journal = Arc::new(Journal::open(&config.journal.dir, options)?);
    let head = journal.head();
    tracing::info!(
        journal = journal.id(),
        dir = %config.journal.dir.display(),
        seq = head.seq,
        "the journal is open"
    );
    let clock = RetentionClock::start(Arc::clone(&journal), config.retention_every());
    let outcome = runtime.block_on(serve(&config, Arc::clone(&journal), &buckets));
    // Blocking readers hold the journal only for one question; they are not waited for long.
    runtime.shutdown_timeout(Duration::from_secs(2));
    let closed = journal.close()?;
    drop(clock);
    tracing::info!(seq = closed.seq, "the journal is closed");
    outcome
}

async fn serve(config: &Config, journal: Arc<Journal>, buckets: &Buckets) -> Result<Exit, Failure> {
    let mut signals = Signals::new().map_err(Failure::io("listening for signals"))?;
    let (access, private) = tokio::select! {
        found = find_broker(config) => found?,
        () = signals.recv() => return Ok(Exit::Done),
    };
    let client = lacuna_nats::connect(&access).await?;
    buckets.connected(&client);
    let service = Service::new(Arc::clone(&journal), config.settings());
    let starting = lacuna_nats::serve(client.clone(), service.clone(), config.bounds());
    let serving = tokio::select! {
        serving = starting => {
            serving.map_err(|error| Failure::Other(format!("subscribing: {error}")))?
        }
        () = signals.recv() => return Ok(Exit::Done),
    };
    // It catches up by itself: who asks need not wait for who follows.
    let relay = lacuna_nats::relay(client, Arc::clone(&journal), config.feed());
    service.tells_feed(relay.teller(&journal));
    let announcer = relay.announcer();
    journal.on_checkpoint(Box::new(move |signed| checkpoint::announce(&announcer, signed)));
    let clock = CheckpointClock::start(Arc::clone(&journal), config.checkpoint_every());
    tracing::info!(journal = journal.id(), "ready");
    let failed = loop {
        tokio::select! {
            () = signals.recv() => break false,
            () = tokio::time::sleep(HEARTBEAT) => {
                if journal.failed() {
                    break true;
                }
            }
        }
    };
    tracing::info!("stopping; a second signal ends at once");
    let stopping = async {
        serving.stop(config.deadline()).await;
        drop(clock);
        // Nothing more is recorded: what is signed now is what the next start finds.
        if !failed && !config.checkpoint_every().is_zero() {
            checkpoint::last(&journal);
        }
        relay.stop(config.deadline()).await;
    };
    tokio::select! {
        () = stopping => {}
        () = signals.recv() => tracing::warn!("ending without waiting for requests in flight"),
    }
    if let Some(broker) = private {
        broker.stop().await;
    }
    if failed {
        return Err(Failure::Other(
            "the journal failed and takes no more writes: see the log above, then start again"
                .into(),
        ));
    }
    Ok(Exit::Done)
}

/// The broker that is configured; else the usual one; else a private one.
async fn find_broker(config: &Config) -> Result<(Access, Option<broker::Broker>), Failure> {
    let url = &config.nats.url;
    if !url.as_str().is_empty() {
        return Ok((config.nats.access(url.clone()), None));
    }
    let usual = config.nats.access(DEFAULT_NATS.into());
    match lacuna_nats::connect_once(&usual).await {
        Ok(_) => return Ok((usual, None)),
        Err(ConnectError::Away { .. }) => {}
        // There is one, and it does not let the daemon in: a second one beside it would be no help.
        Err(error) => return Err(error.into()),
    }
    let broker = broker::Broker::start(&config.journal.dir).await?;
    Ok((usual, Some(broker)))
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
