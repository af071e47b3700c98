//! Going through the journal commit by commit, in the order of recording: neighbours share packs, so
//! this is the cheapest way to read every payload.

use std::sync::Arc;

use lacuna_codec::Block;
use lacuna_core::{Event, Recorded, Storage};

use crate::StoreError;
use crate::open::{Store, defensively};
use crate::payloads::{PayloadReader, Stored};
use crate::tables::EVENTS;

/// The events of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Walked {
    /// The events from the seq asked for on.
    pub events: Vec<Recorded>,
    /// The seq to go on from.
    pub next: u64,
    /// What is wrong with the block, if not all of it could be read.
    pub damaged: Option<String>,
}

impl Store {
    /// The events of the commit that holds this seq, from there on; else of the next one. None where the
    /// journal has ended.
    pub fn walk(&self, from: u64) -> Result<Option<Walked>, StoreError> {
        defensively(|| {
            // Looked at before the rows are: what is committed meanwhile is none of this walk.
            let last = self.head().seq;
            let events = self.db.begin_read()?.open_table(EVENTS)?;
            let begin = events.range(..=from)?.next_back().transpose()?;
            let begin = begin.map_or(from, |(key, _)| key.value());
            let mut rows = events.range(begin..)?.peekable();
            while let Some(row) = rows.next().transpose()? {
                let (first, block) = (row.0.value(), Block::open(row.1.value()));
                let behind = match (&block, rows.peek()) {
                    (Ok(block), _) => block.end(),
                    // Of a block that cannot be read only the next one tells where it ends.
                    (Err(_), Some(Ok((next, _)))) => next.value(),
                    (Err(_), _) => last.max(first) + 1,
                };
                if behind <= from {
                    continue;
                }
                let (mut found, mut damaged) = (Vec::new(), None::<String>);
                match block {
                    Err(error) => damaged = Some(error.to_string()),
                    Ok(block) => {
                        for recorded in block.events() {
                            match recorded {
                                Ok(recorded) if recorded.seq >= from => found.push(recorded),
                                Ok(_) => {}
                                Err(error) => {
                                    damaged = Some(error.to_string());
                                    break;
                                }
                            }
                        }
                    }
                }
                let damaged = damaged.map(|why| format!("block {first}: {why}"));
                return Ok(Some(Walked { events: found, next: behind, damaged }));
            }
            Ok(None)
        })
    }
}

impl PayloadReader {
    /// Reads back what an event committed to, if that should be in the journal: a span's content, or a
    /// summary's text with its claims.
    pub fn read_event(&mut self, recorded: &Recorded) -> Result<Option<Stored>, StoreError> {
        let seq = recorded.seq;
        match &recorded.event {
            Event::SpanRecorded(event) if event.storage == Storage::Journal => {
                self.read(seq, &event.digest, event.bytes).map(Some)
            }
            Event::SummaryRecorded(event) => {
                let text = self.read_text(seq, &event.digest, event.bytes, event.claims.bytes)?;
                if !matches!(text, Stored::Whole(_)) {
                    return Ok(Some(text));
                }
                Ok(match self.read_claims(seq, event.bytes, &event.claims)? {
                    Some(Stored::Damaged(why)) => {
                        Some(Stored::Damaged(format!("its claims: {why}")))
                    }
                    _ => Some(text),
                })
            }
            _ => Ok(None),
        }
    }

    /// Reads back all that an event committed to, as it was filed: a span's content, or a summary's text
    /// and its claims behind it.
    pub fn read_filed(&mut self, recorded: &Recorded) -> Result<Option<Stored>, StoreError> {
        let found = self.read_event(recorded)?;
        let (Some(Stored::Whole(text)), Event::SummaryRecorded(event)) = (&found, &recorded.event)
        else {
            return Ok(found);
        };
        Ok(Some(match self.read_claims(recorded.seq, event.bytes, &event.claims)? {
            None => Stored::Whole(Arc::clone(text)),
            Some(Stored::Whole(claims)) => Stored::Whole([&text[..], &claims].concat().into()),
            Some(other) => other,
        }))
    }
}
