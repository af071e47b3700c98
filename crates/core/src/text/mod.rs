//! What words show by themselves: the mechanical evidence of the summary contract.
//!
//! A claim of a summary rests on cited text. Three questions about it need no reader:
//! - Which of its words can be checked letter by letter? [`anchors`] finds them: numbers, paths,
//!   identifiers, commands and their like. One extractor, the same for claims and for sources.
//! - Does a source hold them? [`Held`] is what one text holds; [`Form`] is the shape in which two
//!   anchors are the same although they are written differently (`v1.2.3` and `1.2.3`).
//! - Does the source itself doubt them? [`occurrences`] says where they stand, [`sentence_around`]
//!   what is said there, and [`hedged_at`] whether it is said with a reserve; of a whole sentence
//!   [`hedge`] says it.
//!
//! Everything is linear in the length of the text, for hostile text too: an anchor is at most
//! [`LONGEST_ANCHOR`] bytes, and whatever looks further than one run of characters looks a bounded
//! number of bytes ahead. Letters of every script are letters; scripts that are written without
//! spaces (Chinese, Japanese, Korean particles, Thai) bound an anchor as a space does. Composed and
//! decomposed accents (NFC, NFD) are not the same to this module.
//!
//! Reading order: `letters` and `lists` (what bytes and words are), `walk` with `quotes`, `urls` and
//! `phrases` (text into runs), `run` (a run into anchors) with `token`, `codes`, `versions`, `shape`,
//! `place`, `moment` and `months`, then `form`, `unit`, `find`, `held`, and beside them `line`,
//! `sentence`, `hedge`, then `clause` with `doubt` and `listed`, and `content`.

mod letters;
mod lists;

mod anchor;
mod codes;
mod phrases;
mod quotes;
mod urls;
mod walk;

mod moment;
mod months;
mod place;
mod run;
mod shape;
mod token;
mod versions;

mod find;
mod fold;
mod form;
mod held;
mod unit;

mod clause;
mod content;
mod doubt;
mod hedge;
mod hedges;
mod line;
mod listed;
mod sentence;

pub use anchor::{Anchor, AnchorKind, LONGEST_ANCHOR, anchors};
pub use clause::hedged_at;
pub use content::{content_words, words};
pub use find::occurrences;
pub use form::{Form, form, forms};
pub use hedge::hedge;
pub use hedges::{HEDGES, Hedge, When};
pub use held::{Held, identifiers};
pub use sentence::{sentence_around, sentences};
pub use unit::Counted;
