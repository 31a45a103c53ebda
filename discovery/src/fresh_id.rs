//! Drawing an instance id.

use std::io;

use ringmain_codec::InstanceId;

use crate::{Error, ErrorKind};

/// Draws the id of this process from the operating system. Call it once, at start, and share the id
/// among all endpoints of the process; it is kept through every re-registration.
///
/// # Errors
/// [`ErrorKind::Internal`] when the system gives no randomness.
pub fn fresh_instance_id() -> Result<InstanceId, Error> {
    loop {
        let drawn = getrandom::u64().map_err(|error| {
            Error::new(ErrorKind::Internal, "no random instance id")
                .because(io::Error::other(error))
        })?;
        // Zero stands for "any instance" on the wire.
        if let Some(id) = InstanceId::new(drawn) {
            return Ok(id);
        }
    }
}
