//! Filling the out buffer: frames that need no credit first, then data by turns.

use std::time::Instant;

use super::Transmit;
use super::core::Core;
use super::event::ConnectionState;
use super::streams::recv::Growth;
use super::streams::send::{Cut, Room};
use super::streams::state::Phase;
use crate::StreamId;
use crate::frame::{Accept, Credit, Data, Goaway, Kill, Open, Ping, Pong, Stop};
use crate::wire::{DATA_FRAME_COST_BYTES, EncodeError, Extensions, HEADER_BYTES, Metadata, OutBuf};

/// A request cut only because the buffer is nearly full is not worth less than this.
const CUT_BYTES_MIN: usize = 1024;

/// The buffer is full: stop here.
#[derive(Debug)]
struct Full;

impl<P: AsRef<[u8]>> Core<P> {
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut OutBuf<'_>) -> Transmit {
        self.now = now;
        match self.fill(out) {
            Ok(()) => Transmit::Drained,
            Err(Full) => Transmit::MoreRoomNeeded,
        }
    }

    pub(crate) fn wants_transmit(&self) -> bool {
        let farewell = self.greeting_due || self.farewell.due.is_some();
        match self.state {
            ConnectionState::Closed => farewell,
            ConnectionState::Handshaking => self.greeting_due,
            ConnectionState::Ready | ConnectionState::Draining => {
                farewell
                    || !self.pongs.is_empty()
                    || self.keepalive.ping_due().is_some()
                    || self.recv.window.is_due()
                    || !self.streams.control.is_empty()
                    || self.streams.has_opens()
                    || (!self.streams.active.is_empty() && self.has_connection_credit())
            }
        }
    }

    fn has_connection_credit(&self) -> bool {
        self.send.credit() > DATA_FRAME_COST_BYTES
    }

    fn fill(&mut self, out: &mut OutBuf<'_>) -> Result<(), Full> {
        if self.greeting_due && !self.write_greeting(out) {
            return Err(Full);
        }
        match self.state {
            ConnectionState::Handshaking => return Ok(()),
            ConnectionState::Closed => return self.write_goaway(out),
            ConnectionState::Ready | ConnectionState::Draining => {}
        }
        self.write_connection_control(out)?;
        loop {
            while let Some(slot) = self.streams.control.front() {
                self.write_control(slot, out)?;
                self.streams.control.remove(slot);
            }
            while let Some(slot) = self.streams.front_open() {
                self.write_open(slot, out)?;
            }
            self.write_data(out)?;
            // An END may have come free behind its stream's last data.
            if self.streams.control.is_empty() {
                return Ok(());
            }
        }
    }

    fn write_connection_control(&mut self, out: &mut OutBuf<'_>) -> Result<(), Full> {
        while let Some(&payload) = self.pongs.front() {
            self.write(Pong { payload }.encode(out), HEADER_BYTES + 8)?;
            self.pongs.pop_front();
        }
        if let Some(payload) = self.keepalive.ping_due() {
            self.write(Ping { payload }.encode(out), HEADER_BYTES + 8)?;
            self.keepalive.ping_written();
            self.stats.pings_sent += 1;
        }
        self.write_goaway(out)?;
        if self.recv.window.is_due() {
            let bytes = self.recv.window.due();
            self.write(
                Credit { bytes }.encode(StreamId::CONNECTION, out),
                HEADER_BYTES + 4,
            )?;
            self.recv.take_grant();
        }
        Ok(())
    }

    fn write_goaway(&mut self, out: &mut OutBuf<'_>) -> Result<(), Full> {
        let Some(due) = &self.farewell.due else {
            return Ok(());
        };
        let (last_stream, status) = (due.last_stream, due.status);
        let goaway = Goaway {
            last_stream,
            status,
            message: &due.message,
        };
        let (written, len) = (goaway.encode(out), goaway.encoded_len());
        self.write(written, len)?;
        self.farewell.due = None;
        Ok(())
    }

    /// Everything of a stream that needs no credit.
    fn write_control(&mut self, slot: u32, out: &mut OutBuf<'_>) -> Result<(), Full> {
        let (id, due) = (self.streams.at(slot).id, self.streams.at(slot).due);
        if due.kill {
            self.write(Kill.encode(id, out), HEADER_BYTES)?;
            self.streams.at_mut(slot).due.kill = false;
        }
        if due.stop {
            self.write(Stop.encode(id, out), HEADER_BYTES)?;
            self.streams.at_mut(slot).due.stop = false;
        }
        if due.accept {
            self.write(Accept.encode(id, out), HEADER_BYTES)?;
            self.streams.at_mut(slot).due.accept = false;
        }
        if due.credit {
            self.write_credit(slot, out)?;
        }
        if due.end && self.streams.at(slot).send.is_queue_empty() {
            let written = out.put(&self.streams.at(slot).text);
            self.write(written, self.streams.at(slot).text.len())?;
            self.streams.remove(slot);
        }
        Ok(())
    }

    fn write_credit(&mut self, slot: u32, out: &mut OutBuf<'_>) -> Result<(), Full> {
        if out.remaining() < HEADER_BYTES + 4 {
            return Err(Full);
        }
        let budget = self
            .config
            .window_growth_bytes_max
            .saturating_sub(self.streams.grown);
        let stream = self.streams.at_mut(slot);
        stream.due.credit = false;
        let id = stream.id;
        let growth = stream
            .recv
            .grow(self.now, self.config.stream_window_max, budget);
        let bytes = stream.recv.window.take_grant();
        match growth {
            Growth::None => {}
            Growth::By(extra) => {
                self.streams.grown += extra;
                self.stats.windows_grown += 1;
            }
            Growth::BudgetUsedUp => self.stats.window_growth_max_hits += 1,
        }
        self.streams.received.granted += u64::from(bytes);
        self.write(Credit { bytes }.encode(id, out), HEADER_BYTES + 4)
    }

    fn write_open(&mut self, slot: u32, out: &mut OutBuf<'_>) -> Result<(), Full> {
        let connection_credit = self.send.credit();
        let stream = self.streams.at(slot);
        let Some(fields) = stream.open else {
            unreachable!("a queued stream has its OPEN")
        };
        let (endpoint, metadata) = stream.text.split_at(fields.endpoint_len);
        let (Ok(endpoint), Ok(metadata)) = (str::from_utf8(endpoint), Metadata::parse(metadata))
        else {
            unreachable!("both were checked values when the stream was opened")
        };
        let mut open = Open {
            request_id: fields.request_id,
            deadline: fields
                .deadline
                .map(|at| at.saturating_duration_since(self.now)),
            priority: stream.priority,
            trace: fields.trace,
            endpoint,
            metadata,
            request_len: None,
            request: &[],
            end_request: stream.due.end_request,
            extensions: Extensions::EMPTY,
        };
        let Some(room) = out.remaining().checked_sub(open.encoded_len()) else {
            return Err(Full);
        };
        let credit = stream.send.window.credit().min(connection_credit);
        let allowed = open.request_room().min(credit as usize);
        if let Some((payload, message_len)) = stream.send.front() {
            let allowed = allowed.min(payload.len());
            let len = allowed.min(room);
            if len < allowed.min(CUT_BYTES_MIN) && !out.as_slice().is_empty() {
                return Err(Full);
            }
            open.request = &payload[..len];
            open.request_len = Some(message_len);
            let is_all = len == message_len as usize && stream.send.queue_len() == 1;
            open.end_request &= is_all && stream.send.fragments.is_none();
        } else {
            open.end_request &= stream.send.fragments.is_none();
        }
        let (id, end_request, len) = (stream.id, open.end_request, open.request.len());
        let (has_request, frame_len) = (open.request_len.is_some(), open.encoded_len());
        let written = open.encode(id, out);
        self.write(written, frame_len)?;
        self.opened(slot, has_request.then_some(len), end_request);
        Ok(())
    }

    /// OPEN was written with `sent` bytes of the request.
    fn opened(&mut self, slot: u32, sent: Option<usize>, end_request: bool) {
        self.streams.pop_open();
        let open_end_at = self.transmitted;
        let stream = self.streams.at_mut(slot);
        stream.phase = Phase::Open;
        stream.open_end_at = open_end_at;
        stream.open = None;
        stream.text.clear();
        stream.due.end_request &= !end_request;
        if let Some(sent) = sent {
            let Ok(cost) = u32::try_from(sent) else {
                unreachable!("a control frame is shorter than 16 KiB")
            };
            stream.send.advance(sent);
            stream.send.window.use_up(cost);
            stream.send.started = true;
            self.streams.sent.used += u64::from(cost);
            self.send.use_up(cost);
        }
        self.urgent = true;
        self.streams.signal(slot);
        self.streams.activate(slot);
    }

    /// Data of the streams that have both data and credit, a quantum each in turn.
    fn write_data(&mut self, out: &mut OutBuf<'_>) -> Result<(), Full> {
        while let Some(slot) = self.streams.active.front() {
            if !self.has_connection_credit() {
                return Ok(());
            }
            let stream = self.streams.at_mut(slot);
            if stream.send.deficit <= 0 {
                stream.send.deficit += i64::from(stream.priority.send_quantum_bytes());
            }
            let mut goes_on = true;
            while goes_on && self.streams.at(slot).send.deficit > 0 {
                if !self.has_connection_credit() {
                    return Ok(());
                }
                goes_on = self.write_fragment(slot, out)?;
            }
            if goes_on {
                self.streams.active.rotate();
            } else {
                self.streams.active.remove(slot);
                self.streams.at_mut(slot).send.deficit = 0;
                self.streams.signal(slot);
            }
        }
        Ok(())
    }

    /// One DATA of a stream; `false` when it has no more, or no credit.
    fn write_fragment(&mut self, slot: u32, out: &mut OutBuf<'_>) -> Result<bool, Full> {
        let room = Room {
            bytes: out.remaining(),
            buffer_is_empty: out.as_slice().is_empty(),
            connection_credit: self.send.credit(),
            fragment_bytes_max: self.sending.fragment_bytes_max,
        };
        let stream = self.streams.at(slot);
        let ends = stream.due.end_request && stream.send.fragments.is_none();
        let data = match stream.send.cut(room) {
            Cut::Frame {
                len,
                total,
                message_end,
            } => Data {
                more: !message_end,
                total,
                end_request: ends && message_end && stream.send.queue_len() == 1,
                empty: false,
                payload: stream.send.front_bytes(len),
            },
            Cut::Empty if ends && stream.send.has_credit() => Data::END_OF_REQUEST,
            Cut::Empty | Cut::NoCredit => return Ok(false),
            Cut::NoRoom => return Err(Full),
        };
        let (len, frame_len) = (data.payload.len(), data.encoded_len());
        let (empty, end_request) = (data.empty, data.end_request);
        if self.put(data.encode(stream.id, out)) {
            self.count_data(len, frame_len);
        } else {
            return Err(Full);
        }
        let Ok(cost) = u32::try_from(len) else {
            unreachable!("a fragment's length is a u16")
        };
        let cost = cost + DATA_FRAME_COST_BYTES;
        let stream = self.streams.at_mut(slot);
        if !empty {
            stream.send.advance(len);
        }
        stream.send.window.use_up(cost);
        stream.send.deficit -= i64::from(cost);
        stream.due.end_request &= !end_request;
        let goes_on = stream.has_data() && stream.send.has_credit();
        let accept = stream.due.accept;
        self.streams.sent.used += u64::from(cost);
        self.send.use_up(cost);
        if accept {
            self.imply_accept(slot);
        }
        Ok(goes_on)
    }

    /// Counts a frame that was written.
    fn write(&mut self, written: Result<(), EncodeError>, len: usize) -> Result<(), Full> {
        if !self.put(written) {
            return Err(Full);
        }
        self.transmitted += len as u64;
        self.stats.frames_sent += 1;
        Ok(())
    }

    /// Whether a frame was written; if not, there was no room.
    pub(crate) fn put(&self, written: Result<(), EncodeError>) -> bool {
        match written {
            Ok(()) => true,
            Err(EncodeError::NoRoom) => false,
            Err(error) => unreachable!("every part of a frame was checked before: {error}"),
        }
    }
}
