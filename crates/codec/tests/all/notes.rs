//! Signed notes: forms that other tools share, and what is not believed.

use lacuna_codec::{Checkpoint, NoteError, NoteSigner, NoteVerifier, SignedNote, Trust};
use lacuna_core::{Digest, Timestamp};
use proptest::prelude::*;

const JOURNAL: &str = "00112233445566778899aabbccddeeff";

/// The example that the documentation of Go's implementation signs, key and all.
const PUBLIC: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const PRIVATE: &str =
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
const SIGNED: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

fn signer(seed: u8) -> NoteSigner {
    NoteSigner::new(&Checkpoint::origin(JOURNAL), &[seed; 32]).unwrap()
}

fn checkpoint(seq: u64) -> Checkpoint {
    let at = Timestamp(1_796_018_400_000);
    Checkpoint { journal: JOURNAL.into(), seq, head: Digest::of(&seq.to_le_bytes()), at }
}

#[test]
fn notes_and_keys_are_those_of_other_tools() {
    let verifier: NoteVerifier = PUBLIC.parse().unwrap();
    assert_eq!(verifier.to_string(), PUBLIC);
    let [note] = SignedNote::all(&format!("{TEXT}\n{SIGNED}")).unwrap().try_into().unwrap();
    assert_eq!(note.text, TEXT);
    assert_eq!(note.trust(std::slice::from_ref(&verifier)), Trust::Signed(&verifier));
    // And the other way round, byte for byte: Ed25519 has one signature of a text.
    let signer = NoteSigner::decode(PRIVATE).unwrap();
    assert_eq!((signer.verifier(), signer.encode().as_str()), (&verifier, PRIVATE));
    assert_eq!(signer.sign(TEXT), format!("{TEXT}\n{SIGNED}"));
}

#[test]
fn a_checkpoint_reads_as_drawn_and_back() {
    let checkpoint = checkpoint(42);
    let text = checkpoint.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["lacuna/00112233445566778899aabbccddeeff", "42"]);
    assert_eq!((lines[2].len(), lines[3]), (44, "at 2026-11-30T06:00:00.000Z"));
    assert_eq!(text.parse(), Ok(checkpoint.clone()));
    // A later release may say more behind it.
    assert_eq!(format!("{text}witness none\n").parse(), Ok(checkpoint));
    for (line, with) in
        [(0, "other/00"), (0, "lacuna/00"), (1, "042"), (1, "+4"), (1, ""), (2, "AAAA"), (3, "x")]
    {
        let mut lines = lines.clone();
        lines[line] = with;
        assert!(lines.join("\n").parse::<Checkpoint>().is_err(), "{with:?}");
    }
}

#[test]
fn notes_one_behind_the_other_are_told_apart() {
    let (ours, other) = (signer(1), signer(2));
    let notes: Vec<String> = (1..4).map(|seq| ours.sign(&checkpoint(seq).to_string())).collect();
    // With and without blank lines between them, and with a second signature behind the last one.
    let signed_twice = other.sign(&checkpoint(3).to_string());
    let second = signed_twice.rsplit_once("\n\n").unwrap().1;
    let text = format!("{}{}\n{}{second}", notes[0], notes[1], notes[2]);
    let found = SignedNote::all(&text).unwrap();
    let seqs = found.iter().map(|note| note.text.parse::<Checkpoint>().unwrap().seq);
    assert_eq!(seqs.collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(found.iter().map(|n| n.signatures.len()).collect::<Vec<_>>(), [1, 1, 2]);
    let keys = [other.verifier().clone()];
    let trusts: Vec<_> = found.iter().map(|note| note.trust(&keys)).collect();
    assert_eq!(trusts, [Trust::Unknown, Trust::Unknown, Trust::Signed(&keys[0])]);
}

#[test]
fn a_wrong_signature_of_a_believed_key_is_forgery_whoever_else_has_signed() {
    let (ours, other) = (signer(1), signer(2));
    let keys = [ours.verifier().clone(), other.verifier().clone()];
    let (right, wrong) = (checkpoint(1).to_string(), checkpoint(2).to_string());
    let borrowed = other.sign(&wrong).rsplit_once("\n\n").unwrap().1.to_owned();
    let [note] = SignedNote::all(&(ours.sign(&right) + &borrowed)).unwrap().try_into().unwrap();
    assert_eq!(note.trust(&keys), Trust::Forged(&keys[1]));
    assert_eq!(note.trust(&keys[..1]), Trust::Signed(&keys[0]));
    assert_eq!(note.trust(&[]), Trust::Unknown);
}

#[test]
fn what_is_no_note_and_no_key_is_refused() {
    let signed = signer(1).sign(&checkpoint(1).to_string());
    for bad in [
        "",
        "\n",
        "text\n",
        &signed[..signed.len() - 1],
        &signed.replace("\n\n", "\n"),
        &signed.replace("at ", "at\t"),
        "a\n\n\u{2014} name\n",
        "a\n\n\u{2014} name AAAA\n",
        "a\n\n\u{2014} name !!!!\n",
        &format!("{signed}more\n"),
    ] {
        assert!(matches!(SignedNote::all(bad), Err(NoteError::Form(_))), "{bad:?}");
    }
    let key = signer(1).verifier().to_string();
    let (name, rest) = key.split_once('+').unwrap();
    for bad in [
        String::new(),
        name.into(),
        format!("x{name}+{rest}"),
        format!(" +{rest}"),
        key[..key.len() - 4].to_owned(),
        PRIVATE.into(),
        PUBLIC.replace("+AR", "+BR"),
    ] {
        assert!(matches!(bad.parse::<NoteVerifier>(), Err(NoteError::Key(_))), "{bad:?}");
    }
    assert!(NoteSigner::decode(PUBLIC).is_err());
    assert!(NoteSigner::decode(&PRIVATE.replace("c74f20a3", "c74f20a4")).is_err());
}

proptest! {
    #[test]
    fn one_bit_changed_anywhere_is_not_believed(at in 0_usize..1_000, bit in 0_u32..8) {
        let signer = signer(7);
        let keys = [signer.verifier().clone()];
        let mut bytes = signer.sign(&checkpoint(7).to_string()).into_bytes();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let believed = String::from_utf8(bytes).ok().and_then(|text| SignedNote::all(&text).ok());
        for note in believed.into_iter().flatten() {
            prop_assert!(!matches!(note.trust(&keys), Trust::Signed(_)), "byte {at}: {note:?}");
        }
    }
}
