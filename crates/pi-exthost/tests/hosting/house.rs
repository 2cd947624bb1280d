//! A set of scripted guests, and everything that came of them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use pi_exthost::{Guests, Patience, SessionPort, verdict::Verdict};
use pi_extproto::hook::event::Event;
use pi_testkit::{ScriptedGuest, SessionDouble};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) struct House {
    pub(crate) guests: Guests,
    pub(crate) scripted: Vec<Arc<ScriptedGuest>>,
    pub(crate) session: Arc<SessionDouble>,
    incidents: Arc<Mutex<Vec<String>>>,
}

impl House {
    /// Guests `a`, `b`, `c`… with these scripts, in a session that is none.
    #[track_caller]
    pub(crate) fn new(scripts: &[&str]) -> Self {
        let session = SessionDouble::new([]);
        Self::with_port(scripts, &session.clone(), session)
    }

    /// The same with another port; the double is then asked nothing.
    #[track_caller]
    pub(crate) fn with_port<P: SessionPort + 'static>(
        scripts: &[&str],
        port: &Arc<P>,
        session: Arc<SessionDouble>,
    ) -> Self {
        let incidents = Arc::new(Mutex::new(Vec::new()));
        let log = incidents.clone();
        let mut guests = Guests::new(
            Patience::default(),
            Arc::new(move |incident| {
                let line = format!("{} at {}: {}", incident.guest, incident.during, incident.trouble);
                log.lock().expect("no reporter panics").push(line);
            }),
        );
        let mut scripted = Vec::new();
        for (script, id) in scripts.iter().zip('a'..) {
            let guest = ScriptedGuest::new(&format!("guest {id}\n{script}"), port.clone()).expect("a script");
            guests.attach(guest.clone()).expect("an id of its own");
            scripted.push(guest);
        }
        Self { guests, scripted, session, incidents }
    }

    /// Fires an event, and says how long that took.
    pub(crate) async fn fire(&self, name: &str, data: &Value, cancel: &CancellationToken) -> (Verdict, Duration) {
        let event = Event::read(name, data.as_object().cloned()).expect("an event");
        let start = Instant::now();
        (self.guests.dispatch(event, cancel).await, start.elapsed())
    }

    pub(crate) fn incidents(&self) -> Vec<String> {
        self.incidents.lock().expect("no reporter panics").clone()
    }

    pub(crate) fn heard(&self, guest: usize) -> Vec<String> {
        self.scripted[guest].heard()
    }
}
