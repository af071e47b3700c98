//! Signed notes, their keys, and checkpoints: what is read is written as something that reads the same.
#![no_main]

use std::sync::LazyLock;

use lacuna_codec::{Checkpoint, NoteSigner, NoteVerifier, SignedNote, Trust};
use libfuzzer_sys::fuzz_target;

static SIGNER: LazyLock<NoteSigner> = LazyLock::new(|| {
    let origin = Checkpoint::origin("00112233445566778899aabbccddeeff");
    NoteSigner::new(&origin, &[7; 32]).expect("the name is one")
});

fuzz_target!(|text: &str| {
    if let Ok(notes) = SignedNote::all(text) {
        let keys = [SIGNER.verifier().clone()];
        for note in notes {
            // One by one: a text that begins with a dash would be a signature behind another note.
            let read = SignedNote::all(&note.to_string()).expect("what was written can be read");
            assert_eq!(read, [note.clone()]);
            assert_eq!(note.trust(&[]), Trust::Unknown);
            // Nobody guesses a signature: only the seeds hold some.
            note.trust(&keys);
            note.text.parse::<Checkpoint>().ok();
        }
    }
    if let Ok(verifier) = text.parse::<NoteVerifier>() {
        assert_eq!(verifier.to_string().parse(), Ok(verifier));
    }
    if let Ok(signer) = NoteSigner::decode(text) {
        let again = NoteSigner::decode(&signer.encode()).expect("what was written can be read");
        assert_eq!(again.verifier(), signer.verifier());
    }
    if let Ok(checkpoint) = text.parse::<Checkpoint>() {
        let told = checkpoint.to_string();
        assert_eq!(told.parse(), Ok(checkpoint));
        let signed = SIGNER.sign(&told);
        let notes = SignedNote::all(&signed).expect("what was signed is a note");
        let keys = [SIGNER.verifier().clone()];
        assert_eq!(notes.len(), 1);
        assert_eq!(
            (notes[0].text.as_str(), notes[0].trust(&keys)),
            (told.as_str(), Trust::Signed(&keys[0]))
        );
    }
});
