//! What is said about a failure: literal texts, and what a program can do with it.

use pi_wire::{
    Error, ErrorCode, Failure, Retry,
    error::{BusyLimit, Identity, Missing, PendingScope, RateScope, SessionPathError},
};

#[track_caller]
fn check(cases: impl IntoIterator<Item = (Error, ErrorCode, &'static str)>) {
    for (error, code, text) in cases {
        assert_eq!((error.code(), &*error.to_string()), (code, text));
        let failure = Failure::from(&error);
        assert_eq!((failure.code, &*failure.error), (code.into(), text));
    }
}

#[test]
fn errors_begin_as_the_document_says() {
    let session = || "s1".into();
    check([
        (Error::SessionNotFound(session()), ErrorCode::SessionNotFound, "Session s1 not found"),
        (Error::SessionLimit { limit: 100 }, ErrorCode::SessionLimit, "Session limit reached (100 sessions)"),
        (Error::SessionExists(session()), ErrorCode::SessionExists, "Session s1 already exists"),
        (
            Error::SessionPath(SessionPathError::OutsideRoots),
            ErrorCode::InvalidSessionPath,
            "sessionPath must be under an allowed session directory",
        ),
        (
            Error::CircuitOpen { provider: "p".into(), recovery_ms: 1500 },
            ErrorCode::CircuitOpen,
            "Circuit breaker open for p (recovery in 2s)",
        ),
        (
            Error::BashCircuitOpenGlobally { recovery_ms: 30_000 },
            ErrorCode::BashCircuitOpen,
            "Bash circuit breaker open globally (recovery in 30s)",
        ),
    ]);
}

/// The engine ends a command with one of these, and its text is stored and repeated to whoever depends on it. So the
/// words are the same here. `pi-wire` does not know the engine: this is the list of `Failure` in its `outcome.rs`.
#[test]
fn every_failure_of_the_engine_has_its_words() {
    check([
        (Error::DependencySelf("c".into()), ErrorCode::DependencyCycle, "Command 'c' cannot depend on itself"),
        (Error::DependencyUnknown("d".into()), ErrorCode::DependencyUnknown, "Dependency 'd' is unknown"),
        (
            Error::DependencyFailed { dependency: "d".into(), error: "no".into() },
            ErrorCode::DependencyFailed,
            "Dependency 'd' failed: no",
        ),
        (
            Error::DependencyInverted("d".into()),
            ErrorCode::DependencyCycle,
            "Dependency 'd' is queued in the same lane and cannot be awaited from this command",
        ),
        (
            Error::DependencyTimeout { dependency: "d".into(), after_ms: 30_000 },
            ErrorCode::DependencyTimeout,
            "Command 'dependsOn:d' timed out after 30000ms",
        ),
        (
            Error::SessionNotFoundForVersion { session_id: "s1".into(), version: 3 },
            ErrorCode::SessionNotFound,
            "Session s1 not found for ifSessionVersion=3",
        ),
        (
            Error::VersionMismatch { expected: 3, actual: 4 },
            ErrorCode::VersionMismatch,
            "Session version mismatch: expected 3, got 4",
        ),
        (Error::Timeout { command: "bash", after_ms: 5 }, ErrorCode::Timeout, "Command 'bash' timed out after 5ms"),
        (Error::SessionNotFound("s1".into()), ErrorCode::SessionNotFound, "Session s1 not found"),
        (Error::Panicked { command: "bash" }, ErrorCode::Internal, "Command 'bash' failed: its handler panicked"),
        (Error::Cancelled { command: "bash" }, ErrorCode::Aborted, "Command 'bash' was cancelled"),
        (
            Error::JournalFailed { command: "bash", reason: "no space".into() },
            ErrorCode::StorageFailed,
            "Durable journal append failed for command 'bash': no space",
        ),
        (Error::CancelledByShutdown, ErrorCode::Interrupted, "Command cancelled because server shutdown completed"),
        (
            Error::Interrupted,
            ErrorCode::Interrupted,
            "Command did not finish before previous shutdown and was marked failed during recovery",
        ),
    ]);
}

/// The list of `Refusal` in the engine's `outcome.rs`. A refused command left nothing behind: all but a conflict can be
/// sent again as they are.
#[test]
fn every_refusal_of_the_engine_has_its_words() {
    let conflict = |identity, value: &str| Error::Conflict {
        identity,
        value: value.into(),
        first: "bash".into(),
        second: "fork".into(),
    };
    let cases = [
        (
            conflict(Identity::Id, "c"),
            ErrorCode::Conflict,
            "Conflicting id 'c': previously used for 'bash', now used for 'fork'",
        ),
        (
            conflict(Identity::IdempotencyKey, "k"),
            ErrorCode::Conflict,
            "Conflicting idempotencyKey 'k': previously used for 'bash', now used for 'fork'",
        ),
        (
            Error::Conflict { identity: Identity::Id, value: "c".into(), first: "bash".into(), second: "bash".into() },
            ErrorCode::Conflict,
            "Conflicting id 'c': previously used for another 'bash', with other contents",
        ),
        (
            Error::Busy { limit: BusyLimit::Outcomes(9), retry_after_ms: 1 },
            ErrorCode::Busy,
            "Server busy - too many concurrent commands. Please retry. (server.outcomesMost is 9: so many outcomes are kept for \
             commands that are sent again)",
        ),
        (
            Error::TooManyPending { scope: PendingScope::Client, max: 100, retry_after_ms: 1 },
            ErrorCode::TooManyPending,
            "Too many pending commands for this client (max 100)",
        ),
        (
            Error::JournalUnavailable { reason: "no space".into() },
            ErrorCode::JournalUnavailable,
            "Durable journal is not available: no space",
        ),
        (Error::ShuttingDown, ErrorCode::ShuttingDown, "Server is shutting down"),
        (Error::ShutDown, ErrorCode::ShuttingDown, "Server has completed shutdown"),
    ];
    for (error, code, _) in &cases {
        let again = if *code == ErrorCode::Conflict { Retry::Never } else { Retry::SameId };
        assert_eq!(error.code().retry(), again, "{error}");
    }
    check(cases);
}

#[test]
fn limits_and_missing_things_are_named() {
    check([
        (
            Error::NoCredential { provider: "p".into(), model_id: "m".into(), settable: vec!["A".into(), "B".into()] },
            ErrorCode::ModelNotFound,
            "Model p/m has no credential: set A or B",
        ),
        (
            Error::ModelNotListed { provider: "p".into(), model_id: "m".into() },
            ErrorCode::ModelNotFound,
            "Model not found: p/m",
        ),
        (
            Error::RateLimited { scope: RateScope::UiResponses, per_minute: 60, retry_after_ms: 10 },
            ErrorCode::RateLimited,
            "Extension UI response rate limit exceeded (60 responses/minute)",
        ),
        (
            Error::TooManyPending { scope: PendingScope::Connection, max: 100, retry_after_ms: 1 },
            ErrorCode::TooManyPending,
            "Too many pending commands for this connection (max 100)",
        ),
        (
            Error::JournalNotOpened { reason: "no space".into() },
            ErrorCode::JournalUnavailable,
            "Durable journal initialization failed: no space",
        ),
        (
            Error::NotFound(Missing::Entry { id: "e".into(), member: Some("entryId") }),
            ErrorCode::NotFound,
            "Entry e not found",
        ),
    ]);
}

#[test]
fn what_is_missing_is_named_by_its_member_and_by_where_to_look() {
    for (missing, member, hint) in [
        (Missing::Entry { id: "e".into(), member: Some("targetId") }, Some("targetId"), "get_tree"),
        (Missing::ModelRequest("r".into()), Some("requestId"), "list_requests"),
        (Missing::ContextSource("c".into()), Some("sourceId"), "list_context_sources"),
        (Missing::Extension("x".into()), Some("extensionId"), "list_extensions"),
        (Missing::Tool("t".into()), Some("tools"), "get_tools"),
    ] {
        let error = Error::NotFound(missing);
        assert_eq!(error.field(), member, "{error}");
        assert!(error.hint().is_some_and(|told| told.starts_with(hint)), "{error}");
    }
}

#[test]
fn every_code_says_what_to_do_next_unless_its_errors_say_it_better() {
    let silent: Vec<ErrorCode> = ErrorCode::ALL.into_iter().filter(|code| code.hint().is_none()).collect();
    let better = [
        ErrorCode::InvalidJson,
        ErrorCode::NotAnObject,
        ErrorCode::DuplicateMember,
        ErrorCode::TooDeep,
        ErrorCode::TooManyValues,
        ErrorCode::MessageTooLarge,
        ErrorCode::UnknownCommand,
        ErrorCode::ValidationFailed,
        ErrorCode::NotFound,
    ];
    assert_eq!(silent, better);
    assert!(Error::CwdMissing.hint().is_some());
}

#[test]
fn the_member_to_blame_and_the_time_to_wait_are_named() {
    let blamed = |error: Error| (error.field(), error.retry_after_ms());
    assert_eq!(blamed(Error::SessionNotFound("s".into())), (Some("sessionId"), None));
    assert_eq!(blamed(Error::VersionMismatch { expected: 1, actual: 2 }), (Some("ifSessionVersion"), None));
    assert_eq!(blamed(Error::DependencySelf("c".into())), (Some("dependsOn"), None));
    assert_eq!(blamed(Error::DependencyUnknown("c".into())), (Some("dependsOn"), None));
    assert_eq!(blamed(Error::QueueChanged { expected: 1, actual: 2 }), (Some("revision"), None));
    assert_eq!(blamed(Error::SessionInUse { by: "s".into() }), (Some("sessionPath"), None));
    assert_eq!(blamed(Error::Busy { limit: BusyLimit::InFlight(1), retry_after_ms: 7 }), (None, Some(7)));
    assert_eq!(blamed(Error::SessionLimit { limit: 7 }), (None, None));
    assert_eq!(blamed(Error::BashCircuitOpenGlobally { recovery_ms: 8 }), (None, Some(8)));
    let conflict =
        |identity| blamed(Error::Conflict { identity, value: "v".into(), first: "bash".into(), second: "bash".into() });
    assert_eq!(conflict(Identity::Id), (Some("id"), None));
    assert_eq!(conflict(Identity::IdempotencyKey), (Some("idempotencyKey"), None));
}
