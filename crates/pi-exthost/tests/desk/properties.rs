//! Whatever is asked in whatever order: one start, one end, an unbroken chain.

use std::collections::BTreeMap;

use pi_exthost::ledger::reading;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::stage::{Plan, Stage};

fn call() -> impl Strategy<Value = (&'static str, Value, bool)> {
    let calls: Vec<(&'static str, Value)> = vec![
        ("fs", json!({ "op": "read", "path": "f" })),
        ("fs", json!({ "op": "write", "path": "f", "content": { "text": "x" }, "mode": "replace" })),
        ("fs", json!({ "op": "read", "path": "../../etc/passwd" })),
        ("log", json!({ "level": "info", "event": "x", "message": "m" })),
        ("env", json!({ "op": "get", "name": "SECRET" })),
        ("session", json!({ "op": "get_state" })),
        ("ui", json!({ "op": "notify", "message": "m", "level": "info" })),
        ("exec", json!({ "command": "true", "args": [], "env": {}, "stream": false })),
        ("tool", json!({ "name": "deploy", "input": {} })),
        ("fs", json!({ "op": "teleport" })),
    ];
    (select(calls), any::<bool>()).prop_map(|((method, params), is_dropped)| (method, params, is_dropped))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_one_start_and_one_end(calls in vec(call(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let (starts, ends) = runtime.block_on(async {
            let stage = Stage::new(Plan::default());
            for (number, (method, params, is_dropped)) in calls.iter().enumerate() {
                let capability = match *method { "fs" => "read", other => other };
                let call = json!({ "call_id": format!("c{number}"), "capability": capability, "method": method, "params": params });
                let call = serde_json::from_value(call).expect("a call");
                let mut running = Box::pin(stage.desk.exchange(call, pi_exthost::Terms::background()));
                match is_dropped {
                    // Looked at once, and then forgotten.
                    true => drop(futures_util::FutureExt::now_or_never(&mut running)),
                    false => drop(running.await),
                }
            }
            stage.dispatcher.close().await;
            let folder = stage.path("logs");
            let verified = reading::verify(&folder, "s1").expect("a ledger");
            assert!(verified.is_intact() && verified.is_closed, "{verified:?}");
            let mut found = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
            for entry in reading::read(&folder, "s1").expect("a ledger").entries {
                let id = entry.correlation.host_call_id.clone().unwrap_or_default();
                match entry.event.as_str() {
                    "host_call.start" => *found.0.entry(id).or_default() += 1,
                    "host_call.end" => *found.1.entry(id).or_default() += 1,
                    _ => {}
                }
            }
            found
        });
        prop_assert!(starts.values().all(|count| *count == 1));
        prop_assert_eq!(&starts, &ends);
        prop_assert_eq!(starts.len(), calls.len());
    }
}
