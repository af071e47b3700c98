//! How far the feed is, for `stats` and the log.

use lacuna_core::Timestamp;
use lacuna_engine::Journal;
use lacuna_wire::FEED_STREAM;
use lacuna_wire::journal::FeedBody;
use parking_lot::Mutex;

use super::flight::Progress;
use super::ground::Ground;
use super::trouble::Trouble;

/// The state of a feed that goes on at once behind what the stream holds.
const MOVED: &str = "behind";

#[derive(Debug, Default)]
struct Figures {
    seq: u64,
    stream_seq: u64,
    messages: u64,
    resumed: u64,
    unreadable: u64,
    /// What is wrong with the stream and can be lived with.
    settings: Vec<String>,
    /// Why nothing is published, and the word for it.
    trouble: Option<(&'static str, String)>,
}

/// What the relay tells about itself. Shared with whoever asks.
#[derive(Debug, Default)]
pub(super) struct Status(Mutex<Figures>);

impl Status {
    /// Publishing begins from there.
    pub(super) fn begins(&self, ground: &Ground) {
        let mut figures = self.0.lock();
        for problem in &ground.problems {
            if !figures.settings.contains(problem) {
                tracing::warn!("{problem}");
            }
        }
        figures.settings.clone_from(&ground.problems);
        let troubled = figures.trouble.is_some();
        if let Some((state, why)) = figures.trouble.take()
            && state != MOVED
        {
            tracing::info!(seq = ground.seq, was = why, "the feed goes on");
        }
        let place = (ground.seq, ground.stream_seq);
        // Looking again at a stream that is as it was is no new beginning.
        let same = (figures.seq, figures.stream_seq) == place && figures.resumed > 0;
        figures.resumed += u64::from(!same || troubled);
        (figures.seq, figures.stream_seq) = place;
    }

    /// Publishing stops for this reason.
    pub(super) fn stops(&self, trouble: &Trouble) {
        let (state, why) = (trouble.state(), trouble.to_string());
        let mut figures = self.0.lock();
        // The same again is no news.
        if figures.trouble.as_ref().is_none_or(|(_, before)| *before != why) {
            match state {
                "unavailable" | "refused" => tracing::error!(state, "the feed stops: {why}"),
                MOVED => tracing::debug!(state, "the feed stops: {why}"),
                _ => tracing::warn!(state, "the feed stops: {why}"),
            }
        }
        figures.trouble = Some((state, why));
    }

    /// The stream has acknowledged something.
    pub(super) fn progress(&self, progress: &Progress) {
        let mut figures = self.0.lock();
        figures.messages += progress.messages;
        figures.stream_seq = progress.stream_seq;
        if let Some((seq, _)) = progress.passed {
            figures.seq = figures.seq.max(seq);
        }
    }

    /// Events cannot be read and are passed over.
    pub(super) fn unreadable(&self, from: u64, to: u64, why: &str) {
        self.0.lock().unreadable += to - from + 1;
        tracing::error!(from, to, why, "events cannot be read: the feed has a gap, and says so");
    }

    /// All of it, as of now.
    pub(super) fn body(&self, journal: &Journal) -> FeedBody {
        let (last, now) = (journal.head().seq, journal.now());
        let figures = self.0.lock();
        let seq = figures.seq;
        let lag_events = last.saturating_sub(seq);
        let state = match &figures.trouble {
            Some((state, _)) => state,
            None if lag_events == 0 => "live",
            None => MOVED,
        };
        let trouble = figures.trouble.iter().map(|(_, why)| why.clone());
        let mut body = FeedBody {
            stream: FEED_STREAM.to_owned(),
            state: state.to_owned(),
            published_seq: seq,
            stream_seq: figures.stream_seq,
            lag_events,
            lag_ms: 0,
            messages: figures.messages,
            resumed: figures.resumed,
            unreadable: figures.unreadable,
            problems: trouble.chain(figures.settings.iter().cloned()).collect(),
        };
        drop(figures);
        if lag_events > 0 {
            body.lag_ms = now.0.saturating_sub(oldest(journal, seq).unwrap_or(now).0);
        }
        body
    }
}

/// When the first event behind this seq was recorded.
fn oldest(journal: &Journal, seq: u64) -> Option<Timestamp> {
    let walked = journal.events_from(seq + 1).ok()??;
    walked.events.first().map(|recorded| recorded.at)
}
