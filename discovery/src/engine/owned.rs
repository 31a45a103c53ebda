//! Registrations of this process.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ringmain_telemetry::{Counter, Gauge, Telemetry};

use crate::{Error, Instance, backend::Store};

/// A record that this process keeps renewing.
pub(crate) struct Owned {
    pub(crate) instance: Arc<Instance>,
    pub(crate) live: Arc<AtomicBool>,
    beat: u64,
}

impl Owned {
    pub(crate) fn new(instance: Arc<Instance>) -> Self {
        Self {
            instance,
            live: Arc::new(AtomicBool::new(true)),
            beat: 0,
        }
    }

    /// Writes the record with the next beat. A failure is told once and counted; the next renewal
    /// tries again.
    pub(crate) fn renew<S: Store>(
        &mut self,
        store: &mut S,
        telemetry: &Telemetry,
    ) -> Result<(), Error> {
        self.beat += 1;
        let result = store.put(&self.instance, self.beat);
        let was_live = self.live.swap(result.is_ok(), Ordering::Relaxed);
        let Instance {
            endpoint,
            id,
            epoch,
            ..
        } = &*self.instance;
        match &result {
            Ok(()) if !was_live => {
                telemetry.process().gauge_sub(Gauge::RegistrationsLost, 1);
                tracing::info!(%endpoint, instance = %id, epoch, "registration.renewed_again");
            }
            Ok(()) => {}
            Err(error) => {
                telemetry.process().inc(Counter::RegistryErrors);
                if was_live {
                    telemetry.process().gauge_add(Gauge::RegistrationsLost, 1);
                    tracing::warn!(%endpoint, instance = %id, epoch, %error, "registration.lost");
                }
            }
        }
        result
    }

    /// Ends it in the books.
    pub(crate) fn settle(&self, telemetry: &Telemetry) {
        if !self.live.swap(false, Ordering::Relaxed) {
            telemetry.process().gauge_sub(Gauge::RegistrationsLost, 1);
        }
    }
}
