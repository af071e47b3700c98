//! Text as anchors are compared in it: letters in lower case, and what else does not matter.

use crate::text::AnchorKind;
use crate::text::letters::escape;

/// What does not matter besides case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// Nothing.
    Case,
    /// Which way slashes lean, and how many stand together.
    Slashes,
    /// How wide white space is, and whether quotes and dashes are typographic. Escapes as JSON
    /// writes them count as what they stand for.
    Spaces,
}

impl Fold {
    /// How anchors of this kind are compared.
    pub(super) fn of(kind: AnchorKind) -> Self {
        match kind {
            AnchorKind::Path => Self::Slashes,
            AnchorKind::Command | AnchorKind::Quote => Self::Spaces,
            _ => Self::Case,
        }
    }
}

/// The folded bytes of a text from a place on, each with the place of the byte that it came from.
pub(super) struct Folded<'a> {
    bytes: &'a [u8],
    fold: Fold,
    at: usize,
}

impl<'a> Folded<'a> {
    pub(super) fn new(bytes: &'a [u8], fold: Fold) -> Self {
        Self { bytes, fold, at: 0 }
    }

    /// Where the next byte comes from.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn spaces(&mut self, byte: u8) -> u8 {
        match (byte, &self.bytes[self.at..]) {
            // “ ” „ ‘ ’ ‚ and the dashes: E2 80 xx.
            (0xe2, [0x80, mark, ..]) => {
                let plain = match mark {
                    0x90..=0x95 => b'-',
                    0x98..=0x9b => b'\'',
                    0x9c..=0x9f => b'"',
                    _ => return byte,
                };
                self.at += 2;
                plain
            }
            (b'\\', [b'"' | b'\'' | b'\\', ..]) => {
                self.at += 1;
                self.bytes[self.at - 1]
            }
            _ => byte,
        }
    }

    /// The length of the white space that stands here.
    fn blank(&self) -> usize {
        match &self.bytes[self.at..] {
            [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, ..] => 1,
            [0xc2, 0xa0, ..] => 2,
            [b'\\', ..] if escape(self.bytes, self.at) == 2 => 2,
            _ => 0,
        }
    }
}

impl Iterator for Folded<'_> {
    type Item = (u8, usize);

    fn next(&mut self) -> Option<(u8, usize)> {
        let from = self.at;
        let byte = *self.bytes.get(from)?;
        if self.fold == Fold::Spaces {
            loop {
                match self.blank() {
                    0 => break,
                    length => self.at += length,
                }
            }
            if self.at > from {
                return Some((b' ', from));
            }
        }
        self.at += 1;
        let byte = match self.fold {
            Fold::Spaces => self.spaces(byte),
            Fold::Slashes if matches!(byte, b'/' | b'\\') => {
                let more = self.bytes[self.at..].iter().take_while(|b| matches!(b, b'/' | b'\\'));
                self.at += more.count();
                b'/'
            }
            _ => byte,
        };
        Some((byte.to_ascii_lowercase(), from))
    }
}
