//! The keys that payloads are encrypted with, and the two copies in which they are kept.

mod file;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use lacuna_codec::{CompressedPack, Pack, PackBuilder, PackHeader, Seal};
use zeroize::{Zeroize, Zeroizing};

pub(crate) use file::ID;
use file::{KEY_FILE_VERSION, KeyFile, Unread};
pub use tree::{Key, KeyTree, Node};

use crate::folder::Folder;
use crate::steps::step_taken;
use crate::{StoreError, scrub};

/// The keys of a journal, to open its packs with. Clones share them: what is destroyed is gone for
/// all.
#[derive(Debug, Clone)]
pub struct Keys(Arc<RwLock<KeyTree>>);

impl Keys {
    /// The keys of the journal in a folder as they are now, read from the better of its two key files.
    /// Changes nothing; for looking into a journal's file while no [`Store`](crate::Store) has it.
    pub fn in_folder(path: &Path) -> Result<Self, StoreError> {
        Self::of_folder(&Folder::existing(path)?, None).map(|(keys, _)| keys)
    }

    /// The same, with the id of the journal that they are of: of this one, if it is known.
    pub(crate) fn of_folder(
        folder: &Folder,
        journal: Option<&str>,
    ) -> Result<(Self, String), StoreError> {
        let place = Place::Folder(folder.clone());
        let mut copies = place.read_both()?;
        let mut others = Vec::new();
        for (which, copy) in [Which::First, Which::Second].into_iter().zip(&mut copies) {
            if let Ok(Some(file)) = copy
                && let Some(expected) = journal.filter(|journal| *journal != file.journal)
            {
                others.push(place.of_another(which, file, expected));
                *copy = Ok(None);
            }
        }
        let (found, whys) = newest(copies);
        let lost = || others.pop().unwrap_or_else(|| place.lost(&whys));
        let found = found.ok_or_else(lost)?;
        Ok((Self::of(found.tree), found.journal))
    }

    /// Keys apart from all others: what is destroyed elsewhere stays here.
    pub(crate) fn of(tree: KeyTree) -> Self {
        Self(Arc::new(RwLock::new(tree)))
    }

    /// Opens a stored pack, encrypted or not. None if its key was destroyed: what it held is gone.
    pub fn open_pack(&self, stored: &[u8]) -> Result<Option<Pack>, StoreError> {
        let header = PackHeader::read(stored)?;
        let Some(leaf) = header.leaf() else { return Ok(Some(header.open(None)?)) };
        let Some(key) = self.tree().key(leaf) else { return Ok(None) };
        Ok(Some(header.open(Some(key.bytes()))?))
    }

    /// Encrypts a pack with the key of a leaf that was not used before, or for the same payload only.
    pub(crate) fn seal(&self, pack: PackBuilder, leaf: u64) -> Result<(u64, Vec<u8>), StoreError> {
        self.seal_compressed(pack.compress(), leaf)
    }

    /// The same for one that is compressed already.
    pub(crate) fn seal_compressed(
        &self,
        pack: CompressedPack,
        leaf: u64,
    ) -> Result<(u64, Vec<u8>), StoreError> {
        let key = self.tree().key(leaf).ok_or_else(|| {
            StoreError::Damaged(format!("key {leaf} was destroyed before it was used"))
        })?;
        let mut nonce = [0; 24];
        random(&mut nonce)?;
        Ok(pack.seal(&Seal { leaf, nonce, key: key.bytes() }))
    }

    /// The tree as it is now. Nothing is destroyed while the answer is held.
    pub(crate) fn tree(&self) -> RwLockReadGuard<'_, KeyTree> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the keys of a journal that lies on a storage backend, in memory. Clones share them, so a
/// test that opens the same backend again keeps one.
#[derive(Clone, Default)]
pub struct MemoryKeys(Arc<Mutex<[Option<Vec<u8>>; 2]>>);

impl MemoryKeys {
    /// The bytes of both key files as they would stand in a folder.
    pub fn files(&self) -> [Option<Vec<u8>>; 2] {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Holds these bytes from now on.
    pub fn set_files(&self, files: [Option<Vec<u8>>; 2]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = files;
    }
}

impl std::fmt::Debug for MemoryKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryKeys(..)")
    }
}

/// One of the two copies in which keys are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    First,
    Second,
}

/// Where a journal's keys are kept.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Folder(Folder),
    Memory(MemoryKeys),
}

/// One copy, read: nothing, or why it cannot be read, or what it says.
type Copy = Result<Option<KeyFile>, String>;

impl Place {
    fn name(&self, which: Which) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.keys(which),
            Self::Memory(_) => PathBuf::from(format!("(memory, {which:?} copy)")),
        }
    }

    fn bytes(&self, which: Which) -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
        match self {
            Self::Folder(folder) => {
                let path = folder.keys(which);
                match std::fs::metadata(&path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                    // Reading a pipe waits for its other end, a device may have none.
                    Ok(meta) if !meta.is_file() => {
                        return Err(std::io::Error::other("it is no regular file"));
                    }
                    _ => {}
                }
                std::fs::read(&path).map(|bytes| Some(Zeroizing::new(bytes)))
            }
            Self::Memory(memory) => Ok(memory.files()[which as usize].take().map(Zeroizing::new)),
        }
    }

    /// Both copies. A file of a newer release is refused by name.
    fn read_both(&self) -> Result<[Copy; 2], StoreError> {
        Ok([self.read(Which::First)?, self.read(Which::Second)?])
    }

    fn read(&self, which: Which) -> Result<Copy, StoreError> {
        let bytes = match self.bytes(which) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error.to_string())),
        };
        match KeyFile::decode(&bytes) {
            Ok(file) => Ok(Ok(Some(file))),
            Err(Unread::Damaged(why)) => Ok(Err(why.to_owned())),
            Err(Unread::Newer(found)) => {
                Err(StoreError::newer("key file", found, KEY_FILE_VERSION))
            }
        }
    }

    /// Puts these bytes in place of one copy and overwrites what was there.
    fn replace(&self, which: Which, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Folder(folder) => {
                let path = folder.keys(which);
                scrub::replace(&path, bytes).map_err(|source| StoreError::Io {
                    doing: format!("writing the keys to {}", path.display()),
                    source,
                })
            }
            Self::Memory(memory) => {
                let mut files = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(mut old) = files[which as usize].replace(bytes.to_vec()) {
                    old.zeroize();
                }
                Ok(())
            }
        }
    }

    /// Overwrites what a replacement that was cut off has left beside the copies.
    fn finish(&self) -> Result<(), StoreError> {
        let Self::Folder(folder) = self else { return Ok(()) };
        for path in [folder.keys(Which::First), folder.keys(Which::Second)] {
            scrub::finish(&path).map_err(|source| StoreError::Io {
                doing: format!("overwriting what is left beside {}", path.display()),
                source,
            })?;
        }
        Ok(())
    }

    /// That whatever lies in place of a copy can be overwritten like one: no pipe, no device, no folder.
    fn are_files(&self) -> Result<(), StoreError> {
        let Self::Folder(folder) = self else { return Ok(()) };
        for path in [folder.keys(Which::First), folder.keys(Which::Second)] {
            if path.metadata().is_ok_and(|meta| !meta.is_file()) {
                let source = std::io::Error::other("it is no regular file; move it away");
                let doing = format!("reading the keys in {}", path.display());
                return Err(StoreError::Io { doing, source });
            }
        }
        Ok(())
    }

    fn of_another(&self, which: Which, file: &KeyFile, expected: &str) -> StoreError {
        let (found, expected) = (file.journal.clone(), expected.to_owned());
        StoreError::KeysOfAnother { file: self.name(which), found, expected }
    }

    fn lost(&self, whys: &[String]) -> StoreError {
        let why = match whys {
            [] => "there is none".to_owned(),
            whys => whys.join("; "),
        };
        StoreError::KeysLost { file: self.name(Which::First), why }
    }
}

/// Of two copies the newest, and what is wrong with those that cannot be read.
fn newest(copies: [Copy; 2]) -> (Option<KeyFile>, Vec<String>) {
    let (mut found, mut whys): (Option<KeyFile>, _) = (None, Vec::new());
    for copy in copies {
        match copy {
            Ok(Some(file)) if found.as_ref().is_none_or(|f| f.generation < file.generation) => {
                found = Some(file);
            }
            Ok(_) => {}
            Err(why) => whys.push(why),
        }
    }
    (found, whys)
}

/// A journal's keys and the place where they are kept.
#[derive(Debug)]
pub(crate) struct KeyRing {
    pub(crate) keys: Keys,
    place: Place,
    journal: String,
    /// What both copies say. Whoever changes them holds it.
    generation: Mutex<u64>,
}

impl KeyRing {
    /// Reads a journal's keys, and renews a copy that is damaged, missing or older than the other.
    /// Makes keys only for a journal in which nothing is `encrypted` yet.
    pub(crate) fn open(
        place: Place,
        journal: &str,
        encrypted: impl FnOnce() -> Result<bool, StoreError>,
    ) -> Result<Self, StoreError> {
        place.are_files()?;
        place.finish()?;
        let copies = place.read_both()?;
        for (which, copy) in [Which::First, Which::Second].into_iter().zip(&copies) {
            if let Ok(Some(file)) = copy
                && file.journal != journal
            {
                return Err(place.of_another(which, file, journal));
            }
        }
        // What is to be said of each copy, before the better one is taken out of them.
        let states = copies.each_ref().map(|copy| match copy {
            Ok(Some(file)) => Ok(file.generation),
            Ok(None) => Err("it is missing".to_owned()),
            Err(why) => Err(why.clone()),
        });
        let (found, whys) = newest(copies);
        let made = found.is_none();
        let (generation, tree) = match found {
            Some(found) => (found.generation, found.tree),
            None if encrypted()? => return Err(place.lost(&whys)),
            None => {
                if !whys.is_empty() {
                    tracing::warn!(?whys, "the key files are damaged; nothing needs them yet");
                }
                let mut root = [0; 32];
                random(&mut root)?;
                let tree = KeyTree::new(Key::new(root));
                root.zeroize();
                (1, tree)
            }
        };
        let ring = Self {
            keys: Keys::of(tree),
            place,
            journal: journal.to_owned(),
            generation: Mutex::new(generation),
        };
        let bytes = ring.encode(generation);
        for (which, state) in [Which::First, Which::Second].into_iter().zip(states) {
            let file = ring.place.name(which);
            match state {
                Ok(same) if same == generation => continue,
                Ok(older) => tracing::info!(?file, older, generation, "a key file is renewed"),
                Err(_) if made => {}
                Err(why) => tracing::warn!(?file, why, "a key file is made anew from the other"),
            }
            ring.place.replace(which, &bytes)?;
        }
        Ok(ring)
    }

    fn encode(&self, generation: u64) -> Zeroizing<Vec<u8>> {
        KeyFile::encode(generation, &self.journal, &self.keys.tree())
    }

    /// Destroys the keys of these leaves, in both copies and in memory. Once it returns that is
    /// durable. `then` runs before anybody else can change the keys.
    pub(crate) fn puncture(
        &self,
        ranges: &[(u64, u64)],
        then: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tree = self.keys.tree().clone();
        tree.puncture(ranges);
        // Also where writing fails: no two different contents may bear one number.
        *generation += 1;
        let bytes = KeyFile::encode(*generation, &self.journal, &tree);
        self.place.replace(Which::First, &bytes)?;
        step_taken("key-file-1");
        self.place.replace(Which::Second, &bytes)?;
        step_taken("key-file-2");
        *self.keys.0.write().unwrap_or_else(PoisonError::into_inner) = tree;
        then()
    }

    /// Writes these keys of this journal into another folder, for a copy of the journal.
    pub(crate) fn copy_to(&self, folder: &Folder, keys: &Keys) -> Result<(), StoreError> {
        let generation = *self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Place::Folder(folder.clone());
        let bytes = KeyFile::encode(generation, &self.journal, &keys.tree());
        place.replace(Which::First, &bytes)?;
        place.replace(Which::Second, &bytes)
    }
}

/// Fills bytes from the system's source of randomness.
pub fn random(bytes: &mut [u8]) -> Result<(), StoreError> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                let doing = "asking the system for random bytes".into();
                return Err(StoreError::Io { doing, source: error.into() });
            }
        }
    }
    Ok(())
}
