//! Lacuna on NATS: the connection, the service and its endpoints.

mod access;
mod bucket;
mod connect;
mod feed;
mod micro;
mod publisher;
mod replies;
mod service;

pub use access::{Access, BrokerUrl, Keys};
pub use async_nats::Client;
pub use bucket::{BucketStore, Buckets};
pub use connect::{ConnectError, connect, connect_once};
pub use feed::{Announcement, Announcer, FeedOptions, RelayHandle, relay};
pub use publisher::{PublishError, Publisher};
pub use service::{Bounds, Serving, serve, worker_threads};
