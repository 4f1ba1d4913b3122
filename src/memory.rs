//! Memory whose size the shape of the input decides: asked for before it is used, so that what
//! cannot be had is an [`Error::OutOfMemory`] and not the end of the process.
//!
//! A sparse matrix of ten rows and two billion columns is a few hundred bytes for the caller, and
//! tables of a hundred gigabytes for us. Operating systems grant such tables one by one, without
//! looking at their sum, and end the process when they are written to. So [`check`] asks for the
//! sum at once and gives it back; then [`reserve`] and [`zeros`] ask for the parts.
#![allow(unsafe_code, reason = "Rust has no stable allocation of zeroed memory that may fail")]

use std::alloc::{Layout, alloc_zeroed};
use std::ptr::slice_from_raw_parts_mut;

use crate::error::{Error, Result};

/// Fails if `bytes` cannot be had at once. No page is touched. `what` says what they are for.
pub fn check(what: &'static str, bytes: usize) -> Result<()> {
    reserve::<u8>(what, bytes).map(drop)
}

/// Smaller amounts are always to spare: what they are for is worth more than to look.
const ALWAYS: usize = 1 << 27;

/// Whether `bytes` bytes can be had for something that is not needed, such as a second copy that saves
/// time: whether they are at most half of the memory that is available now. Systems grant more memory
/// than there is, and end the process that uses it.
pub fn is_to_spare(bytes: usize) -> bool {
    bytes <= ALWAYS || (check("", bytes).is_ok() && available().is_none_or(|available| bytes as u64 <= available / 2))
}

/// The bytes that the system can give without swapping; `None` where it does not tell, as only Linux
/// does. In a container, the rest of its share.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let of_machine = read("/proc/meminfo").and_then(|info| field(&info, "MemAvailable:"))?.saturating_mul(1024);
    // What files hold in memory is given back when it is needed.
    let rest = |limit: &str, used: &str, stat: &str, files: &str| {
        let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
        let of_files = read(stat).and_then(|stat| field(&stat, files)).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(of_files)))
    };
    let of_group = |group: &str, names: [&str; 3]| {
        let [limit, used, files] = names;
        let path = |name: &str| format!("{group}/{name}");
        rest(&path(limit), &path(used), &path("memory.stat"), files)
    };
    let second = of_group("/sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]);
    let first =
        of_group("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"]);
    Some([second, first].into_iter().flatten().fold(of_machine, u64::min))
}

/// The first number behind a word of a text.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    words.find(|&word| word == name)?;
    words.next()?.parse().ok()
}

/// An empty vector with room for `n` items.
pub fn reserve<T>(what: &'static str, n: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    items.try_reserve_exact(n).map_err(|_| out_of_memory::<T>(what, n))?;
    Ok(items)
}

/// `n` zeros. Pages of a large vector are not touched: they come zeroed from the operating system.
pub fn zeros<T: Zero>(what: &'static str, n: usize) -> Result<Vec<T>> {
    let layout = Layout::array::<T>(n).map_err(|_| out_of_memory::<T>(what, n))?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the size is not 0.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(out_of_memory::<T>(what, n));
    }
    // SAFETY: the global allocator has just given this memory for the layout of `n` items, and
    // zeroed it; zero bytes are a value of `T`, as `Zero` promises.
    let items = unsafe { Box::from_raw(slice_from_raw_parts_mut(start.cast(), n)) };
    Ok(items.into_vec())
}

/// `n` copies of a value.
pub fn filled<T: Copy>(what: &'static str, value: T, n: usize) -> Result<Vec<T>> {
    let mut items = reserve(what, n)?;
    items.resize(n, value);
    Ok(items)
}

/// Makes room for `n` more items. Vectors grow by doubling, so that many calls cost little.
pub fn make_room<T>(what: &'static str, items: &mut Vec<T>, n: usize) -> Result<()> {
    items.try_reserve(n).map_err(|_| out_of_memory::<T>(what, items.len().saturating_add(n)))
}

fn out_of_memory<T>(what: &'static str, n: usize) -> Error {
    Error::OutOfMemory { what, bytes: (n as u64).saturating_mul(size_of::<T>() as u64) }
}

/// Numbers whose zero is all zero bits.
///
/// # Safety
///
/// Zero bytes must be a value of the type, and the type must not be of size 0.
pub unsafe trait Zero: Copy {}

macro_rules! zero {
    ($($number:ty),*) => {
        // SAFETY: of integers and floats all zero bits are 0.
        $(unsafe impl Zero for $number {})*
    };
}

zero!(u8, u16, u32, u64, u128, usize, i32, i64, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_zeros() {
        // Miri takes minutes for a million numbers.
        for n in [0, 1, 7, if cfg!(miri) { 1 << 10 } else { 1 << 20 }] {
            assert_eq!(zeros::<u32>("a test", n).unwrap(), vec![0; n]);
            assert_eq!(zeros::<f64>("a test", n).unwrap(), vec![0.0; n]);
        }
        let mut grown = zeros::<u16>("a test", 3).unwrap();
        grown.extend([1, 2]);
        assert_eq!(grown, [0, 0, 0, 1, 2]);
        assert_eq!(filled("a test", 7, 2).unwrap(), [7, 7]);
    }

    #[test]
    fn what_is_to_spare_is_known() {
        assert!(is_to_spare(ALWAYS));
        assert!(!is_to_spare(usize::MAX / 16));
        if cfg!(target_os = "linux") {
            let available = available().unwrap();
            assert!(available > 0);
            assert!(!is_to_spare(available as usize + 2 * ALWAYS));
        }
        let info = "MemTotal:  24 kB\nMemAvailable:      17 kB\nBuffers: 1 kB\n";
        assert_eq!(field(info, "MemAvailable:"), Some(17));
        assert_eq!(field(info, "Buffers:"), Some(1));
        assert_eq!(field(info, "MemFree:"), None);
        assert_eq!(field("inactive_file", "inactive_file"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "where Miri has no memory, it ends")]
    fn more_than_there_is_is_an_error() {
        let n = usize::MAX / 16;
        let error = Error::OutOfMemory { what: "a test", bytes: 8 * n as u64 };
        assert_eq!(zeros::<f64>("a test", n).unwrap_err(), error);
        assert_eq!(reserve::<u64>("a test", n).unwrap_err(), error);
        assert_eq!(filled("a test", 0u64, n).unwrap_err(), error);
        let mut items = vec![0u64];
        assert_eq!(make_room("a test", &mut items, n - 1).unwrap_err(), error);
        make_room("a test", &mut items, 3).unwrap();
        assert!(items.capacity() >= 4);
        assert_eq!(error.to_string(), "Unable to allocate 9223372036854775800 bytes for a test.");
        for n in [usize::MAX / 8, usize::MAX] {
            assert!(matches!(zeros::<f64>("a test", n), Err(Error::OutOfMemory { .. })));
            assert!(matches!(check("a test", n), Err(Error::OutOfMemory { .. })));
        }
    }
}
