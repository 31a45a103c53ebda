//! Tokens through a shard: from a handler or an engine into one link's buffer and out, and in.
//!
//! The driver is the simulation, and it is not counted: what is left is the work of the shard.

use std::hint::black_box;

use ringmain_server::{FlushReport, Push, StepSink, StepWriter};

use crate::Bench;
use crate::meter::counted;
use crate::rig::Rig;

const TOKEN: [u8; 128] = [7; 128];
/// Tokens of a turn: 64 of 136 bytes on the wire are past what a link holds back.
const TURN: usize = 64;
const TURNS: usize = 64;
/// Tokens of an engine's step.
const STEP: usize = 256;
const STEPS: usize = 16;
const WARM_UP: usize = 8;

pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "shard/send_turn_64",
        operations: TURN * TURNS,
        run: send,
    },
    Bench {
        name: "shard/receive_turn_64",
        operations: TURN * TURNS,
        run: receive,
    },
    Bench {
        name: "shard/idle_turn",
        operations: TURNS,
        run: idle,
    },
    Bench {
        name: "server/step_push_256",
        operations: STEP * STEPS,
        run: || step(Side::Engine),
    },
    Bench {
        name: "server/step_apply_256",
        operations: STEP * STEPS,
        run: || step(Side::Shard),
    },
];

/// Handlers send a token each; the turn flushes the link.
fn send() {
    let mut rig = Rig::new(TURN);
    for turn in 0..WARM_UP + TURNS {
        let work = |rig: &mut Rig| {
            send_each(rig);
            rig.worker.turn().unwrap();
        };
        if turn < WARM_UP {
            work(&mut rig);
        } else {
            counted(|| work(&mut rig));
        }
        rig.deliver((turn + 1) * TURN);
    }
}

/// The caller's turn that reads them, gives credit back and flushes what it says.
fn receive() {
    let mut rig = Rig::new(TURN);
    for turn in 0..WARM_UP + TURNS {
        send_each(&rig);
        rig.worker.turn().unwrap();
        rig.carry();
        if turn < WARM_UP {
            rig.caller.turn().unwrap();
        } else {
            counted(|| rig.caller.turn().unwrap());
        }
        assert_eq!(rig.tokens(), (turn + 1) * TURN, "all in one turn");
        rig.deliver((turn + 1) * TURN);
    }
}

/// What a turn costs that finds nothing to do.
fn idle() {
    let mut rig = Rig::new(TURN);
    let mut all = || (0..TURNS).for_each(|_| _ = rig.worker.turn().unwrap());
    all();
    counted(all);
}

fn send_each(rig: &Rig) {
    for sink in rig.sinks.borrow_mut().iter_mut() {
        assert!(sink.try_send(black_box(&TOKEN)).unwrap());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Engine,
    Shard,
}

/// An engine's step: its thread pushes and hands over, the shard takes it in and flushes.
fn step(side: Side) {
    let mut rig = Rig::new(STEP);
    let sinks: Vec<StepSink> = rig
        .sinks
        .borrow()
        .iter()
        .map(|sink| sink.step_sink())
        .collect();
    let mut writer = StepWriter::new();
    for step in 0..WARM_UP + STEPS {
        let counts = |which| step >= WARM_UP && side == which;
        maybe_counted(counts(Side::Engine), || push(&mut writer, &sinks));
        maybe_counted(counts(Side::Shard), || _ = rig.worker.turn().unwrap());
        rig.deliver((step + 1) * STEP);
    }
}

fn push(writer: &mut StepWriter, sinks: &[StepSink]) {
    for sink in sinks {
        assert_eq!(writer.push(sink, black_box(&TOKEN)), Push::Queued);
    }
    let all = FlushReport {
        handed_over: 1,
        refused: 0,
    };
    assert_eq!(writer.flush(), all);
}

fn maybe_counted(is_counted: bool, work: impl FnOnce()) {
    if is_counted {
        counted(work);
    } else {
        work();
    }
}
