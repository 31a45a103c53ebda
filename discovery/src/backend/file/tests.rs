//! Time is virtual here: readings are handed the instants they happen at.

use std::os::unix::fs::symlink;

use ringmain_codec::InstanceId;
use ringmain_telemetry::Counter;
use tempfile::TempDir;

use super::*;

const ENDPOINT: &str = "prod.worker.generate";
const TTL: Duration = Duration::from_secs(9);

struct World {
    dir: TempDir,
    owner: FileStore,
    reader: FileStore,
    telemetry: Arc<Telemetry>,
    start: Instant,
}

impl World {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let telemetry = Telemetry::new(0);
        let open = || FileStore::open(dir.path(), TTL, Arc::clone(&telemetry)).expect("opens");
        Self {
            owner: open(),
            reader: open(),
            start: Instant::now(),
            telemetry,
            dir,
        }
    }

    fn beat(&mut self, id: u64, beat: u64) {
        self.owner.put(&instance(id), beat).expect("written");
    }

    /// Reads at a time in seconds; gives the live ids.
    fn read(&mut self, seconds: f64) -> Result<Vec<u64>, Error> {
        let now = self.start + Duration::from_secs_f64(seconds);
        let mut ids: Vec<_> = self
            .reader
            .read(&endpoint(), now)?
            .iter()
            .map(|instance| instance.id.value())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn sees(&mut self, seconds: f64, expect: &[u64]) {
        assert_eq!(
            self.read(seconds).expect("readable"),
            expect,
            "after {seconds} s"
        );
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(ENDPOINT).join(name)
    }

    fn count(&self, counter: Counter) -> u64 {
        self.telemetry.counter_total(counter)
    }
}

fn endpoint() -> EndpointId {
    ENDPOINT.parse().expect("an id")
}

fn instance(id: u64) -> Arc<Instance> {
    let address = "10.0.0.7:7000".parse().expect("an address");
    Arc::new(Instance::new(
        InstanceId::new(id).expect("not zero"),
        endpoint(),
        vec![address],
    ))
}

fn file(id: u64) -> String {
    record::file_name(InstanceId::new(id).expect("not zero"))
}

#[test]
fn beats_keep_a_record_and_silence_ends_it() {
    let mut world = World::new();
    world.sees(0.0, &[]);
    world.beat(1, 1);
    world.beat(2, 1);
    world.sees(1.0, &[1, 2]);
    world.beat(1, 2);
    world.sees(9.0, &[1, 2]);
    assert_eq!(
        world.reader.next_expiry(&endpoint()),
        Some(world.start + Duration::from_secs(10))
    );
    world.sees(9.99, &[1, 2]);
    // Ten seconds is one time to live after the only beat of 2.
    world.sees(10.0, &[1]);
    assert_eq!(world.count(Counter::RegistryRecordsExpired), 1);
    world.sees(17.0, &[1]);
    // Back from the dead, as after a long stop of its process.
    world.beat(2, 2);
    world.sees(17.5, &[1, 2]);
    world.sees(18.0, &[2]);
    assert_eq!(world.count(Counter::RegistryRecordsExpired), 2);
}

#[test]
fn rewriting_the_same_beat_is_no_sign_of_life() {
    let mut world = World::new();
    world.beat(1, 1);
    world.sees(0.0, &[1]);
    for second in 1..9 {
        let bytes = fs::read(world.path(&file(1))).expect("there");
        fs::write(world.path("copy"), bytes).expect("written");
        fs::rename(world.path("copy"), world.path(&file(1))).expect("renamed");
        world.sees(f64::from(second), &[1]);
    }
    world.sees(9.0, &[]);
    // Nor does it revive.
    world.beat(1, 1);
    world.sees(9.5, &[]);
    world.beat(1, 2);
    world.sees(9.6, &[1]);
}

#[test]
fn a_reader_that_stood_still_forgives() {
    let mut world = World::new();
    world.beat(1, 1);
    world.sees(0.0, &[1]);
    world.reader.forgive(Duration::from_secs(100));
    world.sees(100.0, &[1]);
    world.sees(108.9, &[1]);
    world.sees(109.0, &[]);
}

#[test]
fn an_outage_costs_nobody_its_place() {
    let mut world = World::new();
    world.beat(1, 1);
    world.beat(2, 1);
    world.sees(0.0, &[1, 2]);
    let away = world.dir.path().with_extension("away");
    fs::rename(world.dir.path(), &away).expect("moved");
    // Three times to live without a registry.
    assert_eq!(
        world.read(1.0).expect_err("gone").kind(),
        ErrorKind::Unavailable
    );
    assert_eq!(world.reader.next_expiry(&endpoint()), None);
    assert_eq!(
        world.read(27.0).expect_err("gone").kind(),
        ErrorKind::Unavailable
    );
    // It comes back empty, and owners write their records again one by one.
    fs::create_dir(world.dir.path()).expect("created");
    world.sees(28.0, &[1, 2]);
    world.beat(1, 2);
    world.sees(30.0, &[1, 2]);
    assert_eq!(
        world.reader.next_expiry(&endpoint()),
        Some(world.start + Duration::from_secs(37))
    );
    world.sees(37.0, &[1]);
    fs::remove_dir_all(&away).expect("removed");
}

#[test]
fn removal_is_seen_at_once_and_harmless_twice() {
    let mut world = World::new();
    world.beat(1, 1);
    world.sees(0.0, &[1]);
    let key = Key::of(&instance(1));
    world.owner.remove(&key).expect("removed");
    world.owner.remove(&key).expect("nothing to do");
    world.sees(0.1, &[]);
    assert_eq!(world.count(Counter::RegistryRecordsExpired), 0);
}

#[test]
fn the_long_dead_are_cleaned_up() {
    let mut world = World::new();
    world.beat(1, 1);
    world.sees(0.0, &[1]);
    world.sees(179.0, &[]);
    world.sees(179.5, &[]);
    assert!(world.path(&file(1)).exists());
    world.sees(180.0, &[]);
    assert!(!world.path(&file(1)).exists());
    world.beat(1, 2);
    world.sees(181.0, &[1]);
}

#[test]
fn hostile_files_are_skipped_counted_once_and_block_nobody() {
    let mut world = World::new();
    world.beat(1, 1);
    let good = fs::read_to_string(world.path(&file(1))).expect("there");
    let put = |id: u64, text: &str| fs::write(world.path(&file(id)), text).expect("written");
    let own = |id: u64| good.replace("0000000000000001", &format!("{id:016x}"));
    put(0x10, "");
    put(0x11, "not json");
    put(0x12, &"[".repeat(60_000));
    put(0x13, &own(0x13).replace("10.0.0.7:7000", "0.0.0.0:7000"));
    put(0x14, &own(0x14).replace("\"10.0.0.7:7000\"", ""));
    put(0x15, &own(0x15).replace("10.0.0.7:7000", "10.0.0.7:0"));
    fs::write(world.path(&file(0x16)), [0xff; 100]).expect("written");
    put(0x20, &format!("{}{}", own(0x20), " ".repeat(70_000)));
    put(0x30, &good);
    put(0x31, &own(0x31).replace(ENDPOINT, "prod.worker.other"));
    put(0x32, &own(0x32).replace("\"format\":1", "\"format\":2"));
    fs::create_dir(world.path(&file(0x33))).expect("created");
    symlink("/dev/zero", world.path(&file(0x34))).expect("linked");
    symlink(world.path(&file(1)), world.path(&file(0x35))).expect("linked");
    let pipe = world.path(&file(0x36));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    fs::write(world.path("readme.txt"), "hello").expect("written");
    fs::write(world.path("00000000000000AB.json"), "{}").expect("written");
    fs::write(world.path("0000000000000000.json"), "{}").expect("written");
    fs::write(world.path(".hidden"), "hello").expect("written");
    for second in [0.0, 1.0, 2.0] {
        world.sees(second, &[1]);
        assert_eq!(world.count(Counter::RegistryRecordsSkippedMalformed), 7);
        assert_eq!(world.count(Counter::RegistryRecordsSkippedTooLarge), 1);
        assert_eq!(world.count(Counter::RegistryRecordsSkippedForeign), 10);
    }
    // Repaired, it is taken.
    fs::write(world.path(&file(0x11)), own(0x11)).expect("written");
    world.sees(3.0, &[1, 0x11]);
}

#[test]
fn a_record_that_turns_bad_is_dropped_alone() {
    let mut world = World::new();
    world.beat(1, 1);
    world.beat(2, 1);
    world.sees(0.0, &[1, 2]);
    fs::write(world.path(&file(1)), "{").expect("written");
    world.sees(1.0, &[2]);
    world.beat(1, 2);
    world.sees(2.0, &[1, 2]);
}

#[test]
fn nobody_lives_for_ever() {
    let mut world = World::new();
    world.beat(1, 1);
    let good = fs::read_to_string(world.path(&file(1))).expect("there");
    let greedy = good.replace("\"ttl_ms\":9000", &format!("\"ttl_ms\":{}", u64::MAX));
    assert_ne!(good, greedy);
    fs::write(world.path(&file(1)), greedy).expect("written");
    world.sees(0.0, &[1]);
    world.sees(3599.0, &[1]);
    world.sees(3600.0, &[]);
}

#[test]
fn events_name_the_endpoint_that_changed() {
    let mut world = World::new();
    world.reader.watch(&endpoint());
    let other = "prod.worker.other".parse().expect("an id");
    world.reader.watch(&other);
    let changed = |world: &mut World| match world.reader.drain_events() {
        Changed::Endpoints(endpoints) => endpoints.into_iter().collect::<Vec<_>>(),
        Changed::All => panic!("no event was lost"),
    };
    assert_eq!(changed(&mut world), []);
    world.beat(1, 1);
    assert_eq!(changed(&mut world), [endpoint()]);
    fs::remove_file(world.path(&file(1))).expect("removed");
    assert_eq!(changed(&mut world), [endpoint()]);
    fs::write(world.path(".hidden"), "").expect("written");
    assert_eq!(changed(&mut world), []);
    // The directory goes and comes back: a reading finds it, and events come again.
    fs::remove_dir_all(world.dir.path().join(ENDPOINT)).expect("removed");
    assert_eq!(changed(&mut world), [endpoint()]);
    fs::create_dir(world.dir.path().join(ENDPOINT)).expect("created");
    world.sees(0.0, &[]);
    world.beat(1, 2);
    assert_eq!(changed(&mut world), [endpoint()]);
    world.reader.unwatch(&endpoint());
    world.beat(1, 3);
    assert_eq!(changed(&mut world), []);
}

#[test]
fn endpoints_are_the_directories_with_their_names() {
    let mut world = World::new();
    world.beat(1, 1);
    fs::create_dir(world.dir.path().join("not an endpoint")).expect("created");
    fs::write(world.dir.path().join("note"), "").expect("written");
    assert_eq!(world.reader.endpoints().expect("readable"), [endpoint()]);
    let missing = FileStore::open(Path::new("/dev/null/x"), TTL, Telemetry::new(0));
    assert_eq!(
        missing.map(|_| ()).expect_err("not a directory").kind(),
        ErrorKind::Unavailable
    );
}
