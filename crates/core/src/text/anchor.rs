//! Anchors: the words of a text that can be checked letter by letter.
//!
//! # What is an anchor
//! | kind | is | is not |
//! |---|---|---|
//! | `uuid` | 8-4-4-4-12 hex digits | |
//! | `hash` | 7 or more hex digits with a digit and a letter, 32 or more, `0x` and 6 or more | `deadbeef`, `1e10` |
//! | `request_id` | names that mix letters and digits: `req-8f41`, `toolu_01AbC`, `block_7`, `us-east-1`; codes of 6 to 8 capitals and digits: `D1EW9B`, `#W2378157`; capitals alone behind a label: `reservation HXDUBJ` | `top-10`, `24-hour`, `k8s-style` |
//! | `error_code` | `ENOENT`, `E0432`, `TS2345`, `ERR_CONN_RESET`, `ABC-1234`, `42P01` | `UTF-8`, `RFC3339`, 404 (a number) |
//! | `email`, `url` | `a@b.example`, `scheme://...` without the full stop that follows | |
//! | `path` | begins with `/ ./ ../ ~/ C:\`, or ends in a file's extension, or begins with a folder that every project has, or has four slashes | `and/or`, `CI/CD`, `his/her/their`, `user/tool/system/model` |
//! | `version` | `v2`, `1.2.3`, `1.0-rc1` | `3.11` (a number) |
//! | `host` | IP addresses, names under a known top-level domain, `localhost:80`, `db:5432` | `localhost` |
//! | `time` | `2026-11-30`, `30/Nov/2026`, `5 April 1990`, `April 5`, `14:05`, `14:05:31.5`, `6am`, `7:00 p.m.`, RFC 3339 | `May 2026`, `may 3 retries`; `May 3 retries fail` where a sentence begins |
//! | `command` | words in backticks, lines that begin with `$ ` | |
//! | `identifier` | `snake_case`, `camelCase`, `a::b`, `a.b`, `f()`, `--flag`, `-DFLAG`, `$HOME`, `worker7` | `e.g.`, `read-only`, `GitHub`, `HTTP`, `IDs` |
//! | `quote` | 3 to 200 bytes in `"` `“”` `«»` `'` or backticks on one line | a JSON key, a quote of nothing but another anchor |
//! | `number` | digits with their attached unit: `30ms`, `1,200`, `0.5`, `1st`, `25k`, `1.2M`, `1 million`; both of `1920x1080` and of `1h30m` | digits inside any other anchor or word, a list's `1.` |
//!
//! Compared are values, not spellings: `5 April 1990` is `1990-04-05`, `7 PM` is `19:00`, `88.0` is 88
//! (and so the number `3.10` is `3.1`), `25k` is 25,000. An `M` or a `B` is a scale, or the unit of a
//! source's `512 MB`. Signs are not compared. A source supports what is less exact than what it says: a
//! date without its year, a time without its seconds, `3.12` of `3.12.4`, 30 of `30req/s`, the date of
//! `Nov 30 09:12:44 2026`. A month with a year alone is a number. Invisible characters (U+200B and its like) still cut an anchor in two.
//!
//! Doubtful shapes are decided for prose: a claim's false anchor refuses an honest summary.

use serde::{Deserialize, Serialize};

use crate::span::words;
use crate::text::walk::Walk;

words! {
    /// What an anchor is. The order is that of worth: what names one thing in the world first.
    AnchorKind {
        /// A UUID.
        Uuid = "uuid",
        /// A digest or another long number in hexadecimal.
        Hash = "hash",
        /// A name that mixes letters and digits, as machines give them.
        RequestId = "request_id",
        /// The code of an error, or a ticket's number.
        ErrorCode = "error_code",
        /// A mail address.
        Email = "email",
        /// A URL with its scheme.
        Url = "url",
        /// A path or the name of a file.
        Path = "path",
        /// A version.
        Version = "version",
        /// The name or address of a host, with its port if one is given.
        Host = "host",
        /// A date, a time of day, or both.
        Time = "time",
        /// A command line, or other code of several words.
        Command = "command",
        /// A name of program text.
        Identifier = "identifier",
        /// Words in quotes.
        Quote = "quote",
        /// A number.
        Number = "number",
    }
}

/// The longest anchor in bytes. A longer run of characters without a break is data, and is skipped.
pub const LONGEST_ANCHOR: usize = 4096;

/// A part of a text that can be checked letter by letter.
///
/// `start` and `end` are bytes, on character boundaries, `start < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Anchor {
    /// What it is.
    pub kind: AnchorKind,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Anchor {
    /// Its words, in the text that it was found in.
    ///
    /// Panics in another text, if its ends are no character boundaries there.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }
}

/// The anchors of a text, in order of their start; of two that start together the longer first.
///
/// Anchors nest: a quote or a command is followed by what it contains, `host:port` by the port.
/// The marks around a quote are no part of it.
pub fn anchors(text: &str) -> impl Iterator<Item = Anchor> + '_ {
    Walk::over_claim(text)
}
