//! What fuzzing has found, kept as it was found: `tests/fuzz` has the inputs, and a newer compiler to look for
//! more of them.

use lacuna_codec::{CodecError, NoteError, SignedNote, StoredSnapshot, decode_snapshot};

#[allow(dead_code, unreachable_pub, reason = "the fuzz targets need more of it")]
#[path = "../../../../tests/fuzz/src/forge.rs"]
mod forge;

fn seed(name: &str) -> Vec<u8> {
    let path = crate::schemas().join("../tests/fuzz/seeds").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A snapshot whose checks fit, as somebody could write it who may write to the folder.
fn refused(name: &str, forge: fn(&[u8]) -> Vec<u8>) -> String {
    let forged = forge(&seed(name));
    assert!(StoredSnapshot::read(&forged).unwrap().is_some(), "it is of the format in force");
    match decode_snapshot(&forged) {
        Err(CodecError::Damaged { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// It made room for all of them first, and ended the process.
#[test]
fn a_snapshot_that_counts_spans_which_are_not_there_is_refused() {
    assert_eq!(
        refused("snapshot/found-spans-that-are-not-there", forge::snapshot_of_one_extent),
        "its parts do not fit together"
    );
}

/// Each showing took memory, however often the same few spans were shown.
#[test]
fn a_snapshot_that_shows_a_span_twice_is_refused() {
    assert_eq!(
        refused("snapshot/found-shown-again-and-again", forge::snapshot),
        "its parts do not fit together"
    );
}

/// Room was made for what it said, whatever its own size.
#[test]
fn a_snapshot_with_a_text_that_is_longer_than_it_is_refused_before_room_is_made() {
    let why = refused("snapshot/found-a-text-that-is-not-there", forge::snapshot_of_one_extent);
    assert!(why.contains("LimitExceeded"), "{why}");
}

/// It was taken for a note with an empty text, which could not be read again once it was written.
#[test]
fn a_signature_without_a_text_is_no_note() {
    let text = String::from_utf8(seed("notes/found-without-a-text")).unwrap();
    assert_eq!(SignedNote::all(&text), Err(NoteError::Form("a signature without a text")));
}

/// All that is kept besides: harmless, with the checks made to fit as well.
#[test]
fn the_seeds_of_stored_forms_are_harmless() {
    let mut read = 0;
    for kind in ["block", "pack", "snapshot", "event", "log_record"] {
        let folder = crate::schemas().join("../tests/fuzz/seeds").join(kind);
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            for bytes in [forge::block(&bytes), forge::pack(&bytes), forge::snapshot(&bytes), bytes]
            {
                crate::hostile::read_as_everything(&bytes);
                read += 1;
            }
        }
    }
    assert!(read > 100, "{read} forms");
}
