//! The table of streams and the queues over it.

pub(crate) mod credit;
pub(crate) mod recv;
pub(crate) mod ring;
pub(crate) mod send;
pub(crate) mod state;

use std::collections::VecDeque;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::event::StreamHandle;
use super::stats::CreditFlow;
use crate::StreamId;
use ring::Ring;
use state::{Due, Phase, Stream};

/// Vectors of freed slots above this are given back.
const TEXT_KEPT_BYTES_MAX: usize = 1024;

/// All streams of a connection. Slots are used again; the table is bounded by `streams_max`.
#[derive(Debug)]
pub(crate) struct Streams<P> {
    slots: Vec<Stream<P>>,
    free: Vec<u32>,
    by_id: FxHashMap<u32, u32>,
    /// Where a stream most likely is, by the low bits of its id: ids are dense, so this nearly
    /// always spares the map.
    hints: Vec<u32>,
    /// Streams the caller has.
    open: usize,
    /// Streams killed here whose END is still to come.
    tombstones: usize,
    /// Slots with frames that need no credit.
    pub(crate) control: Ring,
    /// Slots with data and stream credit.
    pub(crate) active: Ring,
    /// Slots to tell `SendReady`.
    pub(crate) ready: Ring,
    /// Slots whose `try_send` lacked connection credit.
    pub(crate) waiting: Ring,
    /// Dialer: streams whose OPEN waits, by growing id. May hold streams killed meanwhile.
    opens: VecDeque<StreamHandle>,
    opens_live: usize,
    /// Growth taken by the windows of all streams.
    pub(crate) grown: u32,
    pub(crate) received: CreditFlow,
    pub(crate) sent: CreditFlow,
}

impl<P: AsRef<[u8]>> Streams<P> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: FxHashMap::default(),
            hints: Vec::new(),
            open: 0,
            tombstones: 0,
            control: Ring::default(),
            active: Ring::default(),
            ready: Ring::default(),
            waiting: Ring::default(),
            opens: VecDeque::new(),
            opens_live: 0,
            grown: 0,
            received: CreditFlow::default(),
            sent: CreditFlow::default(),
        }
    }

    /// Gives a new stream a slot, with its windows. The caller has made sure that `streams_max`
    /// is not exceeded.
    pub(crate) fn insert(
        &mut self,
        id: StreamId,
        phase: Phase,
        send_credit: u32,
        recv_window: u32,
        now: Instant,
    ) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.add_slot(now),
        };
        let hint = self.hint(id);
        self.hints[hint] = slot;
        let stream = &mut self.slots[slot as usize];
        stream.id = id;
        stream.phase = phase;
        stream.send.reset(send_credit);
        stream.opened_at = now;
        stream.recv = recv::RecvHalf::new(recv_window, now);
        self.sent.granted += u64::from(send_credit);
        self.received.granted += u64::from(recv_window);
        self.by_id.insert(id.value(), slot);
        self.open += usize::from(stream.is_callers());
        slot
    }

    fn add_slot(&mut self, now: Instant) -> u32 {
        let Ok(slot) = u32::try_from(self.slots.len()) else {
            unreachable!("streams_max is a u32 and bounds the table")
        };
        self.slots.push(Stream::free(now));
        let hints = 2 * self.slots.len().next_power_of_two();
        if self.hints.len() < hints {
            // What the old places said is found through the map until its stream ends.
            self.hints.clear();
            self.hints.resize(hints, slot);
        }
        for ring in [
            &mut self.control,
            &mut self.active,
            &mut self.ready,
            &mut self.waiting,
        ] {
            ring.reserve(slot);
        }
        slot
    }

    /// Takes a stream out of its caller's hands; the slot stays until `remove`.
    pub(crate) fn retire(&mut self, slot: u32, phase: Phase) {
        let stream = &mut self.slots[slot as usize];
        if stream.is_callers() {
            self.open -= 1;
        }
        self.opens_live -= usize::from(stream.phase == Phase::Queued);
        self.tombstones -= usize::from(stream.phase == Phase::Tombstone);
        self.tombstones += usize::from(phase == Phase::Tombstone);
        stream.phase = phase;
        stream.send.wanted = 0;
        self.ready.remove(slot);
        self.waiting.remove(slot);
    }

    /// Dialer: GOAWAY took the stream from the peer. The caller has it until it is told.
    pub(crate) fn refuse(&mut self, slot: u32) {
        self.retire(slot, Phase::Refused);
        self.open += 1;
        self.control.remove(slot);
        self.slots[slot as usize].due = Due::default();
    }

    /// Drops what a stream has queued; returns how many bytes that were.
    pub(crate) fn discard_queue(&mut self, slot: u32) -> usize {
        let stream = &mut self.slots[slot as usize];
        stream.due.end_request = false;
        self.active.remove(slot);
        stream.send.discard_queue()
    }

    /// Frees the slot; all that is left of the stream's credit expires (spec 7.6).
    pub(crate) fn remove(&mut self, slot: u32) {
        self.retire(slot, Phase::Free);
        self.control.remove(slot);
        self.active.remove(slot);
        let stream = &mut self.slots[slot as usize];
        let window = stream.recv.window;
        self.received.expired += u64::from(window.available());
        self.received.returned += u64::from(window.held());
        self.sent.expired += u64::from(stream.send.window.credit());
        self.grown -= stream.recv.grown;
        self.by_id.remove(&stream.id.value());
        stream.id = StreamId::CONNECTION;
        stream.due = Due::default();
        stream.accepted = false;
        stream.stopped = false;
        stream.open = None;
        stream.open_end_at = 0;
        stream.send.reset(0);
        stream.text.clear();
        if stream.text.capacity() > TEXT_KEPT_BYTES_MAX {
            stream.text = Vec::new();
        }
        self.free.push(slot);
    }

    /// The slot of a handle the caller gave, unless its stream is over.
    pub(crate) fn find(&self, handle: StreamHandle) -> Option<u32> {
        let stream = self.slots.get(handle.slot as usize)?;
        let is_live = stream.id == handle.id && handle.id != StreamId::CONNECTION;
        is_live.then_some(handle.slot)
    }

    /// The stream of a handle, if the caller may still use it.
    pub(crate) fn callers(&mut self, handle: StreamHandle) -> Option<&mut Stream<P>> {
        let stream = self.slots.get_mut(handle.slot as usize)?;
        let is_live = stream.id == handle.id && stream.is_callers();
        is_live.then_some(stream)
    }

    /// The slot of a stream by its id on the wire.
    #[inline]
    pub(crate) fn by_id(&self, id: StreamId) -> Option<u32> {
        let hint = *self.hints.get(self.hint(id))?;
        if self.slots[hint as usize].id == id {
            return Some(hint);
        }
        self.by_id.get(&id.value()).copied()
    }

    /// The place of a stream in `hints`, whose length is a power of two.
    #[inline]
    fn hint(&self, id: StreamId) -> usize {
        (id.value() >> 1) as usize & self.hints.len().wrapping_sub(1)
    }

    pub(crate) fn at(&self, slot: u32) -> &Stream<P> {
        &self.slots[slot as usize]
    }

    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut Stream<P> {
        &mut self.slots[slot as usize]
    }

    /// A stream with the account of all streams' credit.
    pub(crate) fn receiving(&mut self, slot: u32) -> (&mut Stream<P>, &mut CreditFlow) {
        (&mut self.slots[slot as usize], &mut self.received)
    }

    /// All slots, free ones included.
    pub(crate) fn slot_count(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// Slots in use: what counts against `streams_max`.
    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Streams that are not over on this side: the caller has them, or END is to be written.
    pub(crate) fn busy(&self) -> usize {
        self.used() - self.tombstones
    }

    /// Streams the caller has.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Puts a stream whose data may be written in line for it.
    pub(crate) fn activate(&mut self, slot: u32) {
        let stream = &self.slots[slot as usize];
        if stream.has_data() && stream.may_write_data() && stream.send.has_credit() {
            self.active.push(slot);
        }
    }

    /// Puts a stream in line for its control frames, or takes it out when it has none any more.
    /// Before OPEN is written they wait with it.
    pub(crate) fn signal(&mut self, slot: u32) {
        let stream = &self.slots[slot as usize];
        if stream.phase == Phase::Queued {
            return;
        }
        if stream.has_control() {
            self.control.push(slot);
        } else {
            self.control.remove(slot);
        }
    }

    /// Adds a stream whose OPEN waits.
    pub(crate) fn push_open(&mut self, handle: StreamHandle) {
        if self.opens.len() > 2 * self.opens_live + 16 {
            let slots = &self.slots;
            self.opens.retain(|handle| is_queued(slots, *handle));
        }
        self.opens.push_back(handle);
        self.opens_live += 1;
    }

    /// The stream whose OPEN is next.
    pub(crate) fn front_open(&mut self) -> Option<u32> {
        while let Some(&handle) = self.opens.front() {
            if is_queued(&self.slots, handle) {
                return Some(handle.slot);
            }
            self.opens.pop_front();
        }
        None
    }

    /// The OPEN in front was written.
    pub(crate) fn pop_open(&mut self) {
        self.opens.pop_front();
        self.opens_live -= 1;
    }

    pub(crate) fn has_opens(&self) -> bool {
        self.opens_live > 0
    }

    /// Credit that was delivered and is not released yet.
    pub(crate) fn held(&self) -> u64 {
        self.slots
            .iter()
            .filter(|stream| stream.phase != Phase::Free)
            .map(|stream| u64::from(stream.recv.window.held()))
            .sum()
    }
}

fn is_queued<P>(slots: &[Stream<P>], handle: StreamHandle) -> bool {
    let stream = &slots[handle.slot as usize];
    stream.id == handle.id && stream.phase == Phase::Queued
}
