//! The short way of a message: straight into the buffer that is about to leave.

use super::core::Core;
use super::event::StreamHandle;
use super::streams::state::Phase;
use super::{SendError, TrySend};
use crate::wire::{
    DATA_FRAME_COST_BYTES, DATA_TOTAL_BYTES, FrameKind, HEADER_BYTES, Header, OutBuf,
};

impl<P: AsRef<[u8]>> Core<P> {
    pub(crate) fn try_send(
        &mut self,
        handle: StreamHandle,
        message: &[u8],
        out: &mut OutBuf<'_>,
    ) -> Result<TrySend, SendError> {
        self.check_send(handle, false)?;
        self.check_message_len(message.len())?;
        Ok(self.try_frame(handle.slot, message, None, false, out))
    }

    pub(crate) fn try_send_fragment(
        &mut self,
        handle: StreamHandle,
        fragment: &[u8],
        message_len: u32,
        message_end: bool,
        out: &mut OutBuf<'_>,
    ) -> Result<TrySend, SendError> {
        self.check_send(handle, true)?;
        self.check_message_len(message_len as usize)?;
        let stream = self.streams.at(handle.slot);
        let (outgoing, next) =
            stream
                .send
                .next_fragment(fragment.len(), message_len, message_end)?;
        let total = (outgoing.given == 0 && !message_end).then_some(message_len);
        let sent = self.try_frame(handle.slot, fragment, total, !message_end, out);
        if sent == TrySend::Written {
            self.streams.at_mut(handle.slot).send.fragments = next;
            // The end of the input may have waited for this message.
            self.streams.activate(handle.slot);
        }
        Ok(sent)
    }

    fn try_frame(
        &mut self,
        slot: u32,
        payload: &[u8],
        total: Option<u32>,
        more: bool,
        out: &mut OutBuf<'_>,
    ) -> TrySend {
        let prefix = if total.is_some() { DATA_TOTAL_BYTES } else { 0 };
        let others_ahead = !self.streams.active.is_empty();
        let connection_credit = self.send.credit();
        let stream = self.streams.at_mut(slot);
        let is_behind = stream.phase != Phase::Open || stream.has_data();
        if others_ahead || is_behind || payload.len() > self.sending.fragment_bytes_max {
            return TrySend::Queued;
        }
        // At most `fragment_bytes_max`, which is a u16.
        #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
        let (cost, body_len) = (
            payload.len() as u32 + DATA_FRAME_COST_BYTES,
            (payload.len() + prefix) as u16,
        );
        let stream_credit = stream.send.window.credit();
        if cost > stream_credit.min(connection_credit) {
            self.stats.no_credit += 1;
            if cost > self.sending.cost_max {
                // That much credit need not ever be there at once.
                return TrySend::Queued;
            }
            stream.send.wanted = cost;
            if cost <= stream_credit {
                self.streams.waiting.push(slot);
            }
            return TrySend::NoCredit;
        }
        let flags = if more { Header::MORE } else { 0 };
        let flags = if prefix > 0 {
            flags | Header::TOTAL
        } else {
            flags
        };
        let header = Header::new(stream.id, FrameKind::Data, flags, body_len);
        let total = total.unwrap_or(0).to_le_bytes();
        if out.put_frame(header, [&total[..prefix], payload]).is_err() {
            self.stats.no_room += 1;
            return TrySend::NoRoom;
        }
        stream.send.window.use_up(cost);
        stream.send.wanted = 0;
        self.urgent |= !std::mem::replace(&mut stream.send.started, true);
        let implied_accept = stream.due.accept;
        self.streams.sent.used += u64::from(cost);
        self.send.use_up(cost);
        self.count_data(payload.len(), HEADER_BYTES + prefix + payload.len());
        if implied_accept {
            self.imply_accept(slot);
        }
        TrySend::Written
    }

    /// DATA was written: it says what ACCEPT would have said.
    pub(crate) fn imply_accept(&mut self, slot: u32) {
        self.streams.at_mut(slot).due.accept = false;
        self.streams.signal(slot);
    }

    /// Counts a written DATA.
    pub(crate) fn count_data(&mut self, payload_len: usize, frame_len: usize) {
        self.transmitted += frame_len as u64;
        self.stats.frames_sent += 1;
        self.stats.data_frames_sent += 1;
        self.stats.data_bytes_sent += payload_len as u64;
    }
}
