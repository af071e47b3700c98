//! Why nothing is published just now.

use lacuna_engine::EngineError;

/// Why publishing stopped. Each is tried again, for ever; the sentence says what to do meanwhile.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// There is no connection.
    #[error("the broker is away; the feed goes on behind what the stream holds once it is back")]
    Away,
    /// The connection broke and came back: what was in flight may be lost.
    #[error("the connection to the broker broke; the feed goes on behind what the stream holds")]
    Broken,
    /// No answer in time.
    #[error(
        "the broker does not answer for {0}: if it goes on, see whether it is overloaded, and whether the \
         daemon's user may publish to $JS.API.> and lacuna.v1.events.>"
    )]
    Silent(&'static str),
    /// The client library could not send.
    #[error("the broker could not be asked: {0}")]
    Sending(String),
    /// There is no JetStream.
    #[error(
        "the broker has no JetStream for this account, so there is no feed: followers can only ask for \
         history; start nats-server with --jetstream, or enable it for the account"
    )]
    NoJetStream,
    /// The stream is not there any more.
    #[error(
        "the stream is gone; it is made again, and everything in the journal is published again"
    )]
    Gone,
    /// JetStream refused something.
    #[error("the broker refuses ({number}): {why}")]
    Broker {
        /// JetStream's number for it.
        number: u64,
        /// JetStream's words for it.
        why: String,
    },
    /// The stream does not end where it should.
    #[error("the stream has moved; the feed goes on behind what it holds")]
    Moved,
    /// Another stream has the feed's subjects.
    #[error(
        "there is no feed: the stream {by} takes subjects of lacuna.v1.events.>, so LACUNA_EVENTS cannot \
         be made; take them out of it (nats stream edit), or give Lacuna an account of its own"
    )]
    Taken {
        /// Its name.
        by: String,
    },
    /// The stream's settings would make following wrong.
    #[error("nothing is published: {0}")]
    Settings(String),
    /// The stream holds events of another journal.
    #[error(
        "nothing is published: the stream holds events of another journal ({journal}), and followers would \
         take one's for the other's; give this journal a broker or an account of its own, or remove the \
         stream (nats stream rm LACUNA_EVENTS), and all of this journal is published"
    )]
    Foreign {
        /// Its id.
        journal: String,
    },
    /// The stream is ahead of the journal.
    #[error(
        "nothing is published: the stream holds seq {stream}, and the journal ends at {journal}, as one \
         that was restored from a backup does; followers have seen events that it does not have. Tell \
         them, then remove the stream (nats stream rm LACUNA_EVENTS), and all of this journal is published"
    )]
    Ahead {
        /// The stream's last seq.
        stream: u64,
        /// The journal's last seq.
        journal: u64,
    },
    /// The stream's last event is not the journal's.
    #[error(
        "nothing is published: at seq {seq} the stream holds another event than the journal, which was \
         restored from a backup and has gone on since; followers have seen events that it does not have. \
         Tell them, then remove the stream (nats stream rm LACUNA_EVENTS), and all of it is published"
    )]
    Diverged {
        /// Where.
        seq: u64,
    },
    /// Somebody else publishes to the stream.
    #[error(
        "nothing is published: the last {messages} messages in the stream are not Lacuna's; see who else \
         may publish to lacuna.v1.events.>, and remove them or the stream"
    )]
    Strangers {
        /// How many were looked at.
        messages: u64,
    },
    /// The journal cannot be read.
    #[error("the journal could not be read for the feed: {0}")]
    Journal(#[from] EngineError),
}

impl Trouble {
    /// The word for it in `stats`.
    pub(super) fn state(&self) -> &'static str {
        match self {
            Self::Away | Self::Broken | Self::Silent(_) | Self::Sending(_) => "away",
            Self::NoJetStream | Self::Broker { .. } | Self::Taken { .. } | Self::Journal(_) => {
                "unavailable"
            }
            Self::Moved | Self::Gone => "behind",
            Self::Settings(_)
            | Self::Foreign { .. }
            | Self::Ahead { .. }
            | Self::Diverged { .. }
            | Self::Strangers { .. } => "refused",
        }
    }
}
