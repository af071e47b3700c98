//! Object buckets of JetStream as external stores.
//!
//! The engine asks on threads that may wait; the answers are fetched on the runtime, and cut off there
//! when the time is over. The journal is open before the broker is connected: until then, and whenever
//! the broker is away, a bucket gives no answer, which is no loss.

use std::io::ErrorKind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use async_nats::connection::State;
use async_nats::jetstream::object_store::GetErrorKind;
use async_nats::{Client, jetstream};
use lacuna_engine::{Ask, ExternalStore, Found, Through, Unread};
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Objects that are read at a time, of all buckets together.
const READS: usize = 8;
/// Bytes taken at a time.
const CHUNK: usize = 64 << 10;
/// The longest key: it stands in a subject, which brokers limit to 4,096 bytes.
const KEY: usize = 1_024;

/// The buckets of one broker.
#[derive(Debug, Clone)]
pub struct Buckets {
    runtime: Handle,
    client: Arc<OnceLock<Client>>,
    reads: Arc<Semaphore>,
}

impl Buckets {
    /// The buckets of the broker that this runtime will be connected to.
    pub fn new(runtime: Handle) -> Self {
        Self { runtime, client: Arc::default(), reads: Arc::new(Semaphore::new(READS)) }
    }

    /// Tells the connection. From now on there are answers.
    pub fn connected(&self, client: &Client) {
        self.client.get_or_init(|| client.clone());
    }

    /// One bucket as a store. It need not exist yet.
    pub fn bucket(&self, name: impl Into<String>, tells_removed: bool) -> BucketStore {
        BucketStore { buckets: self.clone(), name: name.into(), tells_removed }
    }
}

/// One bucket; the key is the object's name.
#[derive(Debug, Clone)]
pub struct BucketStore {
    buckets: Buckets,
    name: String,
    tells_removed: bool,
}

impl ExternalStore for BucketStore {
    fn read(&self, key: &str, ask: &Ask, deadline: Instant) -> Result<Found, Unread> {
        let client = self.buckets.client.get().cloned();
        // A request that nobody answers stays in the client's memory: none is sent in vain.
        let client = client.filter(|client| client.connection_state() == State::Connected);
        let client = client.ok_or_else(|| Unread::Refused("the broker is away".into()))?;
        let (sender, receiver) = sync_channel(1);
        let reads = Arc::clone(&self.buckets.reads);
        let (name, key, ask) = (self.name.clone(), key.to_owned(), ask.clone());
        let task = self.buckets.runtime.spawn(async move {
            let found = match reads.acquire().await {
                Ok(_permit) => read(client, &name, &key, ask).await,
                Err(_) => Err(Unread::Closing),
            };
            // The caller may have gone at its deadline.
            drop(sender.send(found));
        });
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(found) => found,
            Err(RecvTimeoutError::Timeout) => {
                task.abort();
                Err(Unread::Late)
            }
            // The runtime is gone, and the answer with it.
            Err(RecvTimeoutError::Disconnected) => Err(Unread::Closing),
        }
    }

    fn check_key(&self, key: &str) -> Result<(), String> {
        if key.is_empty() || key.len() > KEY {
            return Err(format!("is no name of an object: it has 1 to {KEY} bytes"));
        }
        Ok(())
    }

    fn tells_removed(&self) -> bool {
        self.tells_removed
    }
}

async fn read(client: Client, bucket: &str, key: &str, ask: Ask) -> Result<Found, Unread> {
    let context = jetstream::new(client);
    let store = context.get_object_store(bucket).await;
    // A bucket that is not there says nothing about what was in it.
    let store = store.map_err(|error| Unread::Refused(format!("bucket {bucket}: {error}")))?;
    let mut object = match store.get(key).await {
        Ok(object) => object,
        Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(Found::Missing),
        Err(error) => return Err(Unread::Refused(format!("bucket {bucket}: {error}"))),
    };
    if object.info().size as u64 > ask.limit {
        return Ok(Found::Longer);
    }
    let mut through = Through::new(ask);
    let mut chunk = vec![0; CHUNK];
    loop {
        match object.read(&mut chunk).await {
            Ok(0) => return Ok(through.finish()),
            Ok(read) if through.take(&chunk[..read]) => {}
            Ok(_) => return Ok(through.finish()),
            // What was stored does not match the bucket's own digest of it.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Ok(Found::Damaged(error.to_string()));
            }
            Err(error) => return Err(Unread::Refused(format!("bucket {bucket}: {error}"))),
        }
    }
}
