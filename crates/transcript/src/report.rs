//! What an import read, and what it could not express.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Format;

/// Distinct record types that a report counts one by one; further ones are counted together.
const MAX_RAW_KINDS: usize = 200;

/// The account of one imported session. `records` = `understood` + `kept_raw`, always.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The format it was read as.
    pub format: Format,
    /// The session's id in the source, as written.
    pub source_session: Option<String>,
    /// The suggested name of the session whose agent started this one (a sub-agent's parent).
    pub parent: Option<String>,
    /// Source records read. An unparsable stretch of input counts as one.
    pub records: u64,
    /// Records that became spans or steps of their own.
    pub understood: u64,
    /// Records whose exact bytes were kept outside the window.
    pub kept_raw: u64,
    /// Spans recorded, raw ones and summaries included.
    pub spans: u64,
    /// Spans that took a place in the window.
    pub in_window: u64,
    /// Raw spans by record type or reason; `remainder:…` and `envelope` hold fields of understood
    /// records, the others are whole records.
    pub raw: BTreeMap<String, u64>,
    /// Summaries that the source's agent made.
    pub summaries: u64,
    /// Spans that the source's agent took out of its window.
    pub pruned: u64,
    /// Bytes of source records read.
    pub bytes: u64,
    /// What a reader should know: one counted sentence per kind of finding, so bounded in number.
    pub notes: Vec<String>,
}

/// Findings while reading, counted by sentence.
#[derive(Debug, Default)]
pub(crate) struct Notes(BTreeMap<&'static str, (u64, String)>);

impl Notes {
    /// Counts one finding. `example` says where the first one was.
    pub(crate) fn add(&mut self, sentence: &'static str, example: &str) {
        self.add_many(sentence, 1, example);
    }

    /// Counts several findings at once.
    pub(crate) fn add_many(&mut self, sentence: &'static str, count: u64, example: &str) {
        let entry = self
            .0
            .entry(sentence)
            .or_insert_with(|| (0, example.chars().take(80).collect::<String>()));
        entry.0 += count;
    }

    /// The findings as sentences, `<what>: <count> (first: <where>)`.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|(sentence, (count, first))| match first.as_str() {
                "" => format!("{sentence}: {count}"),
                first => format!("{sentence}: {count} (first: {first})"),
            })
            .collect()
    }
}

impl Report {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            source_session: None,
            parent: None,
            records: 0,
            understood: 0,
            kept_raw: 0,
            spans: 0,
            in_window: 0,
            raw: BTreeMap::new(),
            summaries: 0,
            pruned: 0,
            bytes: 0,
            notes: Vec::new(),
        }
    }

    /// Counts a raw span. The types come from the input, so their number is bounded here.
    pub(crate) fn count_raw(&mut self, kind: &str) {
        let known = self.raw.len() < MAX_RAW_KINDS || self.raw.contains_key(kind);
        let kind = if known { kind } else { "other" };
        *self.raw.entry(kind.to_owned()).or_insert(0) += 1;
    }
}
