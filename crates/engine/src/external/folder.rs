//! A folder of plain files as an external store.
//!
//! Files are read on threads of their own: a file system that hangs holds up one of them, never the
//! caller. That is why the system calls here need no time limits.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crossbeam_channel::bounded;

use super::slots::{Slot, Slots};
use super::{Ask, ExternalStore, Found, Through, Unread};

/// Reads of one folder at a time; also the threads that a hung file system can hold.
const READS: usize = 4;
/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// Plain files below a folder; the key is the path from there.
#[derive(Debug)]
pub struct FolderStore {
    place: Arc<Place>,
    tells_removed: bool,
    slots: Slots,
}

#[derive(Debug)]
struct Place {
    root: PathBuf,
    /// The device that the folder was first seen on: another one means that its volume is not mounted,
    /// and that nothing which is missing there is lost.
    device: OnceLock<u64>,
}

impl FolderStore {
    /// The store of the files below `root`. It need not be there yet.
    pub fn new(root: impl Into<PathBuf>, tells_removed: bool) -> Self {
        let place = Place { root: root.into(), device: OnceLock::new() };
        Self { place: Arc::new(place), tells_removed, slots: Slots::new(READS) }
    }
}

impl ExternalStore for FolderStore {
    fn read(&self, key: &str, ask: &Ask, deadline: Instant) -> Result<Found, Unread> {
        self.check_key(key).map_err(|why| Unread::Refused(format!("key {key:?} {why}")))?;
        let slot = self.slots.take(deadline).ok_or(Unread::Late)?;
        let number = slot.number();
        let (sender, receiver) = bounded(1);
        let (place, key, ask) = (Arc::clone(&self.place), key.to_owned(), ask.clone());
        std::thread::Builder::new()
            .name("lacuna-folder".into())
            .spawn(move || {
                let found = place.read(&key, ask, &slot);
                // Free before the answer is there: whoever reads next need not wait for it.
                drop(slot);
                // The caller may have gone at its deadline.
                drop(sender.send(found));
            })
            .map_err(|error| Unread::Refused(format!("no thread could be had: {error}")))?;
        receiver.recv_deadline(deadline).unwrap_or_else(|_| {
            self.slots.give_up(number);
            Err(Unread::Late)
        })
    }

    fn check_key(&self, key: &str) -> Result<(), String> {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let odd = key.is_empty() || key.ends_with('/') || key.contains(['\0', '\\']);
        if odd || !Path::new(key).components().all(plain) {
            return Err("is no path below its folder: keys are relative, without .. or .".into());
        }
        Ok(())
    }

    fn tells_removed(&self) -> bool {
        self.tells_removed
    }
}

impl Place {
    fn read(&self, key: &str, ask: Ask, slot: &Slot) -> Result<Found, Unread> {
        let root = self.resolved()?;
        // Links may lead anywhere below the folder. One that is changed between these two steps gains
        // nothing: no byte is served whose digest the journal did not commit to.
        let path = match root.join(key).canonicalize() {
            Ok(path) => path,
            Err(error) => return absent(&error, key),
        };
        if !path.starts_with(&root) {
            return Err(Unread::Refused(format!("{key:?} leads out of its folder")));
        }
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return absent(&error, key),
        };
        let about = file.metadata().map_err(|error| refused(&error, key))?;
        if !about.is_file() {
            return Err(Unread::Refused(format!("{key:?} is no plain file")));
        }
        let mut through = Through::new(ask);
        let mut chunk = vec![0; CHUNK];
        loop {
            if slot.given_up() {
                return Err(Unread::Late);
            }
            match file.read(&mut chunk) {
                Ok(0) => return Ok(through.finish()),
                Ok(read) if through.take(&chunk[..read]) => {}
                Ok(_) => return Ok(through.finish()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(refused(&error, key)),
            }
        }
    }

    /// The folder itself, if it is there and is the one that it was.
    fn resolved(&self) -> Result<PathBuf, Unread> {
        let shown = self.root.display();
        let gone = |error| Unread::Refused(format!("its folder {shown}: {error}; is it mounted?"));
        let root = self.root.canonicalize().map_err(gone)?;
        let about = root.metadata().map_err(gone)?;
        if !about.is_dir() {
            return Err(Unread::Refused(format!("{shown} is no folder")));
        }
        if *self.device.get_or_init(|| about.dev()) != about.dev() {
            let why = "lies on another device than before; is its volume mounted?";
            return Err(Unread::Refused(format!("its folder {shown} {why}")));
        }
        Ok(root)
    }
}

/// Whether this says that there is no such file, or only that it cannot be had.
fn absent(error: &std::io::Error, key: &str) -> Result<Found, Unread> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(Found::Missing),
        _ => Err(refused(error, key)),
    }
}

fn refused(error: &std::io::Error, key: &str) -> Unread {
    Unread::Refused(format!("{key:?}: {error}"))
}
