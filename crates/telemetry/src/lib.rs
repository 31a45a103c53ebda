//! Per-shard counters and gauges, their names and help.
