//! Ring 3: everything that may be wrong without harm. A section that cannot be read falls back to its default.

use indexmap::IndexMap;
use pi_transcript::ProviderId;
use serde::de::DeserializeOwned;

use super::{Report, activation, guardrail, model, price, ring1::Ring1, ring2::Ring2};
use crate::{
    classify,
    error::ErrorCode,
    event::Termination,
    local,
    manifest::{
        ErrorClassification, Manifest, Status,
        declared::{ApiFamilies, ApiFamily},
        diagnostic::{Rule, Severity},
        endpoint::Endpoint,
        experimental::{CircuitBreaker, Experimental, Performance},
        expression::{Checked, Rooted},
        names,
        resilience::{Guardrails, RetryPolicy, TerminationMap, UnreadFilter},
        tree::{Member, Node, Tree},
    },
};

/// Members of the root that are read elsewhere or mean nothing.
const READ_ELSEWHERE: [&str; 9] = [
    "$schema",
    "id",
    "aliases",
    "protocol_version",
    "endpoint",
    "error_classification",
    "capabilities",
    "parameters",
    "streaming",
];

/// The parts of `experimental`.
const EXPERIMENTS: [&str; 8] = [
    "description",
    "status",
    "multimodal_interleave",
    "rtc_events",
    "schema_less_mapping",
    "streaming_events_v2",
    "performance",
    "names",
];

/// Every member of the root that means something.
pub(super) const SECTIONS: [&str; 35] = [
    "id",
    "aliases",
    "protocol_version",
    "endpoint",
    "error_classification",
    "capabilities",
    "parameters",
    "streaming",
    "name",
    "version",
    "status",
    "category",
    "official_url",
    "support_contact",
    "endpoints",
    "services",
    "rate_limit_headers",
    "retry_policy",
    "termination",
    "guardrails",
    "provider_contract",
    "metadata",
    "default_api_family",
    "api_families",
    "availability",
    "regions",
    "pricing",
    "context_policy",
    "routing",
    "telemetry",
    "multimodal",
    "computer_use",
    "mcp",
    "features",
    "experimental",
];

/// What ring 1 lacks is an error already, and the manifest only carries the other findings: something stands in for it.
pub(super) fn read(root: &Node, first: Ring1, second: Ring2, report: &mut Report<'_>) -> Manifest {
    let Ring1 { id, aliases, protocol_version, endpoint, error_classification } = first;
    let id = id.unwrap_or_else(|| ProviderId::from("unknown"));
    let endpoint = endpoint.unwrap_or_else(Endpoint::nowhere);
    let mut manifest = Manifest {
        aliases,
        protocol_version: protocol_version.unwrap_or_default(),
        capabilities: second.capabilities,
        parameters: second.parameters,
        streaming: second.streaming,
        ..Manifest::bare(id, endpoint, error_classification.unwrap_or_default())
    };
    for member in root.as_map().unwrap_or_default() {
        if !READ_ELSEWHERE.contains(&member.key.as_str()) && !member.node.is_null() {
            section(member, &mut manifest, report);
        }
    }
    manifest
}

fn section(member: &Member, manifest: &mut Manifest, report: &mut Report<'_>) {
    match member.key.as_str() {
        "name" => manifest.name = optional(Rule::Name, member, report),
        "version" => manifest.version = optional(Rule::FileVersion, member, report),
        "status" => manifest.status = or_default::<Status>(Rule::Status, member, report),
        "category" => manifest.category = optional(Rule::Category, member, report),
        "official_url" => manifest.official_url = optional(Rule::OfficialUrl, member, report),
        "support_contact" => manifest.support_contact = optional(Rule::SupportContact, member, report),
        "endpoints" => manifest.endpoints = entries(Rule::OperationSection, member, report),
        "services" => manifest.services = entries(Rule::ServiceSection, member, report),
        "rate_limit_headers" => manifest.rate_limit_headers = or_default(Rule::RateLimitHeaders, member, report),
        "retry_policy" => manifest.retry_policy = retry_policy(member, &manifest.error_classification, report),
        "termination" => manifest.termination = termination(member, report),
        "guardrails" => {
            let known = std::mem::take(&mut manifest.guardrails.unread);
            manifest.guardrails = guardrail::read(member, report);
            known.into_iter().for_each(|unread| add_unread(&mut manifest.guardrails, unread));
        }
        "provider_contract" => {
            manifest.contract = or_default(Rule::ContractSection, member, report);
            activation::check(&mut manifest.contract, &member.node, &member.key, Severity::Warning, report);
        }
        "metadata" => metadata(member, manifest, report),
        "default_api_family" => {
            manifest.default_api_family = optional(Rule::DefaultApiFamily, member, report);
        }
        "api_families" => manifest.api_families = api_families(member, report),
        "availability" => manifest.availability = optional(Rule::AvailabilitySection, member, report),
        "regions" => manifest.regions = or_default(Rule::Regions, member, report),
        "pricing" => {
            manifest.pricing = optional(Rule::PricingSection, member, report);
            if let Some(pricing) = &mut manifest.pricing {
                price::check_provider(pricing, &member.node, &member.key, report);
            }
        }
        "context_policy" => manifest.context_policy = optional(Rule::ContextPolicySection, member, report),
        "routing" => manifest.routing = or_default(Rule::RoutingSection, member, report),
        "telemetry" => manifest.telemetry = or_default(Rule::TelemetrySection, member, report),
        "multimodal" => manifest.multimodal = optional(Rule::MultimodalSection, member, report),
        "computer_use" => manifest.computer_use = optional(Rule::ComputerUseSection, member, report),
        "mcp" => manifest.mcp = optional(Rule::McpSection, member, report),
        // Its rules reject a file, so it is read after everything else.
        "capability_profile" => {}
        "features" => manifest.features = or_default(Rule::FeatureSection, member, report),
        "experimental" => manifest.experimental = experimental(member, report),
        other => {
            match guardrail::read_misspelt(member, report) {
                Some(unread) => add_unread(&mut manifest.guardrails, unread),
                None => report.ignore_member(member, other, &SECTIONS),
            }
            manifest.extensions.insert(other.to_owned(), member.node.to_json());
        }
    }
}

/// A file that was written from another names what was not read there, and may have it as well.
fn add_unread(guardrails: &mut Guardrails, unread: UnreadFilter) {
    if !guardrails.unread.contains(&unread) {
        guardrails.unread.push(unread);
    }
}

/// What the file says about itself, and its models.
fn metadata(member: &Member, manifest: &mut Manifest, report: &mut Report<'_>) {
    let mut member = member.clone();
    if let Some(models) = member.node.take("models") {
        manifest.models = model::models(&models.node, "metadata.models", report);
    }
    if let Some(local) = member.node.get("local") {
        // It stays as it is written: whoever looks for servers reads it with the same types.
        let _: Option<local::Section> = report.read(Severity::Warning, Rule::LocalSection, local, "metadata.local");
    }
    manifest.metadata = or_default(Rule::MetadataSection, &member, report);
}

fn optional<T: DeserializeOwned>(rule: Rule, member: &Member, report: &mut Report<'_>) -> Option<T> {
    report.read(Severity::Warning, rule, &member.node, &member.key)
}

fn or_default<T: DeserializeOwned + Default>(rule: Rule, member: &Member, report: &mut Report<'_>) -> T {
    optional(rule, member, report).unwrap_or_default()
}

/// One entry that cannot be read leaves its neighbours alone.
fn entries<T: DeserializeOwned>(rule: Rule, member: &Member, report: &mut Report<'_>) -> IndexMap<String, T> {
    let Some(members) = object(rule, &member.node, &member.key, report) else { return IndexMap::new() };
    let read = members.iter().filter(|entry| !entry.node.is_null()).filter_map(|entry| {
        let path = format!("{}.{}", member.key, entry.key);
        Some((entry.key.clone(), report.read(Severity::Warning, rule, &entry.node, &path)?))
    });
    read.collect()
}

pub(super) fn object<'n>(rule: Rule, node: &'n Node, path: &str, report: &mut Report<'_>) -> Option<&'n [Member]> {
    let members = node.as_map();
    if members.is_none() {
        report.warning(rule, node.at, path, format!("an object is expected, not {}", node.kind()));
    }
    members
}

fn retry_policy(member: &Member, classification: &ErrorClassification, report: &mut Report<'_>) -> RetryPolicy {
    const RULE: Rule = Rule::RetryPolicySection;
    let mut policy: RetryPolicy = or_default(RULE, member, report);
    if policy.min_delay_ms > policy.max_delay_ms {
        let message = format!("min_delay_ms {} is over max_delay_ms {}", policy.min_delay_ms, policy.max_delay_ms);
        report.warning(RULE, member.node.at, &member.key, message);
        return RetryPolicy::default();
    }
    tell_idle_lists(&policy, classification, member, report);
    policy.retry_on_error_code.retain(|word| is_code(word, classification));
    policy
}

/// Whether a word is a code of the standard, or one of the provider's that is known to come.
fn is_code(word: &str, classification: &ErrorClassification) -> bool {
    let is_standard = ErrorCode::from_name(word).or(ErrorCode::from_number(word)).is_some();
    let is_written = || classification.by_error_code.keys().any(|code| code.eq_ignore_ascii_case(word));
    is_standard || is_written() || classify::is_known_code(word)
}

/// The lists choose among errors that may be over soon. What is in them beside those is never tried again, and that is told.
fn tell_idle_lists(
    policy: &RetryPolicy,
    classification: &ErrorClassification,
    member: &Member,
    report: &mut Report<'_>,
) {
    let mut tell = |list: &str, items: &[String], why: &str| {
        if !items.is_empty() {
            let at = member.node.get(list).map_or(member.node.at, |node| node.at);
            let message = format!("{}: no effect, because {why}", items.join(", "));
            report.note(Rule::RetryPolicySection, at, &format!("{}.{list}", member.key), message);
        }
    };
    const LASTING: &str = "the same request would fail again";
    let meaning = |status: u16| {
        let written = classification.by_http_status.get(&status.to_string()).copied();
        written.unwrap_or_else(|| ErrorCode::from_status(status))
    };
    let lasting = policy.retry_on_http_status.iter().filter(|status| !meaning(**status).is_retryable());
    tell("retry_on_http_status", &lasting.map(u16::to_string).collect::<Vec<_>>(), LASTING);
    let code = |name: &str| ErrorCode::ALL.into_iter().find(|code| code.name() == name || code.number() == name);
    let (known, unknown): (Vec<String>, Vec<String>) =
        policy.retry_on_error_code.iter().cloned().partition(|name| is_code(name, classification));
    let lasting: Vec<String> =
        known.into_iter().filter(|name| code(name).is_some_and(|code| !code.is_retryable())).collect();
    tell("retry_on_error_code", &lasting, LASTING);
    tell(
        "retry_on_error_code",
        &unknown,
        "a code is expected in the words of the standard, such as rate_limited or E2001, or one of by_error_code",
    );
}

fn termination(member: &Member, report: &mut Report<'_>) -> TerminationMap {
    const RULE: Rule = Rule::TerminationSection;
    let mut map = TerminationMap::default();
    for entry in object(RULE, &member.node, &member.key, report).unwrap_or_default() {
        let path = format!("{}.{}", member.key, entry.key);
        match entry.key.as_str() {
            _ if entry.node.is_null() => {}
            "source_field" => {
                let place: Option<Checked<Rooted>> = report.read(Severity::Warning, RULE, &entry.node, &path);
                map.source_field = place.map(|place| place.text);
            }
            "mapping" => {
                for word in object(RULE, &entry.node, &path, report).unwrap_or_default() {
                    if let Some(reason) = reason(&word.node, &format!("{path}.{}", word.key), report) {
                        map.mapping.insert(word.key.clone(), reason);
                    }
                }
            }
            _ => report.ignore_member(entry, path, &["source_field", "mapping"]),
        }
    }
    map
}

fn reason(node: &Node, path: &str, report: &mut Report<'_>) -> Option<Termination> {
    const RULE: Rule = Rule::TerminationSection;
    let name: String = report.read(Severity::Warning, RULE, node, path)?;
    if let Ok(reason) = serde_json::from_value(name.clone().into()) {
        return Some(reason);
    }
    let reason = names::termination_alias(&name);
    let message = match reason {
        Some(_) => format!("{name:?} is not a standard reason; the nearest one is taken"),
        None => format!("{name:?} is not a standard reason and is left out"),
    };
    report.warning(RULE, node.at, path, message);
    reason
}

/// One part that cannot be read leaves the others alone.
fn experimental(member: &Member, report: &mut Report<'_>) -> Experimental {
    const RULE: Rule = Rule::ExperimentalSection;
    let mut section = Experimental::default();
    for part in object(RULE, &member.node, &member.key, report).unwrap_or_default() {
        let path = format!("{}.{}", member.key, part.key);
        let node = &part.node;
        match part.key.as_str() {
            _ if node.is_null() => {}
            "description" => section.description = report.read(Severity::Warning, RULE, node, &path),
            "status" => section.status = report.read(Severity::Warning, RULE, node, &path),
            "multimodal_interleave" => {
                section.multimodal_interleave = report.read(Severity::Warning, RULE, node, &path);
            }
            "rtc_events" => section.rtc_events = report.read(Severity::Warning, RULE, node, &path),
            "schema_less_mapping" => section.schema_less_mapping = report.read(Severity::Warning, RULE, node, &path),
            "streaming_events_v2" => section.streaming_events_v2 = report.read(Severity::Warning, RULE, node, &path),
            "performance" => section.performance = performance(node, &path, report),
            "names" => section.names = report.read(Severity::Warning, RULE, node, &path).unwrap_or_default(),
            _ => report.ignore_member(part, path, &EXPERIMENTS),
        }
    }
    section
}

/// A breaker that would never open, or always be open, is replaced by the usual one.
fn performance(node: &Node, path: &str, report: &mut Report<'_>) -> Performance {
    const RULE: Rule = Rule::Performance;
    let mut section: Performance = report.read(Severity::Warning, RULE, node, path).unwrap_or_default();
    let breaker = &section.circuit_breaker;
    let is_sound = breaker.failure_threshold > 0.0
        && breaker.failure_threshold <= 1.0
        && breaker.recovery_timeout_ms > 0
        && breaker.monitoring_window_ms > 0;
    if !is_sound {
        let at = node.get("circuit_breaker").map_or(node.at, |breaker| breaker.at);
        let message = "failure_threshold must be over 0 and at most 1, and the times over 0";
        report.warning(RULE, at, &format!("{path}.circuit_breaker"), message);
        section.circuit_breaker = CircuitBreaker::default();
    }
    section
}

/// A list of names, or an object of formats.
fn api_families(member: &Member, report: &mut Report<'_>) -> ApiFamilies {
    const RULE: Rule = Rule::ApiFamilySection;
    if matches!(member.node.value, Tree::List(_)) {
        let names: Vec<String> = or_default(RULE, member, report);
        return names.into_iter().map(|name| (name, ApiFamily::default())).collect();
    }
    entries(RULE, member, report)
}
