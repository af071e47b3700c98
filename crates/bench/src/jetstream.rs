//! JetStream: one message per span, acknowledged by the stream.

use async_nats::jetstream::{self, stream};

use crate::Failure;
use crate::broker::Broker;
use crate::load::{Work, closed_loop};
use crate::report::Row;
use crate::text::text;

pub(crate) async fn one_per_request(
    broker: &Broker,
    system: &'static str,
    work: &Work,
) -> Result<Row, Failure> {
    let client = async_nats::connect(broker.url()).await?;
    let context = jetstream::new(client);
    context
        .create_stream(stream::Config {
            name: "SPANS".into(),
            subjects: vec!["spans.*".into()],
            storage: stream::StorageType::File,
            ..Default::default()
        })
        .await?;
    closed_loop(system, work, move |number| {
        let context = context.clone();
        async move {
            let subject = format!("spans.{}", number % 16);
            context.publish(subject, text(number, 1_024).into()).await?.await?;
            Ok(())
        }
    })
    .await
}
