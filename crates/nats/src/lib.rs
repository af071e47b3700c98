//! Lacuna on NATS: the connection, the service and its endpoints.

mod bucket;
mod connect;
mod feed;
mod micro;
mod replies;
mod service;

pub use async_nats::Client;
pub use bucket::{BucketStore, Buckets};
pub use connect::{Access, ConnectError, connect, connect_once};
pub use feed::{Announcement, Announcer, FeedOptions, RelayHandle, relay};
pub use service::{Bounds, Serving, serve};
