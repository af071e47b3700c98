//! The files of checkpoints, in the journal's folder:
//!
//! | file | what | kept |
//! |---|---|---|
//! | `journal.sign` | the secret key, mode 0600 | until somebody moves it away: then a new one is made |
//! | `journal.signers` | every public key that has signed, a line each | for ever |
//! | `journal.checkpoints` | signed notes, one behind the other | up to [`KEPT`], thinned out |
//!
//! None of them is needed to read the journal.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lacuna_codec::{Checkpoint, NoteError, NoteSigner, NoteVerifier, SignedNote};
use lacuna_core::Timestamp;
use lacuna_store::{Head, StoreError, random, replace};
use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::Signed;

const KEY: &str = "journal.sign";
const SIGNERS: &str = "journal.signers";
const CHECKPOINTS: &str = "journal.checkpoints";
/// Notes that are kept beside the journal. Beyond them every second of the older half goes.
const KEPT: usize = 256;

/// Signs, and keeps what was signed.
pub(crate) struct Notary {
    journal: String,
    folder: Option<PathBuf>,
    /// Where the secret key lies; in memory only if nowhere.
    key: Option<PathBuf>,
    held: Mutex<Held>,
}

/// What the files hold, as far as they were read.
#[derive(Default)]
struct Held {
    signer: Option<NoteSigner>,
    verifiers: Option<Vec<NoteVerifier>>,
    notes: Option<Vec<(Checkpoint, String)>>,
}

impl Notary {
    /// A notary for a journal, with its files in a folder; the key lies there too unless a place is given.
    pub(crate) fn new(journal: &str, folder: Option<&Path>, key: Option<PathBuf>) -> Self {
        let key = key.or_else(|| folder.map(|folder| folder.join(KEY)));
        let folder = folder.map(Path::to_owned);
        Self { journal: journal.to_owned(), folder, key, held: Mutex::default() }
    }

    /// Signs this head and keeps the note.
    pub(crate) fn sign(&self, head: Head, at: Timestamp) -> Result<Signed, StoreError> {
        let held = &mut *self.held.lock();
        let signer = read_once(&mut held.signer, || self.signer())?;
        let key = signer.verifier().clone();
        let verifiers = read_once(&mut held.verifiers, || self.read_verifiers())?;
        if !verifiers.contains(&key) {
            verifiers.push(key.clone());
            let lines: String = verifiers.iter().map(|key| format!("{key}\n")).collect();
            self.write(SIGNERS, &lines)?;
        }
        let (journal, seq) = (self.journal.clone(), head.seq);
        let checkpoint = Checkpoint { journal, seq, head: head.block, at };
        let note = signer.sign(&checkpoint.to_string());
        let notes = read_once(&mut held.notes, || self.read_notes())?;
        notes.push((checkpoint.clone(), note.clone()));
        thin(notes, KEPT);
        let text: Vec<&str> = notes.iter().map(|(_, note)| note.as_str()).collect();
        self.write(CHECKPOINTS, &text.join("\n"))?;
        Ok(Signed { checkpoint, note, key })
    }

    /// The last checkpoint that is kept.
    pub(crate) fn last(&self) -> Result<Option<Checkpoint>, StoreError> {
        let held = &mut *self.held.lock();
        let notes = read_once(&mut held.notes, || self.read_notes())?;
        Ok(notes.last().map(|(checkpoint, _)| checkpoint.clone()))
    }

    /// Every public key that has signed, the newest last.
    pub(crate) fn verifiers(&self) -> Result<Vec<NoteVerifier>, StoreError> {
        let held = &mut *self.held.lock();
        Ok(read_once(&mut held.verifiers, || self.read_verifiers())?.clone())
    }

    /// The signer, from its file; made and written where there is none.
    fn signer(&self) -> Result<NoteSigner, StoreError> {
        if let Some(file) = &self.key {
            let refused = |why: String| StoreError::SigningKey { file: file.clone(), why };
            match std::fs::read_to_string(file) {
                Ok(text) => {
                    let text = Zeroizing::new(text);
                    let signer =
                        NoteSigner::decode(&text).map_err(|error| refused(error.to_string()))?;
                    let (own, name) = (Checkpoint::origin(&self.journal), signer.verifier().name());
                    if name != own {
                        return Err(refused(format!(
                            "it is the key of {name}, and this is {own}: each journal has its own"
                        )));
                    }
                    return Ok(signer);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(refused(error.to_string())),
            }
        }
        let mut seed = Zeroizing::new([0; 32]);
        random(seed.as_mut_slice())?;
        let signer = NoteSigner::new(&Checkpoint::origin(&self.journal), &seed);
        let signer = signer.map_err(|error| StoreError::Damaged(error.to_string()))?;
        if let Some(file) = &self.key {
            let text = Zeroizing::new(format!("{}\n", signer.encode().as_str()));
            replace(file, text.as_bytes()).map_err(writing(file))?;
            tracing::info!(file = %file.display(), key = %signer.verifier(), "a signing key was made");
        }
        Ok(signer)
    }

    fn read_verifiers(&self) -> Result<Vec<NoteVerifier>, StoreError> {
        let Some((file, text)) = self.read(SIGNERS)? else { return Ok(Vec::new()) };
        let mut keys: Vec<NoteVerifier> = Vec::new();
        for (line, key) in (1..).zip(text.lines()) {
            match key.parse() {
                Ok(key) => keys.push(key),
                // One line less is one key less to believe, and nothing else.
                Err(error) => {
                    let file = file.display();
                    tracing::warn!(%file, line, %error, "a key that has signed cannot be read");
                }
            }
        }
        Ok(keys)
    }

    fn read_notes(&self) -> Result<Vec<(Checkpoint, String)>, StoreError> {
        let Some((file, text)) = self.read(CHECKPOINTS)? else { return Ok(Vec::new()) };
        match split(&text) {
            Ok(notes) => Ok(notes),
            Err(error) => {
                // It may be evidence: it is not written over.
                let aside = file.with_extension("checkpoints.unreadable");
                std::fs::rename(&file, &aside).map_err(writing(&aside))?;
                tracing::warn!(file = %aside.display(), %error, "kept checkpoints cannot be read; moved aside");
                Ok(Vec::new())
            }
        }
    }

    fn read(&self, name: &str) -> Result<Option<(PathBuf, String)>, StoreError> {
        let Some(file) = self.folder.as_ref().map(|folder| folder.join(name)) else {
            return Ok(None);
        };
        match std::fs::read(&file) {
            Ok(bytes) => Ok(Some((file, String::from_utf8_lossy(&bytes).into_owned()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => {
                Err(StoreError::Io { doing: format!("reading {}", file.display()), source })
            }
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let Some(file) = self.folder.as_ref().map(|folder| folder.join(name)) else {
            return Ok(());
        };
        replace(&file, text.as_bytes()).map_err(writing(&file))
    }
}

fn read_once<T>(
    held: &mut Option<T>,
    read: impl FnOnce() -> Result<T, StoreError>,
) -> Result<&mut T, StoreError> {
    let value = match held.take() {
        Some(value) => value,
        None => read()?,
    };
    Ok(held.insert(value))
}

fn writing(file: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let doing = format!("writing {}", file.display());
    move |source| StoreError::Io { doing, source }
}

/// The notes of a file that this journal has written, each with what it says.
fn split(text: &str) -> Result<Vec<(Checkpoint, String)>, NoteError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let notes = SignedNote::all(text)?;
    notes.iter().map(|note| Ok((note.text.parse()?, note.to_string()))).collect()
}

/// Lets every second of the older half go where there are too many: the first stays, and the further
/// back, the fewer.
fn thin<T>(kept: &mut Vec<T>, most: usize) {
    if kept.len() > most {
        let half = kept.len() / 2;
        let mut at = 0;
        kept.retain(|_| {
            at += 1;
            at > half || at % 2 == 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_first_the_newest_half_and_ever_fewer_of_the_others() {
        let mut kept = Vec::new();
        for n in 0..10_000 {
            kept.push(n);
            thin(&mut kept, 16);
            assert!(kept.len() <= 16 && kept[0] == 0, "{kept:?}");
            assert_eq!(*kept.last().unwrap(), n);
        }
        assert!(kept[kept.len() - 4..].windows(2).all(|w| w[1] == w[0] + 1), "{kept:?}");
        let widest = kept.windows(2).map(|w| w[1] - w[0]).max().unwrap();
        assert!(widest > 1_000 && kept.len() > 8, "{kept:?}");
    }
}
