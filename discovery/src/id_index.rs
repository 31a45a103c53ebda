//! Finding a member by its id in a few nanoseconds.

use ringmain_codec::InstanceId;

/// Sorted ids with a small open-addressed table over them.
///
/// Searching takes at most [`Ids::PROBES_MAX`] steps. Ids that cluster more than that, by bad luck
/// or ill will, get no table; they are searched by halving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    sorted: Box<[InstanceId]>,
    /// Positions in `sorted`, or `EMPTY`; at least three quarters are empty. Its length is a power
    /// of two, or 0.
    table: Box<[u32]>,
}

impl Ids {
    const EMPTY: u32 = u32::MAX;
    const PROBES_MAX: usize = 32;

    /// `sorted` must rise strictly.
    pub(crate) fn new(sorted: Box<[InstanceId]>) -> Self {
        debug_assert!(sorted.is_sorted_by(|one, next| one < next));
        let table = Self::table(&sorted).unwrap_or_default();
        Self { sorted, table }
    }

    /// Position of an id.
    #[inline]
    pub(crate) fn find(&self, id: InstanceId) -> Option<usize> {
        if self.table.is_empty() {
            return self.sorted.binary_search(&id).ok();
        }
        for place in probes(id, self.table.len()) {
            match self.table[place] {
                Self::EMPTY => return None,
                position if self.sorted[position as usize] == id => return Some(position as usize),
                _ => {}
            }
        }
        None
    }

    fn table(sorted: &[InstanceId]) -> Option<Box<[u32]>> {
        let len = sorted
            .len()
            .max(1)
            .checked_mul(4)?
            .checked_next_power_of_two()?;
        let mut table = vec![Self::EMPTY; len].into_boxed_slice();
        for (position, &id) in sorted.iter().enumerate() {
            let free = probes(id, len).find(|&place| table[place] == Self::EMPTY)?;
            table[free] = u32::try_from(position)
                .ok()
                .filter(|&position| position != Self::EMPTY)?;
        }
        Some(table)
    }
}

/// Places to look at, in order. Multiplying spreads ids that were counted up as well as ones that
/// were drawn.
#[inline]
fn probes(id: InstanceId, len: usize) -> impl Iterator<Item = usize> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mask = len - 1;
    // The topmost bits, where every bit of the id has its say. The length is at least four, so the
    // shift is in range.
    let first = (id.value().wrapping_mul(GOLDEN) >> (64 - len.trailing_zeros())) as usize;
    (0..Ids::PROBES_MAX).map(move |step| (first + step) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[u64], has_table: bool) {
        let mut sorted: Vec<_> = values
            .iter()
            .map(|&value| InstanceId::new(value).expect("not zero"))
            .collect();
        sorted.sort_unstable();
        let ids = Ids::new(sorted.clone().into());
        assert_eq!(!ids.table.is_empty(), has_table);
        for (position, &id) in sorted.iter().enumerate() {
            assert_eq!(ids.find(id), Some(position));
        }
        for absent in [1_u64 << 63, u64::MAX, 12_345_678] {
            let absent = InstanceId::new(absent).expect("not zero");
            assert_eq!(ids.find(absent), None);
        }
    }

    #[test]
    fn every_id_is_found_and_no_other() {
        check(&[], true);
        check(&[7], true);
        check(&(1..=1_000).collect::<Vec<_>>(), true);
        check(
            &(1..=1_000).map(|value| value << 40).collect::<Vec<_>>(),
            true,
        );
        let spread = |value: u64| value.wrapping_mul(0xd134_2543_de82_ef95) | 1;
        check(&(1..=1_000).map(spread).collect::<Vec<_>>(), true);
        check(&(1..=16_384).map(spread).collect::<Vec<_>>(), true);
    }

    #[test]
    fn ids_made_to_collide_are_searched_by_halving() {
        // The inverse of the multiplier turns chosen hashes into ids.
        let inverse = (0..6).fold(0x9e37_79b9_7f4a_7c15_u64, |x, _| {
            x.wrapping_mul(2_u64.wrapping_sub(x.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        });
        let colliding = |low: u64| inverse.wrapping_mul((5 << 56) | low);
        check(&(1..=32).map(colliding).collect::<Vec<_>>(), true);
        check(&(1..=33).map(colliding).collect::<Vec<_>>(), false);
    }
}
