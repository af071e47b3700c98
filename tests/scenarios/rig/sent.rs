//! One append and all replies to it, early and late: what is sent again must not count again.

use std::time::{Duration, Instant};

use async_nats::{Client, Subject, Subscriber};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::Worker;

/// How long a reply may take that must come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one of several attempts waits.
const ATTEMPT: Duration = Duration::from_millis(250);

/// An append to the session `s` that may be sent again and again.
pub(crate) struct Sent {
    subject: String,
    id: String,
    body: Value,
    pub(crate) inbox: Subject,
    replies: Subscriber,
}

impl Sent {
    /// Makes one whose replies arrive at this worker.
    pub(crate) async fn new(worker: &Worker, id: &str) -> Self {
        let span = json!({ "role": "user", "origin": "user", "content": id });
        let inbox: Subject = worker.nats.new_inbox().into();
        Self {
            subject: worker.subject("s", "append"),
            id: id.to_owned(),
            body: json!({ "spans": [span], "command_id": id }),
            replies: worker.nats.subscribe(inbox.clone()).await.unwrap(),
            inbox,
        }
    }

    /// Sends it, and does not wait for the reply.
    pub(crate) async fn send(&self, nats: &Client) {
        let (subject, body) = (self.subject.clone(), self.body.to_string());
        nats.publish_with_reply(subject, self.inbox.clone(), body.into()).await.unwrap();
        nats.flush().await.unwrap();
    }

    /// The next reply, if one comes within this time.
    pub(crate) async fn reply(&mut self, within: Duration) -> Option<Value> {
        let message = tokio::time::timeout(within, self.replies.next()).await.ok()?.unwrap();
        Some(serde_json::from_slice(&message.payload).unwrap())
    }

    /// So many replies: one is the first, the others repeat it. Those that are on their way together may
    /// come in any order. Gives what they say.
    pub(crate) async fn replies(&mut self, count: usize) -> Value {
        let (mut firsts, mut same) = (0, None);
        for _ in 0..count {
            let mut reply = self.reply(PATIENCE).await.expect("a reply comes");
            assert!(reply.get("error").is_none(), "{reply}");
            let mark = reply.as_object_mut().unwrap().remove("duplicate");
            firsts += usize::from(mark.is_none());
            assert_eq!(same.get_or_insert(reply.clone()), &reply);
        }
        assert_eq!(firsts, 1, "of {count} replies");
        same.unwrap()
    }

    /// Sends it again, as a plain request, until it is answered; the answer must repeat the first one,
    /// where that is known. Gives it without the mark of a repetition.
    pub(crate) async fn repeated(&self, worker: &Worker, first: Option<&Value>) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let bytes = self.body.to_string().into_bytes();
            if let Ok(message) = worker.send(&self.subject, bytes, ATTEMPT).await {
                let mut reply: Value = serde_json::from_slice(&message.payload).unwrap();
                let mark = reply.as_object_mut().unwrap().remove("duplicate");
                assert_eq!(mark, Some(true.into()), "{reply}");
                assert!(first.is_none_or(|first| *first == reply), "{reply} is not {first:?}");
                return reply;
            }
            assert!(Instant::now() < until, "no answer for {}", self.body);
        }
    }

    /// The seqs of the spans that it recorded.
    pub(crate) async fn effects(&self, worker: &Worker) -> Vec<Value> {
        let events = worker.history("s").await.into_iter();
        let mine = events.filter(|event| event["command_id"] == self.id);
        mine.map(|event| event["seq"].clone()).collect()
    }
}
