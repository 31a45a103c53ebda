//! The ends of streams: exactly one each.

use ringmain_codec::{Started, Status, StreamHandle};
use ringmain_shard::Link;

use super::{Calls, Sink, StreamKey, Terminal};

impl<T> Calls<T> {
    /// Asks the responder to finish early.
    pub(crate) fn stop(&mut self, key: StreamKey, link: &mut Link) {
        let Some(stream) = self.table.find_mut(key) else {
            return;
        };
        let Some(handle) = stream.handle else { return };
        stream.stopped = true;
        link.stop(handle);
    }

    /// Drops the stream now; its terminal says so.
    pub(crate) fn kill(&mut self, key: StreamKey, link: &mut Link) {
        self.end_here(key, link, Status::Killed, "");
    }

    /// The stream's deadline has passed.
    pub(crate) fn expire(&mut self, key: StreamKey, link: &mut Link) {
        self.end_here(key, link, Status::DeadlineExceeded, "the deadline passed");
    }

    /// As [`expire`](Self::expire), by the codec's name.
    pub(crate) fn expire_handle(&mut self, handle: StreamHandle, link: &mut Link) {
        if let Some(key) = self.table.key_of(handle) {
            // The timer that brought us here is spent.
            if let Some(stream) = self.table.find_mut(key) {
                stream.timer = None;
            }
            self.expire(key, link);
        }
    }

    /// The consumer is gone: an open stream is killed, and nothing is kept.
    pub(crate) fn release(&mut self, key: StreamKey, link: &mut Link) -> Option<T> {
        self.kill(key, link);
        self.forget(key)
    }

    /// As [`release`](Self::release) for a link that is gone already.
    pub(crate) fn forget(&mut self, key: StreamKey) -> Option<T> {
        let stream = self.table.remove(key)?;
        self.reassembly_bytes -= stream.reserved;
        if let Some(timer) = stream.timer {
            self.timers.push(timer);
        }
        if let Sink::Messages(inbox) = stream.sink {
            self.keep(inbox);
        }
        Some(stream.attachment)
    }

    /// The transport is gone: everything that is open ends.
    pub(crate) fn fail_all(&mut self, link: &mut Link, status: Status, message: &str) {
        while let Some((handle, started)) = link.poll_failed() {
            if let Some(key) = self.table.key_of(handle) {
                self.end(key.index, Terminal::new(status, started, message));
            }
        }
        self.lost(status, message);
    }

    /// As [`fail_all`](Self::fail_all) when the link itself is out of reach.
    pub(crate) fn lost(&mut self, status: Status, message: &str) {
        for index in self.table.open() {
            let started = self
                .table
                .at_mut(index)
                .map_or(Started::Unknown, |s| s.started());
            self.end(index, Terminal::new(status, started, message));
        }
    }

    /// Ends an open stream from this side.
    fn end_here(&mut self, key: StreamKey, link: &mut Link, status: Status, message: &str) {
        let Some(stream) = self.table.find_mut(key) else {
            return;
        };
        let Some(handle) = stream.handle else { return };
        let started = stream.started();
        link.kill(handle);
        self.end(key.index, Terminal::new(status, started, message));
    }

    /// Gives a stream its terminal; the first one counts.
    pub(super) fn end(&mut self, index: u32, mut terminal: Terminal) {
        let Some(timer) = self.table.close(index) else {
            return;
        };
        self.timers.extend(timer);
        let status = terminal.info.status;
        match status {
            Status::Ok => self.counts.ok += 1,
            Status::Cancelled | Status::Killed => self.counts.cancelled += 1,
            _ => self.counts.failed += 1,
        }
        if let Some(stream) = self.table.at_mut(index) {
            terminal.expected = stream.stopped && status == Status::Cancelled;
            if stream.accepted {
                terminal.started = Started::Yes;
            }
            stream.end = Some(terminal);
        }
        self.touch(index);
    }
}
