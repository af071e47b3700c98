//! Bytes cut into JSON values, whatever state they are in: a document, lines, values glued
//! together, a byte-order mark, CRLF, runs of NUL, a torn tail, a torn record fused with the good
//! one that was appended after it. Every byte that is not white space ends up in some piece.
//!
//! Work is linear in the input: retries are bounded per line and by a budget per file.

use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::fields::Fields;

/// Places within one broken line where a fused record is looked for, and the bytes that the search
/// may read in all.
const FUSED_TRIES: usize = 64;
const FUSED_BYTES: usize = 64 << 20;
/// Neighbouring broken lines are joined up to this size, so that a large file of another kind
/// does not become a span per line.
const BROKEN_MAX: usize = 1 << 20;

/// One value of the input, or a stretch that is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// Its exact bytes, white space around them trimmed.
    pub(crate) bytes: &'a [u8],
    /// What it is.
    pub(crate) shape: Shape<'a>,
}

/// What a piece of input is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// A JSON value.
    Value(&'a RawValue),
    /// Text that is no JSON value.
    Unparsable,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A run of NUL bytes, as a power loss leaves them.
    NulRun,
    /// An unfinished value at the very end.
    TornTail,
}

impl Shape<'_> {
    /// The word for the report and the label `raw`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Value(_) => "value",
            Self::Unparsable => "unparsable",
            Self::NotUtf8 => "not-utf8",
            Self::NulRun => "nul-run",
            Self::TornTail => "torn-tail",
        }
    }
}

/// The pieces of a file in order. `is_record` recognises the format's records: it decides whether
/// a value found behind a torn one is a record of its own.
pub(crate) fn read(bytes: &[u8], is_record: fn(&Fields<'_>) -> bool) -> Vec<Piece<'_>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let whole = trim(bytes);
    if whole.is_empty() {
        return Vec::new();
    }
    if let Some(value) = one_value(whole) {
        return vec![Piece { bytes: whole, shape: Shape::Value(value) }];
    }
    let mut reader =
        Reader { is_record, whole: bytes, pieces: Vec::new(), budget: bytes.len() * 4 };
    if !reader.torn_list(whole) {
        reader.lines(bytes);
    }
    reader.finish(bytes.last() == Some(&b'\n'))
}

struct Reader<'a> {
    is_record: fn(&Fields<'_>) -> bool,
    whole: &'a [u8],
    pieces: Vec<Piece<'a>>,
    /// Bytes that failed attempts at values over several lines may still scan.
    budget: usize,
}

impl<'a> Reader<'a> {
    fn lines(&mut self, bytes: &'a [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
            let line = trim(&bytes[at..end]);
            if !line.is_empty()
                && one_value(line).is_none()
                && let Some(next) = self.value_over_lines(bytes, at, line)
            {
                at = next;
                continue;
            }
            self.line(line);
            at = end + 1;
        }
    }

    /// A value that starts on this line and ends on a later one (pretty-printed); gives the place
    /// behind it.
    fn value_over_lines(&mut self, bytes: &'a [u8], at: usize, line: &[u8]) -> Option<usize> {
        if !matches!(line.first(), Some(b'{' | b'[')) || self.budget == 0 {
            return None;
        }
        let mut stream = Deserializer::from_slice(&bytes[at..]).into_iter::<&'a RawValue>();
        let first = stream.next();
        let end = at + stream.byte_offset();
        match first {
            Some(Ok(value)) if end - at > line.len() => {
                self.pieces
                    .push(Piece { bytes: trim(&bytes[at..end]), shape: Shape::Value(value) });
                Some(end)
            }
            Some(Ok(_)) => None,
            Some(Err(error)) => {
                let cost = scanned(&bytes[at..], error.line());
                self.budget = self.budget.saturating_sub(cost);
                None
            }
            None => None,
        }
    }

    fn line(&mut self, line: &'a [u8]) {
        let mut rest = line;
        while !rest.is_empty() {
            let nuls = rest.iter().take_while(|b| **b == 0).count();
            if nuls > 0 {
                self.broken(&rest[..nuls], Shape::NulRun);
                rest = trim(&rest[nuls..]);
                continue;
            }
            // NULs behind the text are a piece of their own.
            let text_end = rest.len() - rest.iter().rev().take_while(|b| **b == 0).count();
            let (text, nuls) = rest.split_at(text_end);
            self.values(trim(text));
            rest = nuls;
        }
    }

    /// One or more values on one line, then perhaps something broken.
    fn values(&mut self, line: &'a [u8]) {
        let mut stream = Deserializer::from_slice(line).into_iter::<&'a RawValue>();
        let (mut start, mut found) = (0, 0);
        while let Some(Ok(value)) = stream.next() {
            let end = stream.byte_offset();
            let whole = found == 0 && trim(&line[end..]).is_empty();
            // A number or word with something behind it is the start of plain text.
            if !whole && !value.get().starts_with(['{', '[']) {
                break;
            }
            self.pieces.push(Piece { bytes: trim(&line[start..end]), shape: Shape::Value(value) });
            (start, found) = (end, found + 1);
        }
        let rest = trim(&line[start..]);
        if !rest.is_empty() {
            self.broken_or_fused(rest);
        }
    }

    fn broken_or_fused(&mut self, rest: &'a [u8]) {
        let places = rest.windows(2).enumerate().skip(1).filter(|(_, pair)| pair == b"{\"");
        let tries = (FUSED_BYTES / rest.len().max(1)).clamp(1, FUSED_TRIES);
        for (at, _) in places.take(tries) {
            let Some(value) = one_value(&rest[at..]) else { continue };
            if Fields::of(value).is_some_and(|fields| (self.is_record)(&fields)) {
                self.broken(trim(&rest[..at]), Shape::Unparsable);
                self.pieces.push(Piece { bytes: &rest[at..], shape: Shape::Value(value) });
                return;
            }
        }
        self.broken(rest, Shape::Unparsable);
    }

    fn broken(&mut self, bytes: &'a [u8], shape: Shape<'a>) {
        let shape = match shape {
            Shape::Unparsable if std::str::from_utf8(bytes).is_err() => Shape::NotUtf8,
            shape => shape,
        };
        if let (Shape::Unparsable, Some(last)) = (shape, self.pieces.last_mut()) {
            let from = last.bytes.as_ptr().addr() - self.whole.as_ptr().addr();
            let to = bytes.as_ptr().addr() + bytes.len() - self.whole.as_ptr().addr();
            if matches!(last.shape, Shape::Unparsable) && to - from <= BROKEN_MAX {
                last.bytes = &self.whole[from..to];
                return;
            }
        }
        self.pieces.push(Piece { bytes, shape });
    }

    /// A list whose end is missing: its elements, then the torn one.
    fn torn_list(&mut self, whole: &'a [u8]) -> bool {
        let line_end = whole.iter().position(|b| *b == b'\n').unwrap_or(whole.len());
        let first_line = trim(&whole[..line_end]);
        let starts = first_line.first() == Some(&b'[');
        if !starts || one_value(first_line).is_some() {
            return false;
        }
        let mut pieces = Vec::new();
        let mut rest = trim(&whole[1..]);
        while !rest.is_empty() {
            let mut stream = Deserializer::from_slice(rest).into_iter::<&'a RawValue>();
            let Some(Ok(value)) = stream.next() else { break };
            let end = stream.byte_offset();
            let behind = trim(&rest[end..]);
            if !behind.is_empty() && behind[0] != b',' {
                break;
            }
            pieces.push(Piece { bytes: trim(&rest[..end]), shape: Shape::Value(value) });
            rest = behind.strip_prefix(b",").map_or(behind, trim);
        }
        if pieces.is_empty() {
            return false;
        }
        self.pieces = pieces;
        if !rest.is_empty() {
            self.line(rest);
        }
        true
    }

    /// Names the torn tail.
    fn finish(mut self, ends_in_newline: bool) -> Vec<Piece<'a>> {
        if let Some(last) = self.pieces.last_mut() {
            let opens = matches!(last.bytes.first(), Some(b'{' | b'['));
            if !ends_in_newline && opens && matches!(last.shape, Shape::Unparsable) {
                last.shape = Shape::TornTail;
            }
        }
        self.pieces
    }
}

/// Bytes up to the end of this line (counted from 1): what a parser has read that failed there.
fn scanned(bytes: &[u8], line: usize) -> usize {
    let newlines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
    newlines.take(line.max(1)).last().unwrap_or(bytes.len()).max(1)
}

fn one_value(bytes: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(bytes).ok()
}

fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_record(fields: &Fields<'_>) -> bool {
        fields.get("type").is_some() && fields.get("uuid").is_some()
    }

    fn cut(bytes: &[u8]) -> Vec<(&'static str, String)> {
        let pieces = read(bytes, is_record);
        pieces
            .iter()
            .map(|piece| (piece.shape.word(), String::from_utf8_lossy(piece.bytes).into_owned()))
            .collect()
    }

    fn value(text: &str) -> (&'static str, String) {
        ("value", text.to_owned())
    }

    #[test]
    fn lines_documents_and_glued_values_are_cut() {
        let expected = vec![value("{\"a\":1}"), value("{\"b\":2}"), value("[3]")];
        assert_eq!(cut(b"{\"a\":1}\n{\"b\":2}\n[3]\n"), expected);
        assert_eq!(cut(b"\xef\xbb\xbf{\"a\":1}\r\n\r\n{\"b\":2}\r\n[3]"), expected);
        assert_eq!(cut(b"{\"a\":1}{\"b\":2} [3]"), expected);
        assert_eq!(cut(b"  {\n \"a\": [\n1]}\n"), vec![value("{\n \"a\": [\n1]}")]);
        let pretty = b"{\n\"a\":\n1}\n{\n\"b\":2\n}{\"c\":3}\n";
        assert_eq!(
            cut(pretty),
            vec![value("{\n\"a\":\n1}"), value("{\n\"b\":2\n}"), value("{\"c\":3}")]
        );
        assert_eq!(cut(b" \n\r\n\t"), vec![]);
    }

    #[test]
    fn broken_stretches_are_kept_and_named() {
        assert_eq!(
            cut(b"{\"a\":1}\n{\"b\":\"to"),
            vec![value("{\"a\":1}"), ("torn-tail", "{\"b\":\"to".to_owned())]
        );
        assert_eq!(
            cut(b"{\"a\":1}\n\0\0\0\0"),
            vec![value("{\"a\":1}"), ("nul-run", "\0\0\0\0".to_owned())]
        );
        assert_eq!(
            cut(b"{\"a\":1}\0\0\n\0{\"b\":2}\n"),
            vec![
                value("{\"a\":1}"),
                ("nul-run", "\0\0".to_owned()),
                ("nul-run", "\0".to_owned()),
                value("{\"b\":2}")
            ]
        );
        assert_eq!(
            cut(b"2024-01-01 hello\nworld\n{\"a\":1}\n42\n"),
            vec![
                ("unparsable", "2024-01-01 hello\nworld".to_owned()),
                value("{\"a\":1}"),
                value("42")
            ]
        );
        assert_eq!(cut(b"{\"a\":\"\xff\"}\n{\"b\":2}\n")[0].0, "not-utf8");
        assert_eq!(cut(b"{\"a\":\"\xff\"}\n{\"b\":2}\n")[1], value("{\"b\":2}"));
    }

    #[test]
    fn a_good_record_behind_a_torn_one_is_found() {
        let good = r#"{"type":"user","uuid":"u2","message":{"content":"x"}}"#;
        let line = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"to{good}\n[1]\n");
        assert_eq!(
            cut(line.as_bytes()),
            vec![
                ("unparsable", "{\"type\":\"user\",\"message\":{\"content\":\"to".to_owned()),
                value(good),
                value("[1]")
            ]
        );
    }

    #[test]
    fn a_list_without_its_end_gives_its_elements() {
        let expected =
            vec![value("{\"a\":1}"), value("{\"b\":2}"), ("torn-tail", "{\"c\":".to_owned())];
        assert_eq!(cut(b"[{\"a\":1},{\"b\":2},{\"c\":"), expected);
        assert_eq!(cut(b"[\n {\"a\":1},\n {\"b\":2},\n {\"c\":\n"), {
            let mut expected = expected.clone();
            expected[2].0 = "unparsable";
            expected
        });
    }

    #[test]
    fn hostile_nesting_takes_linear_time_and_no_stack() {
        let open = b"[\n".repeat(300_000);
        assert_eq!(cut(&open).iter().map(|(_, text)| text.len()).sum::<usize>() / 100_000, 5);
        let mut deep = b"{\"a\":".repeat(500_000);
        deep.extend_from_slice(b"1");
        deep.extend(std::iter::repeat_n(b'}', 500_000));
        assert_eq!(cut(&deep).len(), 1);
        let keys: Vec<_> = (0..200_000).map(|n| format!("\"k{n}\":1")).collect();
        let wide = format!("{{{}}}", keys.join(","));
        let pieces = read(wide.as_bytes(), is_record);
        let Shape::Value(value) = pieces[0].shape else { panic!("{:?}", pieces[0].shape) };
        assert_eq!(Fields::of(value).unwrap().rest(&["k7"]).len(), 199_999);
    }
}
