//! The wire contract, v1: subjects, requests, replies, errors and events as JSON, and their
//! conversion to and from the domain. What is written here is public and fixed; replies may gain
//! fields, requests refuse unknown ones.

mod error;
mod json;
mod subject;

mod common;
pub mod journal;
pub mod retention;
pub mod session;

mod event;
mod feed;
mod verbs;

mod asyncapi;

pub use asyncapi::asyncapi;
pub use common::{BudgetBody, CheckBody, CostBody, Empty, EvidenceBody};
pub use error::{Code, WireError};
pub use event::{EventBody, ImportedBody, cause_json, event_body};
pub use feed::{
    CHECKPOINT_SUBJECTS, FEED_STREAM, FEED_SUBJECTS, JOURNAL_TENANT, MESSAGE_ID, MessageId,
    checkpoint_subject, event_subject, journal_subject,
};
pub use json::{MAX_DEPTH, fingerprint, parse};
pub use subject::{Group, Subject, SubjectError, Target};
pub use verbs::{JOURNAL_VERBS, RETENTION_VERBS, SESSION_VERBS, VerbSpec, find, verbs};
