//! Which item is due next.

use super::ask::Ask;

/// All items in the order they are due. Streams share the interval, so that one sorted round of
/// phases, gone through over and over, is that order, and the next item costs nothing to find.
pub(super) struct Schedule {
    slots: Vec<Slot>,
    interval_ns: u64,
    /// The slot to look at, and the start of the round it is in.
    cursor: usize,
    round_ns: u64,
    /// Items that are left, of all streams.
    left: u64,
}

struct Slot {
    phase_ns: u64,
    first_ns: u64,
    stream: u32,
    left: u32,
}

impl Schedule {
    /// The items of a request.
    pub(super) fn new(ask: &Ask) -> Self {
        let interval_ns = ask.interval_ns.max(1);
        let slots = (0..).zip(&ask.first_ns).map(|(stream, &first_ns)| Slot {
            phase_ns: first_ns % interval_ns,
            first_ns,
            stream,
            left: ask.items,
        });
        let mut slots: Vec<Slot> = slots.collect();
        slots.sort_unstable_by_key(|slot| (slot.phase_ns, slot.stream));
        let earliest = ask.first_ns.iter().copied().min().unwrap_or(0);
        Self {
            slots,
            interval_ns,
            cursor: 0,
            round_ns: earliest / interval_ns * interval_ns,
            left: ask.total(),
        }
    }
}

impl Iterator for Schedule {
    /// When an item is due, and of which stream.
    type Item = (u64, u32);

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let Some(slot) = self.slots.get_mut(self.cursor) else {
                self.cursor = 0;
                self.round_ns += self.interval_ns;
                continue;
            };
            self.cursor += 1;
            let due = self.round_ns + slot.phase_ns;
            if due >= slot.first_ns && slot.left > 0 {
                slot.left -= 1;
                self.left -= 1;
                return Some((due, slot.stream));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, Schedule};

    fn schedule(first_ns: &[u64], items: u32) -> Vec<(u64, u32)> {
        let ask = Ask {
            item_bytes: 16,
            items,
            interval_ns: 100,
            first_ns: first_ns.to_vec(),
        };
        Schedule::new(&ask).collect()
    }

    #[test]
    fn items_are_in_order_and_an_interval_apart() {
        // The third stream opens rounds after the others.
        let all = schedule(&[1050, 1010, 1320], 3);
        assert!(all.is_sorted(), "{all:?}");
        for (stream, first) in [(0, 1050), (1, 1010), (2, 1320)] {
            let own = all.iter().filter(|item| item.1 == stream);
            let dues: Vec<u64> = own.map(|item| item.0).collect();
            assert_eq!(dues, [first, first + 100, first + 200]);
        }
    }

    #[test]
    fn streams_on_a_grid_are_due_together() {
        assert_eq!(
            schedule(&[300, 300], 2),
            [(300, 0), (300, 1), (400, 0), (400, 1)]
        );
    }

    #[test]
    fn nothing_is_due_of_nothing() {
        assert_eq!(schedule(&[], 5), []);
        assert_eq!(schedule(&[5], 0), []);
    }
}
