//! What a byte or a character is to the extractor.

/// A lower-case ASCII letter.
pub(super) const LOWER: u16 = 1;
/// An upper-case ASCII letter.
pub(super) const UPPER: u16 = 1 << 1;
/// An ASCII digit.
pub(super) const DIGIT: u16 = 1 << 2;
/// `_`.
pub(super) const UNDER: u16 = 1 << 3;
/// `-`.
pub(super) const DASH: u16 = 1 << 4;
/// `.`.
pub(super) const DOT: u16 = 1 << 5;
/// `/`.
pub(super) const SLASH: u16 = 1 << 6;
/// `:`.
pub(super) const COLON: u16 = 1 << 7;
/// `@`.
pub(super) const AT: u16 = 1 << 8;
/// `+`.
pub(super) const PLUS: u16 = 1 << 9;
/// `~`.
pub(super) const TILDE: u16 = 1 << 10;
/// `\`, when it is no escape.
pub(super) const BACK: u16 = 1 << 11;
/// `,` between groups of digits.
pub(super) const COMMA: u16 = 1 << 12;
/// A letter outside ASCII, of a script that is written with spaces.
pub(super) const WIDE: u16 = 1 << 13;

/// A byte that begins something other than a run: a quote, a variable, a terminal's escape.
pub(super) const OPENS: u16 = 1 << 14;
/// A byte of a character outside ASCII: what it is must be decoded.
pub(super) const BEYOND: u16 = 1 << 15;

/// Letters only.
pub(super) const LETTERS: u16 = LOWER | UPPER | WIDE;

/// The class of each byte; 0 bounds a run.
pub(super) const CLASS: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDER,
            b'-' => DASH,
            b'.' => DOT,
            b'/' => SLASH,
            b':' => COLON,
            b'@' => AT,
            b'+' => PLUS,
            b'~' => TILDE,
            b'\\' => BACK,
            b',' => COMMA,
            b'"' | b'\'' | b'`' | b'$' | 0x1b => OPENS,
            0x80.. => BEYOND,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// The classes that occur in these bytes.
pub(super) fn classes(bytes: &[u8]) -> u16 {
    let all = bytes.iter().fold(0, |all, byte| all | CLASS[usize::from(*byte)]);
    if all & BEYOND == 0 { all } else { (all & !BEYOND) | WIDE }
}

/// Whether a character is part of a word: a letter, a digit, a combining mark or `_`, of a script
/// that is written with spaces.
pub(super) fn in_word(letter: char) -> bool {
    match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => true,
        '\0'..='\x7f' => false,
        // Combining accents.
        '\u{300}'..='\u{36f}' => true,
        // Thai, Lao; Myanmar, Hangul jamo; Khmer; CJK, kana, Hangul; their wide forms; more CJK.
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}'
        | '\u{1b000}'..='\u{1b16f}'
        | '\u{20000}'.. => false,
        // General punctuation, arrows, box drawing: in bulk before the table of letters is asked.
        '\u{2000}'..='\u{206f}' | '\u{2190}'..='\u{2bff}' => false,
        other => other.is_alphanumeric(),
    }
}

/// The character that ends before this place.
pub(super) fn before(text: &str, at: usize) -> Option<char> {
    match text.as_bytes().get(at.checked_sub(1)?) {
        Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
        _ => text.get(..at)?.chars().next_back(),
    }
}

/// The character that begins at this place.
pub(super) fn after(text: &str, at: usize) -> Option<char> {
    match text.as_bytes().get(at)? {
        byte if byte.is_ascii() => Some(char::from(*byte)),
        _ => text.get(at..)?.chars().next(),
    }
}

/// Whether a word ends or begins before this place.
pub(super) fn word_before(text: &str, at: usize) -> bool {
    before(text, at).is_some_and(in_word)
}

/// Whether a word goes on at this place.
pub(super) fn word_after(text: &str, at: usize) -> bool {
    after(text, at).is_some_and(in_word)
}

/// The nearest place at or before this one where a character begins.
pub(super) fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest place at or after this one where a character begins.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// The length of an escape, as JSON or C write it, that stands for no visible character: `\n`,
/// `\r`, `\t`, `\u001b`. 0 if none stands here.
pub(super) fn escape(bytes: &[u8], at: usize) -> usize {
    match (bytes[at], bytes.get(at + 1)) {
        (b'\\', Some(b'n' | b'r' | b't')) => 2,
        (b'\\', Some(b'u')) => {
            let digits = bytes.get(at + 2..at + 6).unwrap_or_default();
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit) { 6 } else { 0 }
        }
        _ => 0,
    }
}
