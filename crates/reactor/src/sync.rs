//! The atomics of the shared structures, or their model-checked twins under `cfg(loom)`.

#[cfg(loom)]
pub(crate) use model::*;
#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

    pub(crate) use crate::wake::Waker;

    /// Keeps a load after an earlier store or read-modify-write of another variable.
    ///
    /// Nothing here: both accesses are `SeqCst`, and the single order of those is the barrier.
    #[inline]
    pub(crate) const fn store_load_barrier() {}

    /// An `UnsafeCell` with the interface of the model checker's.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
mod model {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence,
    };

    pub(crate) use crate::wake_model::Waker;

    /// The checker weakens `SeqCst` accesses to acquire and release and knows the single order
    /// only of fences, so the order that the real accesses give is stated with one.
    pub(crate) fn store_load_barrier() {
        fence(Ordering::SeqCst);
    }
}
