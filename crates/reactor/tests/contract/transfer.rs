//! Bytes arrive whole, in order, and where they belong.

use std::collections::HashMap;

use ringmain_reactor::{Address, DriverConfig, Event, ListenOptions, Reactor, SocketOptions};

use crate::net::{Factory, Net, Pair, local, pattern, unexpected};

fn echo<F: Factory>(address: &Address) {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (listener, actual) = net
        .driver
        .listen(address, &ListenOptions::default())
        .unwrap();
    let Pair { dialed, accepted } = net.pair_at(&actual, &SocketOptions::default());
    for round in 0..100 {
        let bytes = pattern(round, 64);
        net.driver.send(dialed, bytes.clone());
        assert_eq!(net.receive(accepted, 64), bytes);
        net.driver.send(accepted, bytes.clone());
        assert_eq!(net.receive(dialed, 64), bytes);
    }
    // The last `Sent` may come after the bytes.
    net.close_all(&[dialed, accepted]);
    net.driver.unlisten(listener);
    net.end();
}

pub(crate) fn tcp_echo<F: Factory>() {
    echo::<F>(&local());
}

pub(crate) fn tcp6_echo<F: Factory>() {
    // A host without IPv6 cannot bind; that is its answer to this case.
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        eprintln!("NOT TESTED: this host has no IPv6");
        return;
    }
    echo::<F>(&"[::1]:0".parse().unwrap());
}

pub(crate) fn unix_echo<F: Factory>() {
    let name = std::any::type_name::<F>().replace("::", "-");
    let path = std::env::temp_dir().join(format!("ringmain-{}-{name}", std::process::id()));
    echo::<F>(&Address::Unix(path.clone()));
    std::fs::remove_file(&path).unwrap();
}

pub(crate) fn large_transfer_through_tiny_buffers<F: Factory>() {
    let options = SocketOptions {
        recv_buffer_bytes: Some(4096),
        send_buffer_bytes: Some(4096),
        ..SocketOptions::default()
    };
    let config = DriverConfig {
        recv_buffers: 8,
        recv_buffer_bytes: 512,
        ..DriverConfig::server()
    };
    let Some(mut net) = Net::new::<F>(&config) else {
        return;
    };
    let (listener, address) = net
        .driver
        .listen(
            &local(),
            &ListenOptions {
                socket: options.clone(),
                ..ListenOptions::default()
            },
        )
        .unwrap();
    let Pair { dialed, accepted } = net.pair_at(&address, &options);
    let bytes = pattern(1, 256 * 1024);
    net.driver.send(dialed, bytes.clone());
    net.driver.send(accepted, bytes.clone());
    let mut got = HashMap::from([(dialed, Vec::new()), (accepted, Vec::new())]);
    let mut sent = 0;
    net.until(|driver, event| {
        match event {
            Event::Received { socket, buf } => {
                got.get_mut(&socket)
                    .unwrap()
                    .extend_from_slice(driver.bytes(&buf));
                driver.recycle(buf);
            }
            Event::Sent { buf, result, .. } => {
                result.unwrap();
                assert_eq!(buf, bytes);
                sent += 1;
            }
            other => unexpected(&other),
        }
        (sent == 2 && got.values().all(|got| got.len() >= bytes.len())).then_some(())
    });
    assert!(got.values().all(|got| *got == bytes));
    assert_eq!(net.driver.stats().send_bytes, 2 * bytes.len() as u64);
    net.close_all(&[dialed, accepted]);
    net.driver.unlisten(listener);
    net.end();
}

pub(crate) fn many_sizes_on_one_connection<F: Factory>() {
    let config = DriverConfig {
        recv_buffers: 16,
        ..DriverConfig::server()
    };
    let Some(mut net) = Net::new::<F>(&config) else {
        return;
    };
    let (listener, address) = net.listen();
    let Pair { dialed, accepted } = net.pair_at(&address, &SocketOptions::default());
    let sizes = [0, 1, 7, 4095, 4096, 4097, 65_535, 65_536, 262_144, 2, 1];
    for (round, size) in (0..).zip(sizes) {
        let bytes = pattern(round, size);
        net.driver.send(dialed, bytes.clone());
        let mut got = Vec::new();
        let mut sent = false;
        net.until(|driver, event| {
            match event {
                Event::Received { socket, buf } => {
                    assert_eq!(socket, accepted);
                    assert!(!buf.is_empty());
                    got.extend_from_slice(driver.bytes(&buf));
                    driver.recycle(buf);
                }
                Event::Sent {
                    socket,
                    buf,
                    result,
                } => {
                    result.unwrap();
                    assert_eq!((socket, buf.len()), (dialed, size));
                    sent = true;
                }
                other => unexpected(&other),
            }
            (sent && got.len() == size).then_some(())
        });
        assert_eq!(got, bytes);
    }
    net.close_all(&[dialed, accepted]);
    net.driver.unlisten(listener);
    net.end();
}

pub(crate) fn bytes_of_many_sockets_do_not_mix<F: Factory>() {
    const SOCKETS: u32 = 40;
    const BYTES: usize = 20_000;
    let config = DriverConfig {
        recv_buffers: 16,
        recv_buffer_bytes: 256,
        ..DriverConfig::server()
    };
    let Some(mut net) = Net::new::<F>(&config) else {
        return;
    };
    let (listener, address) = net.listen();
    let mut all = Vec::new();
    let mut dialed = Vec::new();
    let mut expect = HashMap::new();
    for seed in 0..SOCKETS {
        let pair = net.pair_at(&address, &SocketOptions::default());
        expect.insert(pair.accepted, pattern(seed, BYTES));
        all.extend([pair.dialed, pair.accepted]);
        dialed.push(pair.dialed);
    }
    for (seed, socket) in (0..).zip(dialed) {
        net.driver.send(socket, pattern(seed, BYTES));
    }
    let mut got: HashMap<_, Vec<u8>> = HashMap::new();
    let mut kept = Vec::new();
    net.until(|driver, event| {
        match event {
            Event::Received { socket, buf } => {
                got.entry(socket)
                    .or_default()
                    .extend_from_slice(driver.bytes(&buf));
                // Gives buffers back late and out of order.
                kept.push(buf);
                if kept.len() >= 5 {
                    driver.recycle(kept.swap_remove(2));
                    driver.recycle(kept.swap_remove(0));
                }
            }
            Event::Sent { result, .. } => result.unwrap(),
            other => unexpected(&other),
        }
        (got.values().map(Vec::len).sum::<usize>() == BYTES * SOCKETS as usize).then_some(())
    });
    assert!(got == expect, "a foreign or missing byte");
    for buf in kept {
        net.driver.recycle(buf);
    }
    net.close_all(&all);
    net.driver.unlisten(listener);
    net.end();
}
