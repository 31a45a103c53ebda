//! Foreign descriptors.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ringmain_reactor::{DriverConfig, Event, Reactor};

use crate::net::{Factory, Net, unexpected};

pub(crate) fn readable_until_read<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (mut reader, mut writer) = UnixStream::pair().unwrap();
    let poll = net
        .driver
        .poll_fd(reader.try_clone().unwrap().into())
        .unwrap();
    let readable = |net: &mut Net<F::Driver>| {
        net.until(|_, event| match event {
            Event::Readable { poll: from } if from == poll => Some(()),
            other => unexpected(&other),
        });
    };
    net.nothing_happens();
    for _ in 0..10 {
        writer.write_all(b"ab").unwrap();
        // Unread bytes are reported again.
        readable(&mut net);
        readable(&mut net);
        reader.read_exact(&mut [0]).unwrap();
        readable(&mut net);
        reader.read_exact(&mut [0]).unwrap();
        // A report from before the read may still come; then it is quiet.
        net.turn(Duration::from_millis(1));
        while net.driver.next_event().is_some() {}
        net.nothing_happens();
    }
    drop(writer);
    readable(&mut net);
    net.driver.unpoll(poll);
    net.end();
}

pub(crate) fn unpolled<F: Factory>() {
    let Some(mut net) = Net::new::<F>(&DriverConfig::server()) else {
        return;
    };
    let (reader, mut writer) = UnixStream::pair().unwrap();
    let poll = net.driver.poll_fd(reader.into()).unwrap();
    net.turn(Duration::ZERO);
    net.driver.unpoll(poll);
    net.driver.unpoll(poll);
    while net.driver.in_flight() > 0 {
        net.turn(Duration::from_millis(10));
    }
    assert!(net.driver.next_event().is_none());
    // The driver closed its end.
    assert_eq!(
        writer.write_all(b"x").unwrap_err().kind(),
        std::io::ErrorKind::BrokenPipe
    );
    net.end();
}
