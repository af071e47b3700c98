//! The tenants' ledgers: where each lossy commitment stands. A projection of the events, written in the
//! same transaction; where it is missing it is made anew.

use std::collections::HashMap;

use lacuna_codec::Block;
use lacuna_core::{Event, Recorded, SessionKey, SessionNo, Tenant};
use redb::{ReadTransaction, ReadableTable, WriteTransaction};

use crate::StoreError;
use crate::database::Guarded;
use crate::open::{Store, defensively};
use crate::tables::{EVENTS, LEDGER, RESIDUES, SESSIONS};

/// Where a lossy commitment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The namespace of its session.
    pub tenant: Tenant,
    /// Its journal position.
    pub seq: u64,
    /// Its session.
    pub session: SessionNo,
    /// How many spans it names.
    pub spans: u64,
}

impl Store {
    /// Where the entry of this number of a tenant's ledger stands, counted from 0: the journal position of
    /// its event, and its number within that; none if the ledger is shorter.
    pub fn ledger_entry(
        &self,
        tenant: &str,
        number: u64,
    ) -> Result<Option<(u64, u64)>, StoreError> {
        defensively(|| {
            let ledger = self.db.begin_read()?.open_table(LEDGER)?;
            let mut left = number;
            for row in ledger.range((tenant, 0)..=(tenant, u64::MAX))? {
                let (key, value) = row?;
                let spans = value.value().1;
                if left < spans {
                    return Ok(Some((key.value().1, left)));
                }
                left -= spans;
            }
            Ok(None)
        })
    }

    /// The events of a tenant's lossy commitments from a journal position on, at most `limit`.
    pub fn losses(
        &self,
        tenant: &str,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let (ledger, events) = (read.open_table(LEDGER)?, read.open_table(EVENTS)?);
            let mut opened: Option<(u64, Block)> = None;
            let mut losses = Vec::new();
            for row in ledger.range((tenant, from)..=(tenant, u64::MAX))?.take(limit) {
                let seq = row?.0.value().1;
                let block = events.range(..=seq)?.next_back().transpose()?;
                let (first, stored) =
                    block.ok_or_else(|| StoreError::Damaged(format!("event {seq} is missing")))?;
                if opened.as_ref().is_none_or(|(at, _)| *at != first.value()) {
                    opened = Some((first.value(), Block::open(stored.value())?));
                }
                let Some((_, block)) = &opened else { continue };
                losses.push(event_of(block, seq)?);
            }
            Ok(losses)
        })
    }

    /// The filter of a removed payload's identifiers, if one is kept.
    pub fn residue(&self, seq: u64) -> Result<Option<Vec<u8>>, StoreError> {
        defensively(|| match self.db.begin_read()?.open_table(RESIDUES) {
            Ok(residues) => Ok(residues.get(seq)?.map(|residue| residue.value().to_vec())),
            // None was ever kept.
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// Forgets the filters of these removed payloads, where some are kept.
    pub fn forget_residues(&self, seqs: &[u64]) -> Result<(), StoreError> {
        let mut kept = Vec::new();
        for seq in seqs {
            if self.residue(*seq)?.is_some() {
                kept.push(*seq);
            }
        }
        if kept.is_empty() {
            return Ok(());
        }
        self.write(|write| {
            let mut residues = write.open_table(RESIDUES)?;
            for seq in kept {
                residues.remove(seq)?;
            }
            Ok(())
        })
    }

    /// The tenants that have a session of this name, in order.
    pub fn tenants_with(&self, session: &str) -> Result<Vec<String>, StoreError> {
        defensively(|| {
            let names = self.db.begin_read()?.open_table(SESSIONS)?;
            let (mut found, mut start) = (Vec::new(), String::new());
            loop {
                let Some(row) = names.range(start.as_str()..)?.next() else { return Ok(found) };
                let name = row?.0.value().to_owned();
                let tenant = name.split('/').next().unwrap_or_default().to_owned();
                if names.get(format!("{tenant}/{session}").as_str())?.is_some() {
                    found.push(tenant.clone());
                }
                // Behind all of this tenant: `0` follows `/`.
                start = tenant + "0";
            }
        })
    }
}

fn event_of(block: &Block, seq: u64) -> Result<Recorded, StoreError> {
    let at = usize::try_from(seq.saturating_sub(block.first)).unwrap_or(usize::MAX);
    let event = block.events().nth(at);
    Ok(event.ok_or_else(|| StoreError::Damaged(format!("event {seq} is missing")))??)
}

/// What the event says that opened a session: its number is where that stands.
pub(crate) fn opened(
    read: &ReadTransaction,
    session: SessionNo,
) -> Result<Option<SessionKey>, StoreError> {
    let events = read.open_table(EVENTS)?;
    let Some(row) = events.range(..=session.0)?.next_back() else { return Ok(None) };
    let block = Block::open(row?.1.value())?;
    Ok(match event_of(&block, session.0)?.event {
        Event::SessionOpened(event) => Some(event.key),
        Event::SessionForked(event) => Some(event.key),
        _ => None,
    })
}

/// Writes where lossy commitments stand.
pub(crate) fn put(write: &WriteTransaction, losses: &[Loss]) -> Result<(), StoreError> {
    if losses.is_empty() {
        return Ok(());
    }
    let mut ledger = write.open_table(LEDGER)?;
    for Loss { tenant, seq, session, spans } in losses {
        ledger.insert((tenant.as_str(), *seq), (session.0, *spans))?;
    }
    Ok(())
}

/// Makes the ledgers where there are none: a journal that an earlier release wrote.
pub(crate) fn fill(db: &Guarded) -> Result<(), StoreError> {
    let read = db.begin_read()?;
    if read.open_table(LEDGER).is_ok() {
        return Ok(());
    }
    let events = read.open_table(EVENTS)?;
    let mut tenants: HashMap<SessionNo, Tenant> = HashMap::new();
    let mut losses = Vec::new();
    for row in events.iter()? {
        let block = Block::open(row?.1.value())?;
        for recorded in block.events() {
            let recorded = recorded?;
            match recorded.event {
                Event::SessionOpened(event) => {
                    tenants.insert(recorded.session, event.key.tenant);
                }
                Event::SessionForked(event) if recorded.imported.is_none() => {
                    tenants.insert(recorded.session, event.key.tenant);
                }
                Event::LossyCommitted(event) => {
                    if let Some(tenant) = tenants.get(&recorded.session).cloned() {
                        let (seq, session) = (recorded.seq, recorded.session);
                        let spans = event.spans.len() as u64;
                        losses.push(Loss { tenant, seq, session, spans });
                    }
                }
                _ => {}
            }
        }
    }
    // In one transaction: where a ledger is, it is whole.
    let mut write = db.begin_write()?;
    write.set_quick_repair(true);
    write.open_table(LEDGER)?;
    put(&write, &losses)?;
    write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))
}
