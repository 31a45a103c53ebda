use super::*;

#[test]
fn the_pause_doubles_up_to_its_maximum() {
    let ms = Duration::from_millis;
    let backoff = Backoff {
        min: ms(100),
        max: ms(1000),
    };
    let mut now = Instant::now();
    let mut known = None;
    for pause in [100, 200, 400, 800, 1000, 1000] {
        let inhibition = Inhibition::failed(known, backoff, now);
        assert_eq!(inhibition.failed_at(), now);
        assert_eq!(inhibition.probe_at(), now + ms(pause));
        now += ms(pause);
        known = Some(inhibition);
    }
}
