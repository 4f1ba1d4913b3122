//! Any bytes are refused, or are a container whose sections lie in the file, one after the other.
#![no_main]

mod runtime;

use libfuzzer_sys::fuzz_target;
use runtime::runtime;
use spinney::files::{frame, sections};

fuzz_target!(|input: (Vec<u8>, Vec<Vec<u8>>)| {
    let (bytes, parts) = input;
    let check = |file: &[u8]| {
        let Ok(found) = sections(file, &runtime()) else { return false };
        let mut end = 0;
        for section in found {
            assert!(section.bytes.start >= end && section.bytes.end <= file.len());
            end = section.bytes.end;
        }
        true
    };
    check(&bytes);
    let names: Vec<String> = (0..parts.len()).map(|number| format!("part/{number}")).collect();
    let named: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(parts.iter().map(|part| &part[..])).collect();
    let mut file = frame(&named, &runtime()).expect("printable names");
    for part in &parts {
        file.resize(file.len().next_multiple_of(64), 0);
        file.extend(part);
    }
    assert!(check(&file));
    // A byte that was changed is found.
    if let (Some(&at), Some(&change)) = (bytes.first(), bytes.get(1)) {
        let at = usize::from(at) * file.len() / 256;
        file[at] ^= change;
        assert_eq!(check(&file), change == 0);
    }
});
