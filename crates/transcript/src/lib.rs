//! Transcripts of other agents, read into steps that a journal can carry out. A pure library:
//! bytes in, [`Session`]s out; no files, clock or network.
//!
//! # What becomes of a record
//! Every source record ends up in the journal, in one of two ways:
//! - **understood**: its content blocks become spans, one each, with their true origin;
//! - **kept raw**: its exact bytes become a span outside the window, labelled `raw` with the
//!   record's type and counted in [`Report::raw`].
//!
//! What a span cannot express of an understood record is kept as well. Scalars of up to 128 bytes
//! become labels of the record's first span; everything else becomes one raw span,
//! `raw = remainder:<type>`, which holds the remaining fields as written and names the first span
//! in its label `of`. Claude Code repeats its surroundings (`cwd`, `version`, `gitBranch` …) on
//! every record: they are kept as a raw span `envelope` each time they change. Values that say
//! nothing (`null`, `false`, `""`, `[]`, `{}`) are expressed by their absence.
//!
//! A text that is not valid Unicode (an unpaired surrogate) stays in its place as the JSON string
//! it was written as, with media type `application/json` and label `undecoded`.
//!
//! Where the source's agent made summaries or cleared results, the steps say so:
//! [`Step::Summarize`] and [`Step::Prune`]. A summary is never recorded as somebody's speech.
//!
//! Reading order: the answer's types, then how bytes are cut into values, then what all formats
//! share, then one module per format.

mod format;
mod report;
mod session;
mod source;

mod detect;
mod fields;
mod lines;

mod builder;
mod content;
mod names;
mod record;
mod window;

mod atif;
mod claude_code;
mod openai_chat;
mod openhands;
mod pi;

mod import;

pub use detect::detect;
pub use format::{Format, UnknownFormat};
pub use import::{ImportError, import};
pub use report::Report;
pub use session::{Session, Step};
pub use source::SourceFile;

#[cfg(test)]
mod replay;
#[cfg(test)]
mod tests;
