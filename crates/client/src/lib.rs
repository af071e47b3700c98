//! The client for workers: typed verbs over NATS, safe retries, contents of any size, events without
//! gaps.
//!
//! ```no_run
//! # async fn f() -> Result<(), lacuna_client::ClientError> {
//! use lacuna_client::{Client, session::{ExpandRequest, OpenRequest}};
//!
//! let client = Client::connect("nats://127.0.0.1:4222", "acme", "worker-1").await?;
//! let session = client.session("run-7");
//! session.open(&OpenRequest { window_tokens: 200_000, ..Default::default() }).await?;
//! let answer = session
//!     .expand(&ExpandRequest { handle: Some("block_7@9f3a01c2".into()), ..Default::default() })
//!     .await?;
//! println!("{}", answer.outcome);
//! let mut events = session.subscribe(1).await?;
//! loop {
//!     let event = events.next().await?;
//!     println!("{} {}", event.seq, event.kind);
//! }
//! # }
//! ```

mod call;
mod error;
mod follow;
mod upload;
mod verbs;

pub use call::{Client, Session};
pub use error::ClientError;
pub use follow::Events;
pub use lacuna_wire::{Code, EventBody, WireError, journal, session};
