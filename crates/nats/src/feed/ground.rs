//! What publishing goes on from: the stream, made or checked, and the last event that it really holds.

use async_nats::Client;
use lacuna_engine::Journal;
use lacuna_verbs::longest_event;
use lacuna_wire::{FEED_STREAM, MessageId};
use serde_json::{Map, Value};

use super::api::{Api, Info};
use super::place::Place;
use super::topology::{differences, max_msg_size, takes_checkpoints, wanted};
use super::trouble::Trouble;
use crate::service::max_reply;

/// Messages that are looked at from the stream's end for the last one that is an event of this journal.
const LOOKED_AT: u64 = 256;
/// Room for a message's headers.
const HEADERS: i64 = 512;

/// Where publishing goes on.
#[derive(Debug)]
pub(super) struct Ground {
    /// When the stream was made.
    pub(super) created: String,
    /// Whether it was made just now.
    pub(super) fresh: bool,
    /// Where it ends.
    pub(super) stream_seq: u64,
    /// The last seq that needs no publishing any more.
    pub(super) seq: u64,
    /// The most bytes of one event.
    pub(super) longest: usize,
    /// Whether the stream takes signed checkpoints.
    pub(super) checkpoints: bool,
    /// What is not as it should be with the stream, and can be lived with.
    pub(super) problems: Vec<String>,
}

/// What the stream is asked to be.
pub(super) struct Wanted(Map<String, Value>);

impl Wanted {
    pub(super) fn new(options: &super::FeedOptions) -> Self {
        Self(wanted(options.max_age, options.max_bytes))
    }

    /// Makes the stream or checks it, and finds out where to go on.
    pub(super) async fn ground(
        &self,
        client: &Client,
        journal: &Journal,
        place: &Place,
    ) -> Result<Ground, Trouble> {
        let api = Api(client.clone());
        let (info, fresh) = match api.info().await? {
            Some(info) => (info, false),
            None => (api.create(&self.0).await?, true),
        };
        let (wrong, problems): (Vec<_>, Vec<_>) =
            differences(&self.0, &info.config).into_iter().partition(|found| found.wrong);
        let says = |found: Vec<super::topology::Difference>| found.into_iter().map(|d| d.says);
        if !wrong.is_empty() {
            return Err(Trouble::Settings(says(wrong).collect::<Vec<_>>().join("; ")));
        }
        let (held, strangers) = last_held(&api, &info, journal).await?;
        let longest = longest_event(max_reply(client));
        let longest = match max_msg_size(&info.config) {
            Some(size) => longest.min(usize::try_from(size - HEADERS).unwrap_or(0)),
            None => longest,
        };
        Ok(Ground {
            seq: place.resume(&info, held),
            stream_seq: info.last_seq,
            checkpoints: takes_checkpoints(&info.config),
            created: info.created,
            fresh,
            longest,
            problems: says(problems).chain(strangers.map(told)).collect(),
        })
    }
}

/// What is said of messages that somebody else has published behind the events.
fn told(last: u64) -> String {
    format!(
        "{FEED_STREAM} has messages that are not Lacuna's, the last one at its sequence {last}: see who else \
         may publish to lacuna.v1.events.>"
    )
}

/// The last seq up to which the stream holds events of this journal, none if it holds none; and where the
/// last message stands that is nobody's, if it is behind these. What the stream holds must be what the
/// journal holds there.
async fn last_held(
    api: &Api,
    info: &Info,
    journal: &Journal,
) -> Result<(Option<u64>, Option<u64>), Trouble> {
    if info.messages == 0 {
        return Ok((None, None));
    }
    let (id, head) = (journal.id(), journal.head().seq);
    let (mut held, mut strangers, mut last) = (None, 0, None);
    let end = info.first_seq.max(info.last_seq.saturating_sub(LOOKED_AT - 1));
    for stream_seq in (end..=info.last_seq).rev() {
        let Some(stored) = api.message(stream_seq).await? else { continue };
        let Some(message) = stored.id.as_deref().and_then(MessageId::parse) else {
            strangers += 1;
            last = last.max(Some(stream_seq));
            continue;
        };
        if message.journal != id {
            return Err(Trouble::Foreign { journal: message.journal });
        }
        if message.seq > head {
            return Err(Trouble::Ahead { stream: message.seq, journal: head });
        }
        match message.about.as_deref() {
            None => {
                agrees(journal, message.seq, &stored.body)?;
                return Ok((held.max(Some(message.seq)), last));
            }
            Some("gap") => held = held.max(Some(message.seq)),
            // What is said beside the events may come late: it does not tell where these end.
            Some(_) => {}
        }
    }
    if held.is_none() && strangers > 0 {
        return Err(Trouble::Strangers { messages: strangers });
    }
    Ok((held, last))
}

/// Whether the event of this body is the one that the journal holds there.
fn agrees(journal: &Journal, seq: u64, body: &Value) -> Result<(), Trouble> {
    let walked = journal.events_from(seq)?;
    let ours = walked.as_ref().and_then(|walked| walked.events.first());
    match ours.filter(|ours| ours.seq == seq) {
        Some(ours) if body["hash"] != ours.hash.to_string() => Err(Trouble::Diverged { seq }),
        // What cannot be read here says nothing against what was published once.
        _ => Ok(()),
    }
}
