//! Numbers for a monitoring system, in the form that Prometheus reads.
//!
//! They live in a recorder of the server's own, not in the process's: two servers in one process do not mix theirs.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use metrics::{Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _, SharedString};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use pi_engine::Limit;
use pi_wire::response::{CircuitState, Metrics};

use crate::hall::Counts;

/// Seconds. From a read to a long run.
const BUCKETS: [f64; 9] = [0.000_1, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];
const META: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);
const DURATION: &str = "pi_server_command_seconds";

/// What each number is, as `HELP` tells it.
const GAUGES: [(&str, &str); 10] = [
    ("pi_server_sessions", "Sessions that are known"),
    ("pi_server_sessions_unwritten", "Sessions whose file cannot be written, or was taken away while they are loaded"),
    ("pi_server_connections", "Clients that are connected"),
    ("pi_server_commands_in_flight", "Commands without an answer"),
    ("pi_server_outcomes_kept", "Outcomes that can be replayed"),
    ("pi_server_outcomes_full", "1 while no further outcome can be kept, and commands are refused for it"),
    ("pi_server_idempotency_keys", "Idempotency keys that are known"),
    ("pi_server_lanes", "Lanes with commands in them"),
    ("pi_server_circuit_open", "1 while the circuit of a provider is open"),
    ("pi_server_bash_circuits_open", "Sessions whose circuit for shell commands is open"),
];
const COUNTERS: [(&str, &str); 7] = [
    ("pi_server_refused_total", "What was refused, by reason"),
    ("pi_server_commands_total", "Commands that began"),
    ("pi_server_journal_records_total", "Records written to the journal"),
    ("pi_server_journal_errors_total", "Times that the journal could not be written"),
    ("pi_server_provider_calls_total", "Calls of a provider"),
    ("pi_server_provider_failures_total", "Calls of a provider that failed"),
    ("pi_server_bash_timeouts_total", "Shell commands that timed out"),
];

pub struct Gauges {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    durations: Durations,
    /// Durations so far.
    recorded: AtomicU64,
}

/// Durations are kept one by one until somebody puts them into their buckets; whoever asks for numbers does, and nobody may.
const MOST_RECORDED: u64 = 8192;

/// How long commands take, by how long they may: a histogram for each command would be hundreds of lines.
struct Durations {
    brief: Histogram,
    normal: Histogram,
    extended: Histogram,
    unlimited: Histogram,
}

impl Gauges {
    pub fn new() -> Self {
        let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS);
        let recorder = builder.expect("there are buckets").build_recorder();
        let handle = recorder.handle();
        let text = |text: &'static str| SharedString::const_str(text);
        for (name, help) in GAUGES {
            recorder.describe_gauge(KeyName::from_const_str(name), None, text(help));
        }
        for (name, help) in COUNTERS {
            recorder.describe_counter(KeyName::from_const_str(name), None, text(help));
        }
        let help = "Seconds that commands took: brief are reads and control, extended bash and compact, unlimited runs";
        recorder.describe_histogram(KeyName::from_const_str(DURATION), None, text(help));
        let histogram = |limit: &'static str| {
            let key = Key::from_parts(DURATION, vec![Label::from_static_parts("limit", limit)]);
            recorder.register_histogram(&key, &META)
        };
        let durations = Durations {
            brief: histogram("brief"),
            normal: histogram("normal"),
            extended: histogram("extended"),
            unlimited: histogram("unlimited"),
        };
        Self { recorder, handle, durations, recorded: AtomicU64::new(0) }
    }

    /// A command that may take so long took this.
    pub fn took(&self, limit: Limit, time: Duration) {
        let histogram = match limit {
            Limit::Brief => &self.durations.brief,
            Limit::Normal => &self.durations.normal,
            Limit::Extended => &self.durations.extended,
            Limit::Unlimited => &self.durations.unlimited,
        };
        histogram.record(time.as_secs_f64());
        if self.recorded.fetch_add(1, Ordering::Relaxed) % MOST_RECORDED == MOST_RECORDED - 1 {
            self.handle.run_upkeep();
        }
    }

    /// Everything, as text; `counts` tells of refusals what the metrics of the protocol do not.
    pub fn render(&self, metrics: &Metrics, counts: &Counts) -> String {
        let replay = &metrics.stores.replay;
        for (name, value) in [
            ("pi_server_sessions", metrics.session_count),
            ("pi_server_sessions_unwritten", metrics.stores.session_store.unwritten_sessions.unwrap_or_default()),
            ("pi_server_connections", metrics.connection_count),
            ("pi_server_commands_in_flight", replay.in_flight_count),
            ("pi_server_outcomes_kept", replay.outcome_count),
            ("pi_server_outcomes_full", u64::from(replay.outcomes_full_for_ms.is_some())),
            ("pi_server_idempotency_keys", replay.idempotency_cache_size),
            ("pi_server_lanes", metrics.stores.execution.lane_count),
        ] {
            self.gauge(name, Vec::new(), value);
        }
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused = &metrics.commands_rejected;
        for (reason, count) in [
            ("session_limit", refused.session_limit),
            ("message_size", refused.message_size),
            ("rate_limit", refused.rate_limit),
            ("global_rate_limit", refused.global_rate_limit),
            ("connection_limit", refused.connection_limit),
            ("ui_response_rate_limit", refused.extension_ui_response_rate_limit),
            ("busy", replay.in_flight_rejections),
            ("too_many_pending", read(&counts.refused_pending)),
            ("conflict", read(&counts.refused_conflicts)),
            ("journal_unavailable", read(&counts.refused_journal)),
            ("shutting_down", read(&counts.refused_shutdown)),
            ("credential_or_origin", read(&counts.refused_visitors)),
        ] {
            self.counter("pi_server_refused_total", vec![Label::from_static_parts("reason", reason)], count);
        }
        self.counter("pi_server_commands_total", Vec::new(), metrics.total_commands_executed);
        let journal = &metrics.stores.journal;
        self.counter("pi_server_journal_records_total", Vec::new(), journal.entries_written);
        self.counter("pi_server_journal_errors_total", Vec::new(), journal.write_errors);
        for circuit in &metrics.circuit_breakers {
            let label = || vec![Label::new("provider", circuit.provider_name.to_string())];
            self.gauge("pi_server_circuit_open", label(), u64::from(circuit.state == CircuitState::Open));
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
