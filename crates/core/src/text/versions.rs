//! What a source's version supports besides itself: `3.12.4` says `3.12`, too.

use crate::text::anchor::AnchorKind;
use crate::text::run::Runs;
use crate::text::shape::{digits, is_number};

/// What has versions of one or two numbers, in lower case: behind these `15.4` says 15, too.
const PRODUCTS: &[&[u8]] = &[
    b"android",
    b"angular",
    b"ansible",
    b"bun",
    b"clang",
    b"cuda",
    b"debian",
    b"deno",
    b"django",
    b"docker",
    b"elasticsearch",
    b"elixir",
    b"erlang",
    b"fedora",
    b"gcc",
    b"go",
    b"helm",
    b"ios",
    b"java",
    b"jdk",
    b"kafka",
    b"kotlin",
    b"kubernetes",
    b"laravel",
    b"llvm",
    b"macos",
    b"mariadb",
    b"mongodb",
    b"mysql",
    b"next",
    b"nginx",
    b"node",
    b"nodejs",
    b"openssl",
    b"php",
    b"postgres",
    b"postgresql",
    b"python",
    b"pytorch",
    b"rails",
    b"react",
    b"redis",
    b"release",
    b"ruby",
    b"rust",
    b"scala",
    b"spring",
    b"swift",
    b"terraform",
    b"typescript",
    b"ubuntu",
    b"v",
    b"version",
    b"vue",
];

/// The dots at which a version's beginnings are known.
const DOTS: usize = 3;

impl Runs<'_> {
    /// Records a version, with or without a `v`. A source supports its beginnings at its dots, and
    /// the number of a release before the release: `alpha.2` of `v6.0.0-alpha.2`, but not `6.0.0`.
    pub(super) fn version(&mut self, start: usize, end: usize) {
        self.push(AnchorKind::Version, start, end);
        if !self.parts {
            return;
        }
        let from = start + usize::from(!self.bytes[start].is_ascii_digit());
        if is_number(&self.bytes[from..end]) {
            self.push(AnchorKind::Number, from, end);
        }
        let mut at = from + digits(&self.bytes[from..end]);
        // Of a longer row of numbers the forms would cost more than the row is long.
        let mut dots = 0;
        while at < end && self.bytes[at] == b'.' && dots < DOTS {
            dots += 1;
            self.push(AnchorKind::Version, from, at);
            self.push(AnchorKind::Number, from, at);
            let more = digits(&self.bytes[at + 1..end]);
            if more == 0 {
                break;
            }
            at += 1 + more;
        }
        let tail = &self.bytes[at..end];
        let last = tail.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        if last > 0 && matches!(tail[..tail.len() - last], [.., b'.' | b'-' | b'+']) {
            self.push(AnchorKind::Number, end - last, end);
        }
    }

    /// Records the first number of `15.4` where it is the version of something.
    pub(super) fn major(&mut self, start: usize, end: usize) {
        let whole = digits(&self.bytes[start..end]);
        if !self.parts || whole == 0 {
            return;
        }
        let head = &self.bytes[start.saturating_sub(24)..start];
        let Some(head) = head.strip_suffix(b" ") else { return };
        let length = head.iter().rev().take_while(|b| b.is_ascii_alphabetic()).count();
        let word = &head[head.len() - length..];
        if PRODUCTS.iter().any(|product| product.eq_ignore_ascii_case(word)) {
            self.part(AnchorKind::Number, start, start + whole);
        }
    }
}
