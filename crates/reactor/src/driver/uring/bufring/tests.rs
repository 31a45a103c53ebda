use io_uring::IoUring;

use super::BufRing;

fn rings(buffers: u16) -> Option<(IoUring, BufRing)> {
    let io = match IoUring::new(4) {
        Ok(io) => io,
        Err(error) if std::env::var_os("RINGMAIN_ALLOW_NO_URING").is_some() => {
            eprintln!("io_uring is refused here ({error}): nothing was tested");
            return None;
        }
        Err(error) => panic!("io_uring is refused here: {error}"),
    };
    let bufs = BufRing::new(&io, buffers, 64).unwrap();
    Some((io, bufs))
}

#[test]
fn counts_add_up_and_a_buffer_is_out_once() {
    let Some((io, mut bufs)) = rings(5) else {
        return;
    };
    assert_eq!((bufs.total(), bufs.free(), bufs.held()), (8, 8, 0));
    for buffer in 0..8 {
        assert!(bufs.take(buffer));
        assert!(!bufs.take(buffer), "lent twice");
        assert_eq!(bufs.free() + bufs.held(), bufs.total());
    }
    assert_eq!(bufs.bytes(3, 64), [0; 64]);
    for buffer in 0..8 {
        bufs.give(buffer);
    }
    bufs.publish();
    assert_eq!((bufs.free(), bufs.held()), (8, 0));
    assert!(!bufs.take(8), "no such buffer");
    bufs.release(&io);
}

#[test]
#[should_panic(expected = "only a buffer that is out can be read")]
fn a_buffer_that_the_kernel_may_write_cannot_be_read() {
    let Some((_io, bufs)) = rings(2) else {
        panic!("only a buffer that is out can be read")
    };
    let _ = bufs.bytes(0, 1);
}
