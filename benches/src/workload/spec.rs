//! One row to measure, and how it is put together.

use std::collections::BTreeMap;

use ringmain_bench_harness::{ConnectArgs, Load, Plan, PlanKind};
use serde_json::{Value, json};

use super::Workload;
use super::settings::{Settings, Variant, millis};
use crate::args::{Home, Idle, YesNo, word};
use crate::catalog::{Class, Entry, SYSTEMS};
use crate::pick::PickArgs;

/// Streams of a paced load that the harness opens in one millisecond.
const OPENED_PER_MS: u64 = 20;
/// Time that the harness takes before it opens the first.
const LEAD_MS: u64 = 20;

/// What one row measures.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) workload: Workload,
    pub(crate) system: &'static Entry,
    /// Whatever tells this row from others.
    pub(crate) params: BTreeMap<String, Value>,
    /// Options of the server.
    pub(crate) serve: Vec<String>,
    /// Instances that the server serves.
    pub(crate) instances: usize,
    /// Whether calls go through a router.
    pub(crate) relay: bool,
    /// What the client does; addresses and processes are filled in when they exist.
    pub(crate) plan: Plan,
    /// Measured in this process instead.
    pub(crate) pick: Option<PickArgs>,
    /// Whether a repetition that counts follows.
    pub(crate) traced: bool,
}

/// A plan with the defaults that most workloads share.
pub(crate) fn plan(load: Load, kind: PlanKind) -> Plan {
    Plan {
        load,
        kind,
        streams: 64,
        item_bytes: 128,
        items: 1,
        request_bytes: 64,
        interval_us: 0,
        rate: 0,
        warm_up_ms: 0,
        window_ms: 0,
        wedged: 0,
        trace: Vec::new(),
        traced: false,
        server_pid: 0,
        broker_pid: None,
        connect: ConnectArgs {
            connections: 1,
            lanes: 1,
            ..ConnectArgs::default()
        },
    }
}

/// Makes the rows of one workload.
pub(crate) struct Rows<'a> {
    pub(crate) settings: &'a Settings,
    workload: Workload,
    specs: Vec<Spec>,
}

impl<'a> Rows<'a> {
    /// No rows yet.
    pub(crate) const fn new(workload: Workload, settings: &'a Settings) -> Self {
        Self {
            settings,
            workload,
            specs: Vec::new(),
        }
    }

    /// The rows, without those that flags have made equal.
    pub(crate) fn finish(self) -> Vec<Spec> {
        let mut kept: Vec<Spec> = Vec::new();
        for spec in self.specs {
            let known = |other: &Spec| {
                std::ptr::eq(other.system, spec.system) && other.params == spec.params
            };
            if !kept.iter().any(known) {
                kept.push(spec);
            }
        }
        kept
    }

    /// Adds ours in each of its variants.
    pub(crate) fn ours(&mut self, base: &Plan, defaults: &[(Home, Idle)]) {
        for spec in self.our_specs(base, defaults) {
            self.specs.push(spec);
        }
    }

    /// Ours in each of its variants, for workloads that change more.
    pub(crate) fn our_specs(&self, base: &Plan, defaults: &[(Home, Idle)]) -> Vec<Spec> {
        let ours = SYSTEMS.iter().filter(|entry| entry.class == Class::Ours);
        let ours = ours.filter(|entry| self.settings.wants(entry.name));
        let variants = self.settings.variants(defaults);
        ours.flat_map(|entry| {
            let variants = variants.iter();
            variants.map(|variant| self.our_spec(entry, base, *variant))
        })
        .collect()
    }

    /// Rows so far.
    pub(crate) const fn len(&self) -> usize {
        self.specs.len()
    }

    /// The rows from that one on.
    pub(crate) fn since(&mut self, first: usize) -> &mut [Spec] {
        &mut self.specs[first..]
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, spec: Spec) {
        self.specs.push(spec);
    }

    /// Adds these floors.
    pub(crate) fn floors(&mut self, base: &Plan, names: &[&str]) {
        for entry in SYSTEMS {
            if names.contains(&entry.name) && self.settings.wants(entry.name) {
                let spec = self.spec(entry, base);
                self.specs.push(spec);
            }
        }
    }

    /// Adds the peers that flags name.
    pub(crate) fn peers(&mut self, base: &Plan) {
        for entry in SYSTEMS {
            let is_peer = matches!(entry.class, Class::Peer | Class::Reported);
            if is_peer && self.settings.names(entry.name) {
                let spec = self.spec(entry, base);
                self.specs.push(spec);
            }
        }
    }

    fn our_spec(&self, entry: &'static Entry, base: &Plan, variant: Variant) -> Spec {
        let mut spec = self.spec(entry, base);
        let shards = self.settings.systems.shards.unwrap_or(1).max(1);
        let io = word(variant.io);
        let idle = word(variant.idle);
        let home = word(variant.home);
        let mut both = vec![format!("io={io}"), format!("idle={idle}")];
        if let (Idle::Adaptive, Some(us)) = (variant.idle, self.settings.systems.spin_us) {
            both.push(format!("spin_us={us}"));
            spec.params.insert("spin_us".to_owned(), json!(us));
        }
        spec.serve = both.clone();
        spec.serve.push(format!("shards={shards}"));
        spec.plan.connect.set = both;
        spec.plan.connect.set.push(format!("home={home}"));
        if variant.home != Home::Inline {
            spec.plan.connect.lanes = shards;
        }
        for (name, value) in [("io", io), ("idle", idle), ("home", home)] {
            spec.params.insert(name.to_owned(), json!(value));
        }
        if shards > 1 {
            spec.params.insert("shards".to_owned(), json!(shards));
        }
        spec
    }

    fn spec(&self, entry: &'static Entry, base: &Plan) -> Spec {
        let settings = self.settings;
        let mut plan = settings.apply(base.clone());
        plan.warm_up_ms = millis(settings.warm_up);
        if matches!(plan.load, Load::Paced | Load::Large) {
            // Streams open a few at a time, and all are open before the window.
            plan.warm_up_ms += plan.streams as u64 / OPENED_PER_MS + LEAD_MS;
        }
        if plan.window_ms == 0 {
            plan.window_ms = millis(settings.window);
        }
        let counted_when_quick = matches!(self.workload, Workload::Stream | Workload::Step);
        let traced = match settings.traced {
            Some(choice) => choice == YesNo::Yes,
            None => !settings.quick || counted_when_quick,
        };
        Spec {
            workload: self.workload,
            system: entry,
            params: params(&plan),
            serve: entry.serve.iter().map(|&pair| pair.to_owned()).collect(),
            instances: 1,
            relay: false,
            plan,
            pick: None,
            traced,
        }
    }
}

/// What a plan has that another row's plan may have otherwise.
fn params(plan: &Plan) -> BTreeMap<String, Value> {
    let mut params = BTreeMap::from([
        ("load".to_owned(), json!(plan.load)),
        ("streams".to_owned(), json!(plan.streams)),
        ("item_bytes".to_owned(), json!(plan.item_bytes)),
        ("request_bytes".to_owned(), json!(plan.request_bytes)),
    ]);
    // Loads that fix the kind themselves.
    if !matches!(plan.load, Load::Cancel | Load::Large) {
        params.insert("kind".to_owned(), json!(plan.kind));
    }
    // Items of paced streams fill the window, those of a trace are the trace's.
    if !matches!(plan.load, Load::Paced | Load::Cancel | Load::Trace) {
        params.insert("items".to_owned(), json!(plan.items));
    }
    if plan.load == Load::Open {
        params.remove("streams");
    }
    if plan.load == Load::Cancel {
        params.remove("streams");
        params.insert("rounds".to_owned(), json!(plan.streams));
    }
    for (name, value) in [
        ("interval_us", plan.interval_us),
        ("rate", plan.rate),
        ("wedged", plan.wedged as u64),
    ] {
        if value > 0 {
            params.insert(name.to_owned(), json!(value));
        }
    }
    if plan.connect.connections > 1 {
        let connections = json!(plan.connect.connections);
        params.insert("connections".to_owned(), connections);
    }
    params
}
