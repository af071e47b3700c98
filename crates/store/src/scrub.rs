//! Replacing files so that nothing of the old content stays in the folder.
//!
//! The old file keeps a second name, `….old`, until its bytes are overwritten: a run that is cut off
//! leaves that name behind, and the next one finishes. What a file system copies on write, or a drive
//! remaps, is out of reach from here.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const PIECE: usize = 1 << 20;

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Writes these bytes to a file, mode 0600, in place of what it holds now. On an error the old or
/// the new content is in force.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    finish(path)?;
    let new = beside(path, ".new");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    put(&new, path)
}

/// Renames `new`, which is durable, over a file, whose bytes are then overwritten.
pub(crate) fn put(new: &Path, path: &Path) -> io::Result<()> {
    let old = match OpenOptions::new().write(true).open(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let name = beside(path, ".old");
    if old.is_some()
        && let Err(error) = std::fs::hard_link(path, &name)
    {
        // The file is still reached by what was opened above; only a crash in between would miss it.
        tracing::debug!(%error, "this file system gives no file a second name");
    }
    std::fs::rename(new, path)?;
    sync_folder_of(path)?;
    if let Some(old) = old {
        zero(&old)?;
        remove(&name)?;
        sync_folder_of(path)?;
    }
    Ok(())
}

/// Finishes what an earlier replacement has left behind, whether it had got to renaming or not.
pub(crate) fn finish(path: &Path) -> io::Result<()> {
    let old = beside(path, ".old");
    if let Ok(left) = old.metadata() {
        let current = path.metadata().ok();
        let same = current.is_some_and(|c| (c.dev(), c.ino()) == (left.dev(), left.ino()));
        if same {
            // Cut off before the renaming: it is only a second name of what is in force.
            remove(&old)?;
        } else {
            erase(&old)?;
        }
        sync_folder_of(path)?;
    }
    erase(&beside(path, ".new"))
}

/// Overwrites a file with zeros and removes it, if it is there.
pub(crate) fn erase(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => zero(&file)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    remove(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn zero(mut file: &File) -> io::Result<()> {
    let zeros = vec![0; PIECE];
    let mut left = file.metadata()?.len();
    while left > 0 {
        let piece = left.min(PIECE as u64);
        file.write_all(&zeros[..piece as usize])?;
        left -= piece;
    }
    file.sync_all()
}

fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
