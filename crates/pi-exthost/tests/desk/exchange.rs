//! Guests that are exchanged for what was built anew.

use std::sync::Arc;

use futures_util::FutureExt;
use pi_exthost::{
    Desk, Exchange, Guest, GuestFault, Guests, Identity, LaunchFault, Patience, Prepared,
    exchange::{Absent, Place},
    guests::AtWork,
};
use pi_extproto::manifest::Tier;
use pi_testkit::ScriptedGuest;
use tokio_util::sync::CancellationToken;

use crate::stage::{Plan, Stage};

const SCRIPT: &str = "guest g1\non session_shutdown\non session_start\ntool t";

fn scripted(stage: &Stage) -> Arc<ScriptedGuest> {
    ScriptedGuest::new(SCRIPT, stage.session.clone()).expect("a script")
}

/// What was looked at and comes to this when it is started.
fn prepared(stage: &Stage, tier: Tier, comes: Result<Arc<dyn Guest>, LaunchFault>) -> Prepared {
    let identity = Identity { temporary: stage.path("tmp/g1"), ..stage.desk.identity().clone() };
    let launch = move |_: Desk| async move { comes }.boxed();
    Prepared {
        identity,
        tier,
        sources: Vec::new(),
        outdated: None,
        missing: Vec::new(),
        forbidden: Vec::new(),
        launch: Box::new(launch),
    }
}

fn throws() -> LaunchFault {
    LaunchFault::Failed(GuestFault::threw("not today"))
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_goes_when_its_successor_is_there_and_stays_if_none_comes() {
    let stage = Stage::new(Plan::default());
    let guests = Arc::new(Guests::new(Patience::default(), Arc::new(|_| {})));
    let exchange = Exchange::new(Arc::clone(&guests), stage.session.clone(), CancellationToken::new());
    let (old, new) = (scripted(&stage), scripted(&stage));
    guests.admit(old.clone(), 0).expect("its name is its own");
    let change = || guests.begin_change(&"g1".into(), AtWork::Ends).expect("nobody is busy").expect("it is here");

    let raised = exchange.raise(prepared(&stage, Tier::Js, Err(throws())), Place::Taken(change()), &stage.dispatcher);
    assert_eq!(raised.await, Err(Absent::Kept(throws())));
    assert!(old.heard().is_empty(), "it is told nothing: {:?}", old.heard());
    assert!(guests.tool("t").is_some(), "it goes on");

    let comes = prepared(&stage, Tier::Js, Ok(new.clone()));
    let raised = exchange.raise(comes, Place::Taken(change()), &stage.dispatcher).await;
    assert!(raised.is_ok(), "{raised:?}");
    assert_eq!(old.heard(), [r#"session_shutdown {"reason":"reload"}"#, "shutdown"]);
    assert_eq!(new.heard(), [r#"session_start {"reason":"reload"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn server_goes_before_the_next_one_comes() {
    let stage = Stage::new(Plan::default());
    let guests = Arc::new(Guests::new(Patience::default(), Arc::new(|_| {})));
    let exchange = Exchange::new(Arc::clone(&guests), stage.session.clone(), CancellationToken::new());
    let old = scripted(&stage);
    guests.admit(old.clone(), 0).expect("its name is its own");
    let change = guests.begin_change(&"g1".into(), AtWork::Ends).expect("nobody is busy").expect("it is here");
    let raised = exchange.raise(prepared(&stage, Tier::Mcp, Err(throws())), Place::Taken(change), &stage.dispatcher);
    assert_eq!(raised.await, Err(Absent::Empty(throws())));
    assert_eq!(old.heard().last().map(String::as_str), Some("shutdown"));
    assert!(guests.is_empty(), "its process is gone");
}
