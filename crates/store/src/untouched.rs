//! A file that is read and never changed: what the database writes to it, to repair a copy that was
//! taken while the journal was in use, stays in memory.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// Bytes that are kept together once one of them was written.
const PAGE: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Untouched {
    file: File,
    /// Bytes of the file that count: what was cut off once reads as zero ever after.
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    length: u64,
    /// How much of the file is still to be seen.
    shown: u64,
    pages: HashMap<u64, Box<[u8; PAGE]>>,
}

impl Untouched {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_file() {
            // Opening a pipe waits for its other end, and a device has no length.
            return Err(io::Error::other("it is no regular file"));
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let written = Written { length, shown: length, pages: HashMap::new() };
        Ok(Self { file, written: Mutex::new(written) })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file holds there, zeros where it has ended.
    fn original(&self, shown: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        out.fill(0);
        let there = usize::try_from(shown.saturating_sub(offset)).unwrap_or(usize::MAX);
        let there = there.min(out.len());
        self.file.read_exact_at(&mut out[..there], offset)
    }
}

/// The pages that a range touches: page, offset in it, range of the bytes.
fn pages(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let size = (PAGE - within).min(length - done);
        done += size;
        Some((at / PAGE as u64, within, done - size..done))
    })
}

impl StorageBackend for Untouched {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset.saturating_add(out.len() as u64) > written.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.original(written.shown, offset, out)?;
        if !written.pages.is_empty() {
            for (page, within, range) in pages(offset, out.len()) {
                if let Some(page) = written.pages.get(&page) {
                    let size = range.len();
                    out[range].copy_from_slice(&page[within..within + size]);
                }
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut written = self.written();
        written.shown = written.shown.min(length);
        written.pages.retain(|page, bytes| {
            let begin = page * PAGE as u64;
            let left = usize::try_from(length.saturating_sub(begin)).unwrap_or(PAGE).min(PAGE);
            bytes[left..].fill(0);
            left > 0
        });
        written.length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        let shown = written.shown;
        for (page, within, range) in pages(offset, data.len()) {
            let bytes = match written.pages.entry(page) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    let mut bytes = Box::new([0; PAGE]);
                    self.original(shown, page * PAGE as u64, bytes.as_mut_slice())?;
                    entry.insert(bytes)
                }
            };
            bytes[within..within + range.len()].copy_from_slice(&data[range]);
        }
        Ok(())
    }
}
