//! Dispatch: which verb, which kind of work.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use lacuna_core::{Refusal, SessionKey};
use lacuna_engine::Journal;
use lacuna_wire::journal::FeedBody;
use lacuna_wire::session::PutOpenRequest;
use lacuna_wire::{Code, Group, Subject, Target, WireError, find, parse, verbs};

use crate::call::{Call, Job, Responder, ready};
use crate::error::wire_error;
use crate::readings::Readings;
use crate::settings::Settings;
use crate::uploads::Uploads;
use crate::work::{Inner, Work};
use crate::{commands, deeds, journal, queries, retention};

/// The verbs on one journal. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

impl Service {
    /// The verbs on this journal.
    pub fn new(journal: Arc<Journal>, settings: Settings) -> Self {
        let uploads = Uploads::new(&settings);
        Self(Arc::new(Inner {
            journal,
            settings,
            uploads,
            readings: Readings::new(),
            started: Instant::now(),
            feed: OnceLock::new(),
            backing_up: Default::default(),
        }))
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.0.journal
    }

    /// Names who tells how far the feed is: `stats` asks, and reports none until then.
    pub fn tells_feed(&self, feed: impl Fn() -> FeedBody + Send + Sync + 'static) {
        drop(self.0.feed.set(Box::new(feed)));
    }

    /// Begins to carry a request out. Commands are on their way to the writer when this returns, in
    /// the order of the calls; questions come back as a job that may block.
    #[must_use = "a question is answered only when its job runs"]
    pub fn call(&self, call: Call<'_>, respond: Responder) -> Option<Job> {
        match self.begin(&call) {
            Ok(Work::Command(submit)) => {
                submit(&self.0, respond);
                None
            }
            Ok(work @ (Work::Question(_) | Work::Deed(_))) => {
                let acts = matches!(work, Work::Deed(_));
                let (Work::Question(answer) | Work::Deed(answer)) = work else { return None };
                let inner = Arc::clone(&self.0);
                let slow = is_slow(call.subject);
                let run = Box::new(move || respond(ready(answer(&inner))));
                Some(Job { acts, slow, run })
            }
            Ok(Work::Done(reply)) => {
                respond(ready(Ok(reply)));
                None
            }
            Err(error) => {
                respond(ready(Err(error)));
                None
            }
        }
    }

    /// Carries a request out and waits for the answer.
    pub fn call_and_wait(&self, call: Call<'_>) -> Result<Vec<u8>, WireError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let job = self.call(call, Box::new(move |answer| drop(sender.send(answer))));
        if let Some(job) = job {
            (job.run)();
        }
        match receiver.recv() {
            Ok(answer) => (answer.encode)(),
            Err(_) => Err(WireError::new(
                Code::Unavailable,
                "the journal has failed: restart, then retry with the same command_id",
            )),
        }
    }

    fn begin(&self, call: &Call<'_>) -> Result<Work, WireError> {
        let subject = call.subject;
        let group = subject.target.group();
        if find(group, &subject.verb).is_none() {
            return Err(unknown_verb(group, &subject.verb));
        }
        let session = match &subject.target {
            Target::Session(session) => session,
            Target::Retention => return retention::begin(call),
            Target::Journal => return journal::begin(call),
        };
        let key = SessionKey { tenant: subject.tenant.clone(), session: session.clone() };
        match subject.verb.as_str() {
            "put-open" => {
                let request: PutOpenRequest = parse(call.body)?;
                let max = call.max_reply;
                Ok(Work::Question(Box::new(move |inner| {
                    let state = inner.journal.state(&key).map_err(wire_error)?;
                    queries::expect_version(&state, request.expected_version)?;
                    if let Some(closed_at) = state.closed_at {
                        return Err(Refusal::SessionClosed(closed_at).into());
                    }
                    inner.uploads.open(&request, &key, max)
                })))
            }
            "put-chunk" | "put-close" => self.0.uploads.begin(call, &key).map(Work::Done),
            "expand" | "window" | "durability" | "tombstones" | "history" | "suggest"
            | "explain" | "diff" | "search" | "export" => Ok(queries::begin(call, key)),
            "receipt" | "fork" => Ok(deeds::begin(call, key)),
            _ => commands::begin(call, key, &self.0),
        }
    }
}

/// Whether a verb may take as long as reading the whole journal does.
fn is_slow(subject: &Subject) -> bool {
    let slow: &[&str] = match subject.target.group() {
        Group::Session => &[],
        Group::Retention => &["plan", "run"],
        Group::Journal => &["verify", "backup"],
    };
    slow.contains(&subject.verb.as_str())
}

fn unknown_verb(group: Group, verb: &str) -> WireError {
    let verb: String = verb.chars().take(40).collect();
    let names: Vec<&str> = verbs(group).iter().map(|verb| verb.name).collect();
    WireError::bad_request(format!("there is no verb {verb:?}: there are {}", names.join(", ")))
}
