//! Handing items to a thread that is awake.

use std::hint::black_box;

use ringmain_reactor::Waker;
use ringmain_reactor::doorbell::Doorbell;
use ringmain_reactor::mailbox;

use crate::Bench;
use crate::meter::counted;

const ITEMS: usize = 1024;
/// What a mailbox carries: a boxed piece of work, two words.
type Item = (usize, usize);

pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "mailbox/send_receive",
        operations: ITEMS,
        run: || send_receive(1),
    },
    Bench {
        name: "mailbox/send_receive_batch_64",
        operations: ITEMS,
        run: || send_receive(64),
    },
    Bench {
        name: "doorbell/ring_awake",
        operations: ITEMS,
        run: ring,
    },
];

fn send_receive(batch: usize) {
    let (sender, mut receiver) = mailbox::channel::<Item>(ITEMS, Waker::noop());
    let mut all = || {
        let mut received = 0;
        for _ in 0..ITEMS / batch {
            for at in 0..batch {
                sender.try_send(black_box((at, at))).unwrap();
            }
            while let Some(item) = receiver.try_recv() {
                black_box(item);
                received += 1;
            }
        }
        received
    };
    assert_eq!(all(), ITEMS);
    assert_eq!(counted(all), ITEMS);
}

fn ring() {
    let doorbell = Doorbell::new(Waker::noop());
    let all = || (0..ITEMS).for_each(|_| black_box(&doorbell).ring());
    all();
    counted(all);
    assert_eq!(doorbell.wakes_total(), 0, "its owner was awake");
}
