//! Numbers for a monitoring system, in the form that Prometheus reads.
//!
//! They live in a recorder of the server's own, not in the process's: two servers in one process do not mix theirs.

use std::{collections::HashMap, time::Duration};

use metrics::{Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use pi_wire::{
    registry::Kind,
    response::{CircuitState, Metrics},
};

/// Seconds. From a read to a long run.
const BUCKETS: [f64; 9] = [0.000_1, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];
const META: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);
const DURATION: &str = "pi_server_command_seconds";

pub struct Gauges {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    durations: HashMap<&'static str, Histogram>,
}

impl Gauges {
    pub fn new() -> Self {
        let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS);
        let recorder = builder.expect("there are buckets").build_recorder();
        let handle = recorder.handle();
        let histogram = |kind: Kind| {
            let key = Key::from_parts(DURATION, vec![Label::from_static_parts("command", kind.name())]);
            (kind.name(), recorder.register_histogram(&key, &META))
        };
        let durations = Kind::all().map(histogram).collect();
        Self { recorder, handle, durations }
    }

    /// A command took so long.
    pub fn took(&self, command: &str, time: Duration) {
        if let Some(histogram) = self.durations.get(command) {
            histogram.record(time.as_secs_f64());
        }
    }

    /// Everything, as text; `turned_away` were refused at the door.
    pub fn render(&self, metrics: &Metrics, turned_away: u64) -> String {
        let replay = &metrics.stores.replay;
        for (name, value) in [
            ("pi_server_sessions", metrics.session_count),
            ("pi_server_connections", metrics.connection_count),
            ("pi_server_commands_in_flight", replay.in_flight_count),
            ("pi_server_outcomes_kept", replay.outcome_count),
            ("pi_server_idempotency_keys", replay.idempotency_cache_size),
            ("pi_server_lanes", metrics.stores.execution.lane_count),
        ] {
            self.gauge(name, Vec::new(), value);
        }
        let refused = &metrics.commands_rejected;
        for (reason, count) in [
            ("session_limit", refused.session_limit),
            ("message_size", refused.message_size),
            ("rate_limit", refused.rate_limit),
            ("global_rate_limit", refused.global_rate_limit),
            ("connection_limit", refused.connection_limit),
            ("ui_response_rate_limit", refused.extension_ui_response_rate_limit),
            ("busy", replay.in_flight_rejections),
            ("credential_or_origin", turned_away),
        ] {
            self.counter("pi_server_refused_total", vec![Label::from_static_parts("reason", reason)], count);
        }
        self.counter("pi_server_commands_total", Vec::new(), metrics.total_commands_executed);
        let journal = &metrics.stores.journal;
        self.counter("pi_server_journal_records_total", Vec::new(), journal.entries_written);
        self.counter("pi_server_journal_errors_total", Vec::new(), journal.write_errors);
        for circuit in &metrics.circuit_breakers {
            let label = || vec![Label::new("provider", circuit.provider_name.to_string())];
            self.gauge("pi_server_circuit_open", label(), u64::from(circuit.state != CircuitState::Closed));
            self.counter("pi_server_provider_calls_total", label(), circuit.total_calls);
            self.counter("pi_server_provider_failures_total", label(), circuit.total_failures);
        }
        let bash = &metrics.bash_circuit_breaker;
        self.counter("pi_server_bash_timeouts_total", Vec::new(), bash.total_timeouts);
        self.gauge("pi_server_bash_circuits_open", Vec::new(), bash.open_session_count);
        self.handle.run_upkeep();
        self.handle.render()
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody counts beyond what a double holds")]
    fn gauge(&self, name: &'static str, labels: Vec<Label>, value: u64) {
        self.recorder.register_gauge(&Key::from_parts(name, labels), &META).set(value as f64);
    }

    fn counter(&self, name: &'static str, labels: Vec<Label>, value: u64) {
        self.recorder.register_counter(&Key::from_parts(name, labels), &META).absolute(value);
    }
}

impl Default for Gauges {
    fn default() -> Self {
        Self::new()
    }
}
