//! Lacuna's daemon and an echo, as children: the libraries that the binary is made of, with its defaults.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lacuna_engine::{Journal, Options};
use lacuna_nats::{Access, Bounds, FeedOptions};
use lacuna_verbs::{Service, Settings};

use crate::Failure;
use crate::child::{Running, say_ready, wait_for_end};

/// How long the daemon may take for what is in flight when it is told to stop.
const DEADLINE: Duration = Duration::from_secs(20);

/// What the daemon is started with.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Daemon {
    /// The broker
    #[arg(long)]
    url: String,
    /// The journal's folder
    #[arg(long)]
    journal: PathBuf,
    /// Publish events
    #[arg(long)]
    feed: bool,
}

/// Starts the daemon, and waits until it answers.
pub(crate) fn start(url: &str, journal: &Path, feed: bool) -> Result<Running, Failure> {
    let mut args = vec!["daemon".into(), "--url".into(), url.into(), "--journal".into()];
    args.push(journal.as_os_str().to_owned());
    if feed {
        args.push("--feed".into());
    }
    let mut child = Running::start(args)?;
    child.ready()?;
    Ok(child)
}

/// In the child: serves until told to end.
pub(crate) fn run(args: Daemon) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(lacuna_nats::worker_threads())
        .enable_all()
        .build()?;
    runtime.block_on(runtime.spawn(serve(args)))?
}

async fn serve(args: Daemon) -> Result<(), Failure> {
    let journal = Arc::new(Journal::open(&args.journal, Options::default())?);
    let client = lacuna_nats::connect(&Access::new(&args.url, "lacuna")).await?;
    let service = Service::new(Arc::clone(&journal), Settings::default());
    let serving = lacuna_nats::serve(client.clone(), service.clone(), Bounds::default()).await?;
    let relay = args.feed.then(|| {
        let options = FeedOptions {
            max_age: Duration::from_secs(86_400),
            max_bytes: 8 << 30,
            place: args.journal.join("journal.feed"),
        };
        let relay = lacuna_nats::relay(client, Arc::clone(&journal), options);
        service.tells_feed(relay.teller(&journal));
        relay
    });
    say_ready();
    tokio::task::spawn_blocking(wait_for_end).await?;
    serving.stop(DEADLINE).await;
    if let Some(relay) = relay {
        relay.stop(DEADLINE).await;
    }
    journal.close()?;
    Ok(())
}

/// Starts an echo: what a request and its reply cost without anything in between.
pub(crate) fn start_echo(url: &str) -> Result<Running, Failure> {
    let mut child = Running::start(["echo", "--url", url])?;
    child.ready()?;
    Ok(child)
}

/// In the child: sends back what comes.
pub(crate) async fn echo(url: &str) -> Result<(), Failure> {
    let client = lacuna_nats::connect(&Access::new(url, "echo")).await?;
    let mut requests = client.subscribe("echo").await?;
    client.flush().await?;
    say_ready();
    let end = tokio::task::spawn_blocking(wait_for_end);
    tokio::pin!(end);
    loop {
        tokio::select! {
            Some(request) = requests.next() => {
                if let Some(reply) = request.reply {
                    client.publish(reply, request.payload).await?;
                }
            }
            ended = &mut end => return Ok(ended?),
        }
    }
}
