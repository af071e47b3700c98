//! What is left of a content in the files of a journal's folder, for who has the keys that are left.

use std::path::Path;

use lacuna_codec::PackHeader;
use lacuna_store::Keys;

/// Whether these words come out of any file of the folder: as they stand, or out of anything that looks like
/// a pack, opened with the keys as they are now.
pub(crate) fn comes_out(folder: &Path, words: &str) -> bool {
    let keys = Keys::in_folder(folder).unwrap();
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        path.is_file() && comes_out_of(&std::fs::read(path).unwrap(), &keys, words.as_bytes())
    })
}

fn comes_out_of(bytes: &[u8], keys: &Keys, words: &[u8]) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(words.len()).any(|window| window == words);
    let packs = memchr::memmem::find_iter(bytes, b"LCP2");
    holds(bytes) || packs.into_iter().any(|at| opens_to(&bytes[at..], keys, holds))
}

/// Whether a pack that begins here opens and holds them. Where it ends does not stand in it: it can be of
/// any length up to that of its contents, and a little more.
fn opens_to(bytes: &[u8], keys: &Keys, holds: impl Fn(&[u8]) -> bool) -> bool {
    let Some(fixed) = bytes.get(..60) else { return false };
    let word = |at: usize| u32::from_le_bytes(fixed[at..at + 4].try_into().unwrap()) as usize;
    let clear = 60 + 8 * usize::from(u16::from_le_bytes([fixed[6], fixed[7]]));
    let longest = clear + word(16) + 16;
    let shortest = if fixed[4] & 1 == 0 { longest } else { clear + 16 };
    (shortest..=longest.min(bytes.len())).any(|end| {
        PackHeader::read(&bytes[..end]).is_ok()
            && keys.open_pack(&bytes[..end]).is_ok_and(|pack| {
                pack.is_some_and(|pack| pack.seqs().any(|seq| pack.get(seq).is_some_and(&holds)))
            })
    })
}
