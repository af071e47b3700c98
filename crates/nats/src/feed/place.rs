//! Where publishing had come to, in a small file beside the journal. The stream itself is the authority;
//! the file tells where to go on when the stream is the same and holds nothing any more, because it was
//! purged or everything in it was too old. Should the file be lost, events come again; none is missed.
//!
//! ```text
//! lacuna-feed 1
//! journal <id>
//! place <stream seq> <journal seq> <when the stream was made>
//! ```

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use super::api::Info;

/// The first line of the file.
const MARK: &str = "lacuna-feed 1";

/// Where publishing has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// When the stream was made.
    pub(super) created: String,
    /// Where the stream ended, at least.
    pub(super) stream_seq: u64,
    /// The last event that was in it then.
    pub(super) seq: u64,
}

impl Place {
    /// The last seq that needs no publishing any more, of a stream whose last event is `held`.
    ///
    /// What is remembered counts while the stream is the same and has lost nothing since. A broker that
    /// lost what it had acknowledged ends earlier than remembered: then only what it holds counts.
    pub(super) fn resume(&self, info: &Info, held: Option<u64>) -> u64 {
        let same = self.created == info.created && info.last_seq >= self.stream_seq;
        held.unwrap_or(0).max(if same { self.seq } else { 0 })
    }

    fn print(&self, journal: &str) -> String {
        let Self { created, stream_seq, seq } = self;
        format!("{MARK}\njournal {journal}\nplace {stream_seq} {seq} {created}\n")
    }

    /// Reads what was written of this journal; none of another one, or of a later state of it than this
    /// last seq.
    fn parse(text: &str, journal: &str, last_seq: u64) -> Option<Self> {
        // A file that was cut off may have lost a digit.
        let mut lines = text.strip_suffix('\n')?.lines();
        let ours = lines.next()? == MARK && lines.next()?.strip_prefix("journal ")? == journal;
        let mut words = lines.next()?.strip_prefix("place ")?.splitn(3, ' ');
        let (stream_seq, seq) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let created = words.next()?.to_owned();
        (ours && seq <= last_seq).then_some(Self { created, stream_seq, seq })
    }

    /// What the file says; the beginning if it says nothing of use.
    pub(super) fn load(file: &Path, journal: &str, last_seq: u64) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found = Self::parse(&text, journal, last_seq);
        if found.is_none() && !text.is_empty() {
            let file = file.display();
            tracing::warn!(%file, "the feed's place cannot be used: only what the stream holds counts");
        }
        found.unwrap_or_default()
    }

    /// Writes the file, in place of what it said before, and makes that durable.
    pub(super) fn save(&self, file: &Path, journal: &str) -> std::io::Result<()> {
        let new = file.with_extension("feed.new");
        let mut written = File::create(&new)?;
        written.write_all(self.print(journal).as_bytes())?;
        written.sync_all()?;
        std::fs::rename(&new, file)?;
        match file.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { created: "2026-11-30T06:00:00.1Z".into(), stream_seq: 40, seq: 37 }
    }

    #[test]
    fn what_is_written_reads_back_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.feed");
        assert_eq!(Place::load(&file, "abc", 100), Place::default());
        place().save(&file, "abc").unwrap();
        assert_eq!(Place::load(&file, "abc", 37), place());
        assert_eq!(Place::load(&file, "abc", 36), Place::default(), "of a later state");
        assert_eq!(Place::load(&file, "other", 100), Place::default());
        let text = place().print("abc");
        for cut in 0..text.len() {
            assert_eq!(Place::parse(&text[..cut], "abc", 100), None, "{:?}", &text[..cut]);
        }
    }

    #[test]
    fn publishing_goes_on_behind_what_the_stream_really_holds() {
        let created = place().created;
        let of = |created: &str, last_seq, held| {
            place().resume(&Info { created: created.into(), last_seq, ..Info::default() }, held)
        };
        assert_eq!(of(&created, 40, Some(37)), 37, "as it was left");
        assert_eq!(of(&created, 45, Some(42)), 42, "more was acknowledged than written down");
        assert_eq!(of(&created, 40, None), 37, "purged");
        assert_eq!(of(&created, 30, Some(27)), 27, "it lost what it had acknowledged");
        assert_eq!(of(&created, 30, None), 0, "it lost all of it");
        assert_eq!(of("later", 0, None), 0, "made anew");
        assert_eq!(of("later", 50, Some(12)), 12, "made anew, and begun");
        let first = Place::default().resume(&Info { created, ..Info::default() }, None);
        assert_eq!(first, 0, "nothing is remembered");
    }
}
