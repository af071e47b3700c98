//! Key files. What they say is asked by opening packs: a key that is there opens its packs, one that was
//! destroyed opens none.
//!
//! Input: a byte that says which, then either a key file without its checksum, or leaves to destroy.
#![no_main]

use std::sync::LazyLock;

use lacuna_codec::{PackBuilder, Seal};
use lacuna_fuzz::{first, forge};
use lacuna_store::{Key, KeyTree, Keys};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// A folder that looks like a journal's.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary folder");
    std::fs::write(folder.path().join("journal.redb"), b"").expect("a file in it");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let (which, rest) = first(bytes);
    match which % 3 {
        0 => drop(keys(rest)),
        1 => {
            let Some(keys) = keys(&forge::key_file(rest)) else { return };
            for leaf in leaves(rest).into_iter().chain([0, 1, u64::MAX]) {
                // Any leaf can be asked for, whatever the nodes are.
                keys.open_pack(&pack(leaf, &Key::new([9; 32]))).ok();
            }
        }
        _ => punctured(&leaves(rest)),
    }
});

fn keys(file: &[u8]) -> Option<Keys> {
    std::fs::write(FOLDER.path().join("journal.keys"), file).expect("a file in the folder");
    Keys::in_folder(FOLDER.path()).ok()
}

fn pack(leaf: u64, key: &Key) -> Vec<u8> {
    let mut builder = PackBuilder::default();
    builder.push(1, b"payload");
    builder.seal(&Seal { leaf, nonce: [1; 24], key: key.bytes() }).1
}

fn leaves(bytes: &[u8]) -> Vec<u64> {
    let leaf = |bytes: &[u8]| bytes.iter().fold(0, |leaf, byte| leaf << 8 | u64::from(*byte));
    bytes.chunks(8).map(leaf).take(32).collect()
}

/// Destroys these leaves, writes what is left as the layout is drawn, and reads it.
fn punctured(leaves: &[u64]) {
    let (mut tree, whole) = (KeyTree::new(Key::new([3; 32])), KeyTree::new(Key::new([3; 32])));
    let mut sorted = leaves.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let gone: Vec<u64> = sorted.iter().step_by(2).copied().collect();
    let ranges: Vec<(u64, u64)> = gone.iter().map(|leaf| (*leaf, *leaf)).collect();
    tree.puncture(&ranges);
    let mut file = vec![0; 16];
    file.extend_from_slice(forge::JOURNAL.as_bytes());
    file.extend_from_slice(&[0; 8]);
    for node in tree.cover() {
        file.extend_from_slice(&node.first.to_le_bytes());
        file.push(node.depth);
        file.extend_from_slice(node.key.bytes());
    }
    let keys = keys(&forge::key_file(&file)).expect("the layout is the one that is read");
    for leaf in sorted {
        let key = whole.key(leaf).expect("nothing is gone from it");
        let opened = keys.open_pack(&pack(leaf, &key)).expect("the key is the right one or gone");
        assert_eq!(opened.is_none(), gone.contains(&leaf), "leaf {leaf}");
        assert_eq!(tree.key(leaf).is_none(), gone.contains(&leaf), "leaf {leaf}");
    }
}
