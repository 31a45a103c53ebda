//! Ends of connections, from either side and in every state.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use ringmain_reactor::{DriverConfig, Event, Reactor, SocketOptions};
use socket2::SockRef;

use crate::child;
use crate::net::{Factory, Net, dial, pattern, read_some, stream_pair, unexpected, write_some};

pub(crate) fn eof_after_data<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    for count in [0, 1, 10_000] {
        let (socket, mut peer) = net.with_peer(&SocketOptions::default());
        let bytes = pattern(7, count);
        peer.write_all(&bytes).unwrap();
        drop(peer);
        assert_eq!(net.receive(socket, count), bytes);
        net.until(|_, event| match event {
            Event::Eof { socket: from } if from == socket => Some(()),
            other => unexpected(&other),
        });
        net.nothing_happens();
        net.close_all(&[socket]);
    }
    net.end();
}

pub(crate) fn half_closed_peer_still_hears<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (socket, mut peer) = net.with_peer(&SocketOptions::default());
    peer.write_all(b"question").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(net.receive(socket, 8), b"question");
    net.until(|_, event| matches!(event, Event::Eof { .. }).then_some(()));
    net.driver.send(socket, b"answer".to_vec());
    net.until(|_, event| match event {
        Event::Sent { buf, result, .. } => {
            result.unwrap();
            assert_eq!(buf, b"answer");
            Some(())
        }
        other => unexpected(&other),
    });
    net.close_all(&[socket]);
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    assert_eq!(text, "answer");
    net.end();
}

pub(crate) fn reset<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    for round in 0..20 {
        let (socket, mut peer) = net.with_peer(&SocketOptions::default());
        if round % 2 == 0 {
            peer.write_all(b"x").unwrap();
            assert_eq!(net.receive(socket, 1), b"x");
        }
        SockRef::from(&peer)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(peer);
        net.until(|_, event| match event {
            Event::Failed {
                socket: from,
                error,
            } if from == socket => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                Some(())
            }
            other => unexpected(&other),
        });
        // A send after the reset fails, and gives its buffer back.
        net.driver.send(socket, vec![1; 8]);
        net.until(|_, event| match event {
            Event::Sent { buf, result, .. } => {
                assert_eq!(buf, [1; 8]);
                assert!(result.is_err());
                Some(())
            }
            other => unexpected(&other),
        });
        net.close_all(&[socket]);
    }
    net.end();
}

pub(crate) fn stale_ids_do_nothing<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (old, _peer) = net.with_peer(&SocketOptions::default());
    net.driver.close(old);
    net.driver.close(old);
    net.until(|_, event| match event {
        Event::Closed { socket, buf: None } if socket == old => Some(()),
        other => unexpected(&other),
    });
    let (new, mut peer) = net.with_peer(&SocketOptions::default());
    assert_ne!(old, new);
    net.driver.close(old);
    net.driver.send(old, b"lost".to_vec());
    peer.write_all(b"alive").unwrap();
    assert_eq!(net.receive(new, 5), b"alive");
    net.driver.send(new, b"yes".to_vec());
    let mut answer = [0; 3];
    net.until(|_, event| matches!(event, Event::Sent { .. }).then_some(()));
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"yes");
    net.close_all(&[new]);
    net.end();
}

pub(crate) fn a_cut_off_send_comes_back<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    // The peer does not read, so the kernel cannot take all of it.
    let (socket, peer) = net.with_peer(&SocketOptions::default());
    let bytes = pattern(3, 32 << 20);
    net.driver.send(socket, bytes.clone());
    for _ in 0..3 {
        net.turn(Duration::from_millis(1));
        assert!(net.driver.next_event().is_none());
    }
    net.driver.close(socket);
    let buf = net.until(|_, event| match event {
        Event::Closed { socket: from, buf } if from == socket => Some(buf),
        other => unexpected(&other),
    });
    assert!(buf == Some(bytes));
    drop(peer);
    net.end();
}

pub(crate) fn everything_in_flight<F: Factory>() {
    child::alone(|| {
        let before = child::descriptors();
        let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
            return;
        };
        let (listener, address) = net.listen();
        let options = SocketOptions {
            send_buffer_bytes: Some(4096),
            ..Default::default()
        };
        let idle = child::descriptors();
        for round in 0..1000u32 {
            let (ours, peer) = stream_pair();
            let socket = net.driver.adopt(ours, &options).unwrap();
            let dialed = net.connect(&address);
            net.driver.send(socket, vec![0; 4 << 20]);
            write_some(&peer, b"some bytes");
            // In some rounds the operations have not even been submitted.
            if round % 3 > 0 {
                net.turn(Duration::ZERO);
            }
            if round % 5 == 0 {
                SockRef::from(&peer)
                    .set_linger(Some(Duration::ZERO))
                    .unwrap();
                drop(peer);
            }
            net.close_all(&[socket, dialed]);
        }
        while child::descriptors() > idle {
            net.turn(Duration::from_millis(1));
            while net.driver.next_event().is_some() {}
        }
        net.driver.unlisten(listener);
        net.end();
        assert_eq!(child::descriptors(), before);
    });
}

pub(crate) fn churn<F: Factory>() {
    let connections =
        std::env::var("RINGMAIN_CHURN").map_or(500, |count| count.parse::<u32>().unwrap());
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (listener, address) = net.listen();
    let mut opened = 0;
    let mut closed = 0;
    let mut dialing = std::collections::HashSet::new();
    while opened < 32 {
        dialing.insert(net.connect(&address));
        opened += 1;
    }
    // Each connection carries one request and one reply; the dialing side closes.
    net.until(|driver, event| {
        match event {
            Event::Accepted { fd, .. } => {
                driver.adopt(fd, &SocketOptions::default()).unwrap();
            }
            Event::Connected { socket } => driver.send(socket, socket.index().to_le_bytes().into()),
            Event::Received { socket, buf } => {
                let bytes = driver.bytes(&buf).to_vec();
                driver.recycle(buf);
                if dialing.contains(&socket) {
                    assert_eq!(bytes, socket.index().to_le_bytes());
                    driver.close(socket);
                } else {
                    driver.send(socket, bytes);
                }
            }
            Event::Eof { socket } => driver.close(socket),
            Event::Sent { result, .. } => result.unwrap(),
            Event::Closed { socket, buf } => {
                assert_eq!(buf, None);
                if dialing.remove(&socket) && opened < connections {
                    dialing.insert(driver.connect(&address, &SocketOptions::default()).unwrap());
                    opened += 1;
                }
                closed += 1;
            }
            other => unexpected(&other),
        }
        (closed == 2 * connections).then_some(())
    });
    net.driver.unlisten(listener);
    net.end();
}

pub(crate) fn dropped_driver<F: Factory>() {
    child::alone(|| {
        let before = child::descriptors();
        for _ in 0..20 {
            let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
                return;
            };
            let (_, address) = net.listen();
            let (busy, peer) = net.with_peer(&SocketOptions::default());
            let (_silent, _other) = net.with_peer(&SocketOptions::default());
            net.connect(&address);
            net.driver.send(busy, vec![0; 8 << 20]);
            write_some(&peer, b"unread");
            net.turn(Duration::ZERO);
            // Not accepted before the end, and one event never taken.
            let _late = dial(&address);
            let waker = net.driver.waker();
            drop(net);
            waker.wake();
        }
        assert_eq!(child::descriptors(), before);
        assert_eq!(ringmain_reactor::driver::uring::leaked_operations(), 0);
    });
}

pub(crate) fn last_bytes_survive_a_talkative_peer<F: Factory>() {
    // The case ends before the driver gives the peer up.
    let config = DriverConfig {
        linger: Duration::from_secs(600),
        ..DriverConfig::server()
    };
    let Some(mut net) = Net::new::<F>(&config) else {
        return;
    };
    let options = SocketOptions {
        recv_buffer_bytes: Some(4096),
        send_buffer_bytes: Some(1 << 20),
        ..Default::default()
    };
    let (socket, peer) = net.with_peer(&options);
    peer.set_nonblocking(true).unwrap();
    // More than the peer's first window takes (64 KiB), but not more than our kernel does.
    let bytes = pattern(9, 200 * 1024);
    net.driver.send(socket, bytes.clone());
    let talk = [0x55; 512];
    let mut sent = false;
    net.until(|driver, event| {
        match event {
            Event::Sent { result, .. } => {
                result.unwrap();
                sent = true;
            }
            Event::Received { buf, .. } => driver.recycle(buf),
            other => unexpected(&other),
        }
        sent.then_some(())
    });
    write_some(&peer, &talk);
    net.driver.close(socket);
    let mut heard = Vec::new();
    let mut closed = false;
    loop {
        net.turn(Duration::ZERO);
        while let Some(event) = net.driver.next_event() {
            match event {
                Event::Closed { buf: None, .. } => closed = true,
                Event::Received { buf, .. } => net.driver.recycle(buf),
                other => unexpected(&other),
            }
        }
        if !closed {
            // Like a peer that has not heard yet that nobody listens.
            write_some(&peer, &talk);
        }
        if read_some(&peer, &mut heard).is_none() {
            break;
        }
    }
    assert!(net.driver.stats().lingers > 0, "the peer was not behind");
    assert!(
        heard == bytes,
        "{} of {} bytes arrived",
        heard.len(),
        bytes.len()
    );
    drop(peer);
    if !closed {
        net.until(|_, event| matches!(event, Event::Closed { .. }).then_some(()));
    }
    net.end();
}

pub(crate) fn clients_that_leave_at_once<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (listener, address) = net.listen();
    let mut normal = dial(&address);
    normal.set_nonblocking(true).unwrap();
    for _ in 0..300 {
        drop(dial(&address));
    }
    normal.write_all(b"still here").unwrap();
    let mut heard = Vec::new();
    let mut closed = 0;
    net.until(|driver, event| {
        match event {
            Event::Accepted { fd, .. } => {
                driver.adopt(fd, &SocketOptions::default()).unwrap();
            }
            Event::Received { buf, .. } => {
                heard.extend_from_slice(driver.bytes(&buf));
                driver.recycle(buf);
            }
            Event::Eof { socket } | Event::Failed { socket, .. } => driver.close(socket),
            Event::Closed { .. } => closed += 1,
            other => unexpected(&other),
        }
        (closed == 300 && heard == b"still here").then_some(())
    });
    drop(normal);
    let socket = net.until(|_, event| match event {
        Event::Eof { socket } => Some(socket),
        _ => None,
    });
    net.close_all(&[socket]);
    net.driver.unlisten(listener);
    net.end();
}

pub(crate) fn an_unread_end_keeps_its_slot<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (first, peer) = net.with_peer(&SocketOptions::default());
    drop(peer);
    net.until(|_, event| matches!(event, Event::Eof { .. }).then_some(()));
    // Closed waits in the queue while its successor comes in.
    net.driver.close(first);
    let (ours, _peer) = stream_pair();
    let second = net.driver.adopt(ours, &SocketOptions::default()).unwrap();
    assert_ne!(first.index(), second.index());
    net.close_all(&[second]);
    net.end();
}
