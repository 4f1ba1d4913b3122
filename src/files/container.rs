//! The container: a head, a table of sections, and the sections.
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 7 | [`MAGIC`] |
//! | 8 to 11 | the format's number |
//! | 12 to 15 | the number of sections |
//! | 16 to 23 | the length of the file |
//! | 24 to 59 | 0 |
//! | 60 to 63 | CRC-32 of bytes 0 to 59 and of the table |
//! | 64 on | the table: 64 bytes for each section |
//!
//! An entry of the table has the section's name (40 bytes, zeros at the end), its offset (8), its length (8),
//! its CRC-32 (4), and 4 zeros. Sections are in the order of the table, each begins at the next multiple of
//! 64 after the one before, and bytes between sections are 0. All integers are little-endian. The head will
//! be the same in all formats to come.

use std::collections::HashSet;
use std::ops::Range;

use crc32fast::Hasher;

use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// How the file begins. The first byte is none of a text.
pub const MAGIC: [u8; 8] = *b"\x89SPINNEY";
/// The format that is written, and the newest that is read.
const FORMAT: u32 = 1;
/// Sections begin at multiples of this number of bytes.
pub const ALIGNMENT: usize = 64;
/// Bytes of the head, and of an entry of the table.
const HEAD: usize = 64;
const ENTRY: usize = 64;
const NAME: usize = 40;
/// The name of the head and the table in errors.
const TABLE: &str = "table";
/// The number of bytes whose checksum one task computes, of one section or of several.
const BLOCK: usize = 1 << 22;
/// The most sections whose checksums one task computes.
const MANY: usize = 1 << 12;

/// A section, and where its bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// At most 40 bytes of printable ASCII.
    pub name: String,
    /// The range of its bytes in the file.
    pub bytes: Range<usize>,
}

/// The beginning of a file with these sections, given by their names and bytes: the head, the table, and
/// zeros up to the first section. Each section is followed by zeros up to the next multiple of [`ALIGNMENT`],
/// but the last one ends the file.
pub fn frame(sections: &[(&str, &[u8])], runtime: &Runtime<'_>) -> Result<Vec<u8>> {
    let mut table = Vec::with_capacity(sections.len() * ENTRY);
    let mut end = HEAD + sections.len() * ENTRY;
    let checksums = checksums(&sections.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), runtime)?;
    for ((name, bytes), checksum) in sections.iter().zip(checksums) {
        if name.len() > NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            let got = format!("{name:?}");
            return Err(Error::InvalidArgument { name: "the name of a section", got, expected: "printable".into() });
        }
        let start = end.next_multiple_of(ALIGNMENT);
        end = start + bytes.len();
        let mut entry = [0; ENTRY];
        entry[..name.len()].copy_from_slice(name.as_bytes());
        entry[40..48].copy_from_slice(&(start as u64).to_le_bytes());
        entry[48..56].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        entry[56..60].copy_from_slice(&checksum.to_le_bytes());
        table.extend(entry);
    }
    let mut head = Vec::with_capacity(HEAD + table.len());
    head.extend(MAGIC);
    head.extend(FORMAT.to_le_bytes());
    head.extend((sections.len() as u32).to_le_bytes());
    head.extend((end as u64).to_le_bytes());
    head.resize(HEAD - 4, 0);
    head.extend(checksum_of_head(&head, &table).to_le_bytes());
    head.extend(table);
    Ok(head)
}

/// The sections of a file, all of whose bytes have been compared with its checksums. O(bytes).
pub fn sections(file: &[u8], runtime: &Runtime<'_>) -> Result<Vec<Section>> {
    let damaged = |reason: String| Err(Error::Damaged { section: TABLE.into(), reason });
    if !file.starts_with(&MAGIC) {
        return damaged("the file does not begin as a model file of spinney does".into());
    }
    let Some((head, rest)) = file.split_at_checked(HEAD) else {
        return damaged(format!("the file has {} bytes, which is less than its head", file.len()));
    };
    let n_sections = word(head, 12) as u32 as usize;
    let Some(table) = n_sections.checked_mul(ENTRY).and_then(|n| rest.get(..n)) else {
        return damaged(format!("the file has {} bytes, too few for {n_sections} sections", file.len()));
    };
    if word(head, 56) >> 32 != u64::from(checksum_of_head(&head[..HEAD - 4], table)) {
        return damaged("its checksum does not agree with its bytes".into());
    }
    let format = word(head, 8) as u32;
    if format == 0 {
        return damaged("no format has the number 0".into());
    }
    if format > FORMAT {
        return Err(Error::NewerFormat { what: "The file", got: format.into(), newest: FORMAT.into() });
    }
    if word(head, 16) != file.len() as u64 {
        return damaged(format!("the file has {} bytes instead of {}", file.len(), word(head, 16)));
    }
    if head[24..HEAD - 4].iter().any(|&byte| byte != 0) {
        return damaged("the reserved bytes of the head are not 0".into());
    }
    let mut end = HEAD + table.len();
    let mut sections: Vec<Section> = Vec::with_capacity(n_sections);
    let mut expected = Vec::with_capacity(n_sections);
    let mut names = HashSet::with_capacity(n_sections);
    for (number, entry) in table.chunks_exact(ENTRY).enumerate() {
        runtime.check_in_turn(number)?;
        let name = entry[..NAME].split(|&byte| byte == 0).next().unwrap_or_default();
        let is_padded = entry[name.len()..NAME].iter().chain(&entry[60..]).all(|&byte| byte == 0);
        let Some(name) = str::from_utf8(name)
            .ok()
            .filter(|name| is_padded && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()))
        else {
            return damaged("the name of a section is illegal".into());
        };
        if !names.insert(name) {
            return damaged(format!("two sections have the name {name}"));
        }
        let start = end.next_multiple_of(ALIGNMENT);
        let (offset, length) = (word(entry, 40), word(entry, 48));
        let after = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        let Some(after) = after.filter(|&after| offset == start as u64 && after <= file.len()) else {
            let reason = format!("{length} bytes from byte {offset} on, where {start} was next, of {}", file.len());
            return Err(Error::Damaged { section: name.into(), reason });
        };
        if file[end..start].iter().any(|&byte| byte != 0) {
            return damaged(format!("the bytes before the section {name} are not 0"));
        }
        sections.push(Section { name: name.into(), bytes: start..after });
        expected.push(word(entry, 56) as u32);
        end = after;
    }
    if end != file.len() {
        return damaged(format!("the sections end at byte {end} of {}", file.len()));
    }
    let all: Vec<&[u8]> = sections.iter().map(|section| &file[section.bytes.clone()]).collect();
    for ((section, found), expected) in sections.iter().zip(checksums(&all, runtime)?).zip(expected) {
        if found != expected {
            let reason = "its checksum does not agree with its bytes".into();
            return Err(Error::Damaged { section: section.name.clone(), reason });
        }
    }
    Ok(sections)
}

/// The checksum of each section. Work is divided at blocks of bytes, whatever sections these are of: a
/// section may have a tenth of memory, and a file may have a million sections.
fn checksums(sections: &[&[u8]], runtime: &Runtime<'_>) -> Result<Vec<u32>> {
    let pieces = (0..).zip(sections).flat_map(|(number, bytes)| bytes.chunks(BLOCK).map(move |piece| (number, piece)));
    let mut tasks: Vec<Vec<(usize, &[u8])>> = Vec::new();
    let mut n_bytes = 0;
    for (number, piece) in pieces {
        n_bytes += piece.len();
        if let Some(task) = tasks.last_mut().filter(|task| n_bytes <= BLOCK && task.len() < MANY) {
            task.push((number, piece));
        } else {
            tasks.push(vec![(number, piece)]);
            n_bytes = piece.len();
        }
    }
    let hashed = runtime.map(tasks, |task| {
        runtime.check_interrupt()?;
        let hash = |(number, piece): (usize, &[u8])| {
            let mut hasher = Hasher::new();
            hasher.update(piece);
            (number, hasher)
        };
        Ok(task.into_iter().map(hash).collect::<Vec<_>>())
    })?;
    let mut all = vec![Hasher::new(); sections.len()];
    for (number, hasher) in hashed.iter().flatten() {
        all[*number].combine(hasher);
    }
    Ok(all.into_iter().map(Hasher::finalize).collect())
}

fn checksum_of_head(head: &[u8], table: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(head);
    hasher.update(table);
    hasher.finalize()
}

/// The eight bytes from `at` on.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |&bytes| u64::from_le_bytes(bytes))
}
