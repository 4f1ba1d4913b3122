//! Sorts by an order that is known when they run. The standard library compiles a sort for each order, of 3
//! to 20 kB, and once more for each criterion that the order knows. Here only a loop for few numbers is
//! compiled so often.

use std::cmp::Ordering;

/// So many numbers are put in their places one by one, as in the standard library.
const FEW: usize = 20;

/// Sorts numbers, no two of which are equal in this order.
#[inline]
pub fn sort_by<T: Copy>(numbers: &mut [T], order: impl Fn(T, T) -> Ordering) {
    if numbers.len() > FEW {
        return sort_many(numbers, &order);
    }
    for end in 1..numbers.len() {
        let (new, mut at) = (numbers[end], end);
        while at > 0 && order(new, numbers[at - 1]) == Ordering::Less {
            numbers[at] = numbers[at - 1];
            at -= 1;
        }
        numbers[at] = new;
    }
}

/// Sorts numbers by keys, and those of equal keys by themselves.
#[inline]
pub fn sort_by_key<T: Copy + Ord, K: Ord>(numbers: &mut [T], key: impl Fn(T) -> K) {
    sort_by(numbers, |a, b| key(a).cmp(&key(b)).then(a.cmp(&b)));
}

fn sort_many<T: Copy>(numbers: &mut [T], order: &dyn Fn(T, T) -> Ordering) {
    numbers.sort_unstable_by(|&a, &b| order(a, b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_keep_the_order_of_numbers() {
        for n in [0, 1, 2, 20, 21, 200] {
            let mut numbers: Vec<u8> = (0..n).rev().collect();
            sort_by_key(&mut numbers, |number| number % 7);
            assert!(numbers.is_sorted_by_key(|number| (number % 7, *number)));
            sort_by(&mut numbers, |a, b| b.cmp(&a));
            assert!(numbers.is_sorted_by(|a, b| a > b));
        }
    }
}
