//! The feed: every event of the journal, as JSON and in order, on the stream `LACUNA_EVENTS`.
//!
//! ```text
//! journal ─ reading ─ message ─ flight ─► LACUNA_EVENTS ─► followers
//!    ▲                                         │
//!    └───── relay: resume behind what ◄─ ground: what the stream really holds
//! ```
//!
//! One relay is the only one that publishes. It asks the stream what it holds, goes on right behind that,
//! and chains each message to the one before it (`Nats-Expected-Last-Sequence` and `-Msg-Id`), so that
//! within one life of the stream nothing is missing and nothing comes twice. Whenever anything is in doubt,
//! it lets go of what is in flight and asks again. Nothing is kept in memory but the messages in flight:
//! what waits, waits in the journal.

mod api;
mod flight;
mod ground;
mod message;
mod place;
mod reading;
mod relay;
mod status;
mod topology;
mod trouble;

pub use relay::{Announcement, Announcer, FeedOptions, RelayHandle, relay};
