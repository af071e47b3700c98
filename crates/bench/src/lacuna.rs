//! Lacuna over NATS: one append of one span per request, durable before the reply.

use std::sync::Arc;
use std::time::Duration;

use lacuna_engine::{Journal, Options};
use lacuna_nats::{Access, Bounds};
use lacuna_verbs::{Service, Settings};
use serde_json::json;

use crate::Failure;
use crate::broker::Broker;
use crate::load::{Work, closed_loop};
use crate::report::Row;
use crate::text::text;

const SESSIONS: u64 = 16;

pub(crate) async fn one_per_request(broker: &Broker, work: &Work) -> Result<Row, Failure> {
    let journal = Arc::new(Journal::open(&broker.folder().join("journal"), Options::default())?);
    let service = Service::new(Arc::clone(&journal), Settings::default());
    let access = Access::new(&broker.url(), "lacuna");
    let serving =
        lacuna_nats::serve(lacuna_nats::connect(&access).await?, service, Bounds::default())
            .await?;
    let client = async_nats::connect(broker.url()).await?;
    for session in 0..SESSIONS {
        let body = json!({ "window_tokens": 1_000_000_000_u64 }).to_string();
        let reply = client.request(subject(session, "open"), body.into()).await?;
        accept(&reply.payload)?;
    }
    let row = closed_loop("lacuna", work, move |number| {
        let client = client.clone();
        async move {
            let span = json!({ "role": "tool", "origin": "tool", "content": text(number, 1_024) });
            let body = json!({ "spans": [span] }).to_string();
            let reply = client.request(subject(number % SESSIONS, "append"), body.into()).await?;
            accept(&reply.payload)
        }
    })
    .await?;
    serving.stop(Duration::from_secs(5)).await;
    journal.close()?;
    Ok(row)
}

fn subject(session: u64, verb: &str) -> String {
    format!("lacuna.v1.bench.worker.session.s{session}.{verb}")
}

fn accept(reply: &[u8]) -> Result<(), Failure> {
    if reply.starts_with(b"{\"error\"") {
        return Err(String::from_utf8_lossy(reply).into_owned().into());
    }
    Ok(())
}
