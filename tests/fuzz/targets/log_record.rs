//! Records of the log: as they are, and with a check that fits. Every record has one form.
#![no_main]

use lacuna_codec::LogHeader;
use lacuna_fuzz::forge::{self, JOURNAL};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&forge::log_record(bytes));
});

fn read(stored: &[u8]) {
    let Some(header) = LogHeader::read(stored, JOURNAL) else { return };
    let body = &stored[LogHeader::SIZE..];
    let Ok(record) = header.open(body) else { return };
    assert!(header.fits(body) && header.first == record.first);
    let mut again = Vec::new();
    record.encode(JOURNAL, &mut again).expect("what was read can be written");
    assert_eq!(again, stored);
}
