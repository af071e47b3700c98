//! Bringing a journal of the first format, in which payloads are plain, to this one.
//!
//! Deleted plain pages would stay readable in the file, so nothing is changed in place: a copy is made
//! with every payload encrypted, it takes the journal's name, and the old file is overwritten. Until
//! it is renamed the old journal is the one that counts, from then on the new one is.

use crate::copy::Copying;
use crate::database::Guarded;
use crate::folder::Folder;
use crate::keys::{KeyRing, Place};
use crate::open::any_encrypted;
use crate::{StoreError, scrub};

/// Bytes between two lines of the log.
const TELL_EVERY: u64 = 256 << 20;

/// Copies the journal, puts the copy in its place and overwrites the old file.
pub(crate) fn encrypt(db: Guarded, journal: &str, folder: &Folder) -> Result<(), StoreError> {
    tracing::info!("the journal is of format 1: it is copied, and its payloads are encrypted");
    copy(&db, journal, folder)?;
    // Before the file goes: closing it writes.
    db.close()?;
    scrub::put(&folder.copying(), &folder.journal()).map_err(|source| StoreError::Io {
        doing: format!("putting the encrypted copy in place of {}", folder.journal().display()),
        source,
    })?;
    tracing::info!("the payloads are encrypted, and the old file is overwritten");
    Ok(())
}

fn copy(db: &Guarded, journal: &str, folder: &Folder) -> Result<(), StoreError> {
    let read = db.begin_read()?;
    // Durable before anything is encrypted with them. An earlier attempt's are as good.
    let place = Place::Folder(folder.clone());
    let ring = KeyRing::open(place, journal, || any_encrypted(&read))?;
    let mut copying = Copying::begin(&read, folder, &ring.keys)?;
    let mut told = 0;
    copying.tables(&mut |bytes| {
        if bytes >= told + TELL_EVERY {
            told = bytes;
            tracing::info!(mib = bytes >> 20, "copying");
        }
    })?;
    let (rows, bytes) = copying.finish()?;
    tracing::info!(rows, mib = bytes >> 20, "everything is copied");
    Ok(())
}

/// Finishes overwriting the old file where a crash has cut that off. The journal must be locked.
pub(crate) fn finish(folder: &Folder) -> Result<(), StoreError> {
    scrub::finish(&folder.journal()).map_err(|source| StoreError::Io {
        doing: format!("overwriting what is left of {}", folder.journal().display()),
        source,
    })
}
