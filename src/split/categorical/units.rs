//! The categories of a column in a node.

use crate::data::Dataset;
use crate::num::sort_by_key;
use crate::split::node::NodeColumn;

/// A table by rank pays if the column has at most this many ranks per entry in the node.
const RANKS_PER_ENTRY: usize = 8;

/// The categories of a column in a node, grouped into units. All categories with too few rows are
/// one unit together; every other category is a unit of its own. Units are numbered by the first
/// row of their categories.
pub(super) struct Units {
    /// The unit of each entry of the column.
    pub of_entries: Vec<u32>,
    /// The unit of the rows with the common value; `None` if there are no such rows.
    pub common: Option<u32>,
    /// The rank and the unit of each category, in the order of the categories' identities.
    pub ranks: Vec<(u32, u32)>,
    /// The number of rows of each unit.
    pub n_rows: Vec<u32>,
}

impl Units {
    pub fn new(data: &Dataset, column: NodeColumn<'_>, least_rows: u64) -> Self {
        let identities = data.identities(column.feature).unwrap_or_default();
        let entries = column.entries;
        // List the categories of the node and count the rows of each. `of_entries` has the place of
        // each entry's category in this list.
        let mut of_entries: Vec<u32> = Vec::with_capacity(entries.len());
        let mut ranks: Vec<u32> = Vec::new();
        let mut n_rows: Vec<u32> = Vec::new();
        if identities.len() <= entries.len() * RANKS_PER_ENTRY {
            let mut places = vec![u32::MAX; identities.len()];
            for entry in entries {
                let place = &mut places[entry.rank() as usize];
                if *place == u32::MAX {
                    *place = ranks.len() as u32;
                    ranks.push(entry.rank());
                    n_rows.push(0);
                }
                n_rows[*place as usize] += 1;
                of_entries.push(*place);
            }
        } else {
            ranks.extend(entries.iter().map(|entry| entry.rank()));
            ranks.sort_unstable();
            ranks.dedup();
            n_rows.resize(ranks.len(), 0);
            for entry in entries {
                let place = ranks.partition_point(|&rank| rank < entry.rank());
                n_rows[place] += 1;
                of_entries.push(place as u32);
            }
        }
        let mut common = None;
        if column.n_common > 0 {
            common = Some(ranks.len() as u32);
            ranks.push(column.common_rank);
            n_rows.push(column.n_common as u32);
        }
        // Number the units in the order of identities. All small categories share one number.
        let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
        sort_by_key(&mut order, |place| identities[ranks[place as usize] as usize]);
        let mut units = vec![0; ranks.len()];
        let mut unit_rows: Vec<u32> = Vec::with_capacity(ranks.len());
        let mut small = None;
        for &place in &order {
            let n = n_rows[place as usize];
            let is_small = u64::from(n) < least_rows;
            let unit = small.filter(|_| is_small).unwrap_or(unit_rows.len() as u32);
            if is_small {
                small = Some(unit);
            }
            if unit as usize == unit_rows.len() {
                unit_rows.push(0);
            }
            unit_rows[unit as usize] += n;
            units[place as usize] = unit;
        }
        for place in &mut of_entries {
            *place = units[*place as usize];
        }
        Self {
            of_entries,
            common: common.map(|place| units[place as usize]),
            ranks: order.iter().map(|&place| (ranks[place as usize], units[place as usize])).collect(),
            n_rows: unit_rows,
        }
    }

    pub fn len(&self) -> usize {
        self.n_rows.len()
    }
}
