//! The order in which waiting requests are called.

use std::collections::VecDeque;

use ringmain_codec::Priority;

/// Whose turn it is while every class waits: four of seven for the highest, two for the middle, one
/// for the lowest, as evenly spread as that goes. The same weights decide who sends first.
const TURNS: [Priority; 7] = [
    Priority::High,
    Priority::Middle,
    Priority::High,
    Priority::Low,
    Priority::High,
    Priority::Middle,
    Priority::High,
];

/// One queue per priority class; the weights keep any of them from starving.
#[derive(Debug)]
pub(crate) struct Classes<T> {
    queues: [VecDeque<T>; 3],
    /// Whose turn comes next, an index of [`TURNS`].
    turn: usize,
}

impl<T> Default for Classes<T> {
    fn default() -> Self {
        Self {
            queues: Default::default(),
            turn: 0,
        }
    }
}

impl<T> Classes<T> {
    pub(crate) fn push(&mut self, class: Priority, item: T) {
        self.queues[class as usize].push_back(item);
    }

    /// The oldest of the class whose turn it is; a class that has nobody waiting loses its turn.
    pub(crate) fn pop(&mut self) -> Option<T> {
        for _ in 0..TURNS.len() {
            let class = TURNS[self.turn];
            self.turn = (self.turn + 1) % TURNS.len();
            if let Some(item) = self.queues[class as usize].pop_front() {
                return Some(item);
            }
        }
        None
    }

    pub(crate) fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for queue in &mut self.queues {
            queue.retain(&mut keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(counts: [(Priority, usize); 3]) -> Classes<(Priority, usize)> {
        let mut classes = Classes::default();
        for (class, count) in counts {
            (0..count).for_each(|at| classes.push(class, (class, at)));
        }
        classes
    }

    #[test]
    fn no_class_starves_while_a_higher_one_never_ends() {
        let mut classes = filled([
            (Priority::High, 100),
            (Priority::Middle, 100),
            (Priority::Low, 100),
        ]);
        let called: Vec<_> = std::iter::from_fn(|| classes.pop()).take(70).collect();
        let share = |class| called.iter().filter(|(c, _)| *c == class).count();
        let shares = [Priority::High, Priority::Middle, Priority::Low].map(share);
        assert_eq!(shares, [40, 20, 10]);
    }

    #[test]
    fn a_class_is_called_in_order_and_takes_the_turns_of_empty_ones() {
        let mut classes = filled([
            (Priority::High, 0),
            (Priority::Middle, 0),
            (Priority::Low, 9),
        ]);
        let called: Vec<_> = std::iter::from_fn(|| classes.pop()).collect();
        assert!(called.iter().map(|(_, at)| *at).eq(0..9));
        assert_eq!(classes.len(), 0);
    }
}
