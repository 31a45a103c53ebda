//! What has arrived, and whether it is what was asked for.

use hdrhistogram::Histogram;
use ringmain_bench_harness::{histogram, read_words};

use super::ask::Ask;
use super::frame::Frame;

/// Checks and times items.
pub(super) struct Tally {
    item_bytes: usize,
    interval_ns: u64,
    /// When the next item of each stream was due, and how many are still to come.
    streams: Vec<(u64, u32)>,
    /// From when items were due.
    pub(super) latency: Histogram<u64>,
    /// From when the server woke for them.
    pub(super) produced: Histogram<u64>,
    /// Items that arrived.
    pub(super) items: u64,
    /// Items that were not asked for.
    pub(super) wrong: u64,
}

impl Tally {
    /// Nothing has arrived yet.
    pub(super) fn new(ask: &Ask) -> Self {
        let streams = ask.first_ns.iter();
        Self {
            item_bytes: ask.item_bytes as usize,
            interval_ns: ask.interval_ns,
            streams: streams.map(|&first| (first, ask.items)).collect(),
            latency: histogram(),
            produced: histogram(),
            items: 0,
            wrong: 0,
        }
    }

    /// Adds an item that arrived at `now`; its times only if they are `measured`.
    pub(super) fn add(&mut self, frame: Frame<'_>, now: u64, measured: bool) {
        self.items += 1;
        let (woke, due) = read_words(frame.item);
        let next = usize::try_from(frame.stream)
            .ok()
            .and_then(|stream| self.streams.get_mut(stream));
        match next {
            Some((next, left))
                if *next == due && *left > 0 && frame.item.len() == self.item_bytes =>
            {
                *next += self.interval_ns;
                *left -= 1;
            }
            _ => self.wrong += 1,
        }
        if measured {
            self.latency
                .saturating_record(now.saturating_sub(due).max(1));
            self.produced
                .saturating_record(now.saturating_sub(woke).max(1));
        }
    }

    /// Streams of which everything has arrived.
    pub(super) fn ended(&self) -> u64 {
        self.streams.iter().filter(|(_, left)| *left == 0).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use ringmain_bench_harness::write_words;

    use super::{Ask, Frame, Tally};

    #[test]
    fn items_count_once_in_their_order_and_size() {
        let ask = Ask {
            item_bytes: 16,
            items: 2,
            interval_ns: 100,
            first_ns: vec![1000, 1050],
        };
        let mut tally = Tally::new(&ask);
        let mut add = |stream, due, bytes: usize| {
            let mut item = vec![0; bytes];
            write_words(&mut item, (due + 1, due));
            let item = &item[..];
            tally.add(Frame { stream, item }, due + 5, true);
            (tally.wrong, tally.ended())
        };
        assert_eq!(add(0, 1000, 16), (0, 0));
        assert_eq!(add(0, 1100, 16), (0, 1));
        assert_eq!(add(0, 1200, 16), (1, 1), "one too many");
        assert_eq!(add(1, 1150, 16), (2, 1), "one was lost");
        assert_eq!(add(1, 1050, 17), (3, 1), "too long");
        assert_eq!(add(2, 1050, 16), (4, 1), "no such stream");
        assert_eq!(
            (tally.items, tally.latency.max(), tally.produced.max()),
            (6, 5, 4)
        );
    }
}
