//! What happens in one run, drawn from its seed.

use std::time::Duration;

use ringmain_client::ClientConfig;
use ringmain_reactor::driver::sim::{Partition, SimConfig};
use ringmain_server::{Keepalive, OnDisconnect, ServerConfig};
use ringmain_testkit::sim::{Errand, Habit, Job, JobKind, Route, SimRng, When, WorkerPlan};

/// Calls and faults fall into this much virtual time.
pub(crate) const SPAN: Duration = Duration::from_secs(4);

/// Longest message in tight weather, and room for one and a half of them.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 20_000;
const REASSEMBLY_BYTES_MAX: usize = 30_000;

/// What a run has to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Delays alone.
    Calm,
    /// Small buffers, pieces, stalled sends.
    Choppy,
    /// Small buffers, and limits that many calls hit.
    Tight,
    /// Connections break and dials fail, at random moments.
    Rough,
    /// Hosts lose each other and find each other again.
    Partitions,
    /// Workers die, drain, freeze and come back.
    Restarts,
}

impl Weather {
    pub(crate) const ALL: [Self; 6] = [
        Self::Calm,
        Self::Choppy,
        Self::Tight,
        Self::Rough,
        Self::Partitions,
        Self::Restarts,
    ];

    /// Whether a call may fail for other reasons than its own.
    pub(crate) const fn breaks(self) -> bool {
        matches!(self, Self::Rough | Self::Partitions | Self::Restarts)
    }

    fn net(self) -> SimConfig {
        match self {
            Self::Calm | Self::Restarts => SimConfig::calm(),
            Self::Choppy | Self::Tight | Self::Partitions => SimConfig::choppy(),
            Self::Rough => SimConfig::rough(),
        }
    }
}

/// Something that goes wrong; workers by index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Part(usize, Partition),
    Heal(usize),
    Reset(usize),
    Silence(usize),
    FailAccepts(usize),
    Kill(usize),
    Start(usize),
    Replace(usize),
    Drain(usize),
    Freeze(usize),
    Thaw(usize),
    FreezeClient,
    ThawClient,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) weather: Weather,
    pub(crate) net: SimConfig,
    pub(crate) workers: Vec<WorkerPlan>,
    pub(crate) client: ClientConfig,
    pub(crate) client_shards: usize,
    pub(crate) errands: Vec<Errand>,
    pub(crate) faults: Vec<(Duration, Fault)>,
}

impl Plan {
    pub(crate) fn draw(seed: u64, weather: Weather) -> Self {
        let mut rng = SimRng::new(seed);
        let workers = rng.between(1, 3);
        let server = draw_server(&mut rng, weather);
        let workers: Vec<_> = (1..=workers as u8)
            .map(|number| WorkerPlan {
                shards: rng.between(1, 2) as usize,
                server: server.clone(),
                ..WorkerPlan::new(number)
            })
            .collect();
        let calls = rng.between(20, 60);
        let errands = (0..calls)
            .map(|number| draw_errand(&mut rng, number))
            .collect();
        let faults = draw_faults(&mut rng, weather, workers.len());
        Self {
            seed,
            weather,
            net: weather.net(),
            client: draw_client(&mut rng, weather),
            client_shards: rng.between(1, 2) as usize,
            workers,
            errands,
            faults,
        }
    }
}

fn draw_server(rng: &mut SimRng, weather: Weather) -> ServerConfig {
    let on_disconnect = match rng.percent(50) {
        true => OnDisconnect::Kill,
        false => OnDisconnect::Stop {
            grace: Duration::from_millis(500),
        },
    };
    // Calls that are turned away for want of room: only where calls may fail.
    let full = weather.breaks() && rng.percent(30);
    let limits = match weather {
        Weather::Tight => ServerConfig {
            concurrency_max: 3,
            queue_max: 3,
            streams_per_link_max: 6,
            message_bytes_max: MESSAGE_BYTES_MAX,
            reassembly_bytes_max: REASSEMBLY_BYTES_MAX,
            ..ServerConfig::default()
        },
        _ => ServerConfig {
            concurrency_max: if full { 4 } else { 1_000 },
            queue_max: if full { 8 } else { 1_000 },
            ..ServerConfig::default()
        },
    };
    ServerConfig {
        sink_bytes_max: rng.choose(&[4 << 10, 64 << 10]),
        stream_window_bytes: rng.choose(&[2 << 10, 32 << 10]),
        connection_window_bytes: rng.choose(&[16 << 10, 4 << 20]),
        on_disconnect,
        keepalive: Keepalive {
            idle: Duration::from_secs(5),
            ..Keepalive::default()
        },
        ..limits
    }
}

fn draw_client(rng: &mut SimRng, weather: Weather) -> ClientConfig {
    let limits = match weather {
        Weather::Tight => ClientConfig {
            pending_calls_max: 4,
            message_bytes_max: MESSAGE_BYTES_MAX,
            reassembly_bytes_max: REASSEMBLY_BYTES_MAX,
            ..ClientConfig::default()
        },
        _ => ClientConfig::default(),
    };
    ClientConfig {
        links_per_instance: rng.between(1, 2) as usize,
        stream_window: rng.choose(&[2 << 10, 32 << 10]),
        connection_window: rng.choose(&[16 << 10, 4 << 20]),
        queue_bytes_max: rng.choose(&[4 << 10, 1 << 20]),
        keepalive_idle: Duration::from_secs(5),
        ..limits
    }
}

fn millis(rng: &mut SimRng, low: u64, high: u64) -> Duration {
    Duration::from_millis(rng.between(low, high))
}

fn draw_errand(rng: &mut SimRng, number: u64) -> Errand {
    let kind = match rng.between(0, 99) {
        0..25 => JobKind::Emit,
        25..45 => JobKind::Step,
        45..63 => JobKind::Echo,
        63..78 => JobKind::Take,
        78..90 => JobKind::Hang,
        90..97 => JobKind::Fail,
        97 => JobKind::Panic,
        _ => JobKind::Ignore,
    };
    let (count, size) = match rng.between(0, 19) {
        0..12 => (rng.between(0, 40), rng.between(12, 300)),
        12..17 => (rng.between(1, 10), rng.between(300, 6_000)),
        17..19 => (rng.between(1, 3), rng.between(6_000, 40_000)),
        _ => (1, rng.between(40_000, 150_000)),
    };
    let job = Job {
        number,
        kind,
        count: count as u32,
        size: size as u32,
        pace_us: rng.choose(&[0, 0, 100, 5_000, 20_000]),
    };
    let deadline = rng.percent(20).then(|| millis(rng, 1, 2_000));
    let habit = draw_habit(rng, &job, deadline.is_some());
    Errand {
        at: Duration::from_micros(rng.between(0, SPAN.as_micros() as u64)),
        job,
        request_bytes: rng.choose(&[0, 0, 0, 200, 9_000, 30_000]),
        deadline,
        habit,
        route: if rng.percent(30) {
            Route::Local
        } else {
            Route::Client
        },
        read_pace: rng.choose(&[Duration::ZERO, Duration::ZERO, Duration::from_millis(10)]),
    }
}

fn draw_habit(rng: &mut SimRng, job: &Job, has_deadline: bool) -> Habit {
    let when = match rng.percent(50) {
        true => When::Messages(rng.between(0, u64::from(job.answer_len().min(10))) as u32),
        false => When::Time(millis(rng, 0, 500)),
    };
    let habit = match rng.between(0, 99) {
        0..50 => Habit::Patient,
        50..60 => Habit::Abandon(Duration::from_micros(rng.between(0, 3_000))),
        60..75 => Habit::Stop(when),
        75..87 => Habit::Kill(when),
        _ => Habit::Drop(when),
    };
    let idle = matches!(habit, Habit::Patient | Habit::Abandon(_));
    let hangs = matches!(job.kind, JobKind::Hang | JobKind::Ignore);
    if hangs && idle && !has_deadline {
        // Somebody has to end it.
        return Habit::Stop(When::Messages(1));
    }
    match habit {
        Habit::Stop(When::Messages(_)) if hangs => Habit::Stop(When::Messages(1)),
        Habit::Kill(When::Messages(_)) if hangs => Habit::Kill(When::Messages(1)),
        Habit::Drop(When::Messages(_)) if hangs => Habit::Drop(When::Messages(1)),
        habit => habit,
    }
}

fn draw_faults(rng: &mut SimRng, weather: Weather, workers: usize) -> Vec<(Duration, Fault)> {
    let mut faults = Vec::new();
    if !weather.breaks() {
        return faults;
    }
    for _ in 0..rng.between(2, 6) {
        let at = millis(rng, 50, 3_500);
        let until = at + millis(rng, 10, 5_000);
        let worker = rng.between(0, workers as u64 - 1) as usize;
        let pair = match (weather, rng.between(0, 5)) {
            (Weather::Rough, 0..3) => (Fault::Reset(worker), None),
            (Weather::Rough, 3) => (Fault::Silence(worker), None),
            (Weather::Rough, _) => (Fault::FailAccepts(worker), None),
            (Weather::Partitions, 0..3) => (
                Fault::Part(worker, Partition::Hold),
                Some(Fault::Heal(worker)),
            ),
            (Weather::Partitions, _) => (
                Fault::Part(worker, Partition::BlackHole),
                Some(Fault::Heal(worker)),
            ),
            (_, 0 | 1) => (Fault::Kill(worker), Some(Fault::Start(worker))),
            (_, 2) => (Fault::Replace(worker), None),
            (_, 3) => (Fault::Drain(worker), Some(Fault::Replace(worker))),
            (_, 4) => (Fault::Freeze(worker), Some(Fault::Thaw(worker))),
            (_, _) => (Fault::FreezeClient, Some(Fault::ThawClient)),
        };
        faults.push((at, pair.0));
        faults.extend(pair.1.map(|end| (until, end)));
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}
