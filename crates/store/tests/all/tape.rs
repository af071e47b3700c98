//! A disk that remembers everything that was asked of it, and the images that a power cut may leave of it.

use std::io;
use std::sync::{Arc, Mutex};

use lacuna_store::MemoryKeys;
use redb::StorageBackend;

/// The smallest part of a write that a disk may write on its own.
const SECTOR: usize = 512;

/// Numbers that follow from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % end.max(1)
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What was asked of a file.
#[derive(Debug, Clone)]
enum Asked {
    Write(usize, Vec<u8>),
    Length(usize),
    Sync,
}

/// The disk: the database's file and its log, and the keys beside them, which are durable at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tape {
    recorded: Arc<Mutex<Recorded>>,
    pub(crate) keys: MemoryKeys,
    file: usize,
}

/// What is to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This read, write, change of length or sync of either file, counted from now; and, if it stays, every
    /// later one of its kind.
    Read {
        after: usize,
        stays: bool,
    },
    Write {
        after: usize,
        stays: bool,
    },
    Length {
        after: usize,
        stays: bool,
    },
    Sync {
        after: usize,
        stays: bool,
    },
    /// This write brings only its front to the disk, and fails.
    Short {
        after: usize,
    },
}

#[derive(Debug, Default)]
struct Recorded {
    fault: Option<Fault>,
    fired: usize,
    began: [Vec<u8>; 2],
    now: [Vec<u8>; 2],
    asked: Vec<(usize, Asked)>,
    /// The keys from some place of the tape on.
    keys: Vec<(usize, [Option<Vec<u8>>; 2])>,
}

/// What a power cut has done, for the counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Writes that no sync had followed.
    pub(crate) unsynced: usize,
    pub(crate) lost: usize,
    pub(crate) torn: usize,
    pub(crate) reordered: bool,
    pub(crate) shortened: bool,
}

impl Tape {
    /// The log on the same disk.
    pub(crate) fn log(&self) -> Self {
        Self { file: 1, ..self.clone() }
    }

    /// How much was asked so far.
    pub(crate) fn place(&self) -> usize {
        self.recorded.lock().unwrap().asked.len()
    }

    /// From now on this goes wrong, or nothing any more.
    pub(crate) fn break_at(&self, fault: Option<Fault>) {
        self.recorded.lock().unwrap().fault = fault;
    }

    /// How often something went wrong.
    pub(crate) fn fired(&self) -> usize {
        self.recorded.lock().unwrap().fired
    }

    /// Notes the keys as of now.
    pub(crate) fn note_keys(&self) {
        let mut recorded = self.recorded.lock().unwrap();
        let place = recorded.asked.len();
        recorded.keys.push((place, self.keys.files()));
    }

    /// The places behind each sync, which are those where most can have gone wrong.
    pub(crate) fn syncs(&self) -> Vec<usize> {
        let recorded = self.recorded.lock().unwrap();
        let syncs =
            recorded.asked.iter().zip(1..).filter(|((_, asked), _)| matches!(asked, Asked::Sync));
        syncs.map(|(_, place)| place).collect()
    }

    /// The disk as a power cut at this place may leave it: everything up to each file's last sync; of what
    /// was written behind it some, in some order, some of that in part.
    pub(crate) fn cut(&self, place: usize, dice: &mut Dice) -> (Self, Cut) {
        let recorded = self.recorded.lock().unwrap();
        let mut cut = Cut::default();
        let files = [0, 1].map(|file| {
            let asked: Vec<&Asked> = recorded.asked[..place]
                .iter()
                .filter(|(of, _)| *of == file)
                .map(|(_, asked)| asked)
                .collect();
            let synced =
                asked.iter().rposition(|a| matches!(a, Asked::Sync)).map_or(0, |at| at + 1);
            let mut image = recorded.began[file].clone();
            asked[..synced].iter().for_each(|asked| apply(&mut image, asked));
            unsynced(&mut image, &asked[synced..], dice, &mut cut);
            image
        });
        let keys = MemoryKeys::default();
        let noted = recorded.keys.iter().rfind(|(at, _)| *at <= place);
        keys.set_files(noted.map_or_else(Default::default, |(_, files)| files.clone()));
        let began = Recorded { began: files.clone(), now: files, ..Recorded::default() };
        let tape = Self { recorded: Arc::new(Mutex::new(began)), keys, file: 0 };
        tape.note_keys();
        (tape, cut)
    }
}

fn apply(image: &mut Vec<u8>, asked: &Asked) {
    match asked {
        Asked::Write(at, data) => image[*at..*at + data.len()].copy_from_slice(data),
        Asked::Length(length) => image.resize(*length, 0),
        Asked::Sync => {}
    }
}

/// Brings some of what was asked behind the last sync into an image.
fn unsynced(image: &mut Vec<u8>, asked: &[&Asked], dice: &mut Dice, cut: &mut Cut) {
    let durable = image.len();
    let length = asked.iter().fold(durable, |length, asked| match asked {
        Asked::Length(length) => *length,
        _ => length,
    });
    // Whether the file has its new length is another matter than what stands in it.
    let shortened = length > durable && dice.one_in(3);
    cut.shortened |= shortened;
    let length = if shortened { durable } else { length };
    image.resize(length, 0);
    let writes = asked.iter().filter_map(|asked| match asked {
        Asked::Write(at, data) => Some((*at, data)),
        _ => None,
    });
    let mut writes: Vec<(usize, &Vec<u8>)> = writes.collect();
    cut.unsynced += writes.len();
    if dice.one_in(3) {
        cut.reordered |= writes.len() > 1;
        (1..writes.len()).for_each(|n| writes.swap(n, dice.below(n + 1)));
    }
    // All but a few, half of them, or a few: each is a way of its own to be unlucky.
    let (kept, of) = [(1, 1), (7, 8), (1, 2), (1, 8), (0, 1)][dice.below(5)];
    for (at, data) in writes {
        if dice.below(of) >= kept {
            cut.lost += 1;
            continue;
        }
        let mut part = 0..data.len();
        let torn = dice.one_in(6);
        cut.torn += usize::from(torn);
        if torn {
            // At a sector's edge, or anywhere: its front or its end.
            let edge = dice.below(data.len() + 1);
            let edge = if dice.one_in(2) { edge / SECTOR * SECTOR } else { edge };
            part = if dice.one_in(2) { 0..edge } else { edge..data.len() };
        }
        let end = part.end.min(image.len().saturating_sub(at));
        if part.start < end {
            image[at + part.start..at + end].copy_from_slice(&data[part.start..end]);
        }
    }
}

impl Recorded {
    /// Whether it goes wrong this time; counts down to the time when it does.
    fn goes_wrong(&mut self, of: impl Fn(&mut Fault) -> Option<(&mut usize, bool)>) -> bool {
        let Some((after, stays)) = self.fault.as_mut().and_then(of) else { return false };
        if *after > 0 {
            *after -= 1;
            return false;
        }
        if !stays {
            self.fault = None;
        }
        self.fired += 1;
        true
    }

    fn ask(&mut self, file: usize, asked: Asked) {
        apply(&mut self.now[file], &asked);
        self.asked.push((file, asked));
    }
}

fn broken() -> io::Error {
    io::Error::from_raw_os_error(5)
}

impl StorageBackend for Tape {
    fn len(&self) -> io::Result<u64> {
        Ok(self.recorded.lock().unwrap().now[self.file].len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut recorded = self.recorded.lock().unwrap();
        if recorded.goes_wrong(|fault| match fault {
            Fault::Read { after, stays } => Some((after, *stays)),
            _ => None,
        }) {
            return Err(broken());
        }
        let from = recorded.now[self.file].get(offset as usize..).unwrap_or_default();
        out.copy_from_slice(from.get(..out.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut recorded = self.recorded.lock().unwrap();
        if recorded.goes_wrong(|fault| match fault {
            Fault::Length { after, stays } => Some((after, *stays)),
            _ => None,
        }) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        recorded.ask(self.file, Asked::Length(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut recorded = self.recorded.lock().unwrap();
        if recorded.goes_wrong(|fault| match fault {
            Fault::Sync { after, stays } => Some((after, *stays)),
            _ => None,
        }) {
            return Err(broken());
        }
        recorded.ask(self.file, Asked::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut recorded = self.recorded.lock().unwrap();
        if recorded.goes_wrong(|fault| match fault {
            Fault::Write { after, stays } => Some((after, *stays)),
            _ => None,
        }) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let short = recorded.goes_wrong(|fault| match fault {
            Fault::Short { after } => Some((after, true)),
            _ => None,
        });
        let part = if short { &data[..data.len() / 2] } else { data };
        recorded.ask(self.file, Asked::Write(offset as usize, part.to_vec()));
        if short { Err(broken()) } else { Ok(()) }
    }
}
