//! A waker for the model checker: it behaves as an eventfd does, sticky and counted.

use loom::sync::{Arc, Condvar, Mutex};

/// Stands in for the drivers' waker under `cfg(loom)`.
#[derive(Clone, Debug)]
pub struct Waker {
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    pending: bool,
    wakes: usize,
}

impl Waker {
    /// A waker that nobody has used.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a model has no default")]
    pub fn new() -> Self {
        Self {
            state: Arc::new((Mutex::new(State::default()), Condvar::new())),
        }
    }

    /// What a producer calls.
    pub fn wake(&self) {
        let mut state = self.lock();
        state.pending = true;
        state.wakes += 1;
        drop(state);
        self.state.1.notify_one();
    }

    /// What a turn that waits does: blocks until a wake is pending and takes it. The checker
    /// reports a wake-up that never comes as a deadlock.
    pub fn wait(&self) {
        let mut state = self.lock();
        while !state.pending {
            let Ok(woken) = self.state.1.wait(state) else {
                unreachable!("the model checker poisons no lock");
            };
            state = woken;
        }
        state.pending = false;
    }

    /// How often [`wake`](Self::wake) was called.
    #[must_use]
    pub fn wakes(&self) -> usize {
        self.lock().wakes
    }

    fn lock(&self) -> loom::sync::MutexGuard<'_, State> {
        let Ok(state) = self.state.0.lock() else {
            unreachable!("the model checker poisons no lock");
        };
        state
    }
}
