//! What is known of the guests of a session, for whoever lists them.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::future::join_all;
use pi_extproto::manifest::Tier;
use tokio::time::timeout;

use super::{Attached, Guests};
use crate::{
    desk::Figures,
    dispatcher::House,
    guest::{Condition, Guest, GuestId},
};

/// How long a guest may take to tell how much memory it has; one that is busy is listed without.
const MEASURING: Duration = Duration::from_millis(500);

/// A guest and what it has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Enrolled {
    pub id: String,
    pub name: String,
    /// Where it was loaded from.
    pub path: String,
    pub tier: Tier,
    /// Nothing for one that was started without a desk.
    pub version: Option<String>,
    /// What it says that it needs.
    pub capabilities: Vec<String>,
    pub tools: Vec<String>,
    pub commands: Vec<String>,
    pub condition: Condition,
    pub figures: Figures,
    /// Bytes, where anybody can tell.
    pub memory: Option<u64>,
}

impl Guests {
    /// Where their desks are. Once: a session has one house.
    pub(crate) fn settle_in(&self, house: &Arc<House>) {
        // Guests that are introduced twice are those that are known.
        let _ = self.house.set(Arc::downgrade(house));
    }

    /// All of them, in the order in which they were attached. Asks them how much memory they have, a bounded time.
    pub async fn enrolled(&self) -> Vec<Enrolled> {
        let house = self.house.get().and_then(Weak::upgrade);
        let attached = self.attached();
        join_all(attached.iter().map(|attached| enrol(attached, house.as_ref()))).await
    }

    /// What was counted in this session of one that is not here now, by its name and where it was loaded from: `path` as it
    /// registered with it, and `origins` as grants name them.
    pub fn past(&self, id: &GuestId, path: &str, origins: &[String]) -> Figures {
        let (asked, busy) = self.tallied(id, path);
        let house = self.house.get().and_then(Weak::upgrade);
        Figures { asked, busy, ..house.map(|house| house.counted(id, origins)).unwrap_or_default() }
    }

    /// Those that are on their way.
    pub fn starting(&self) -> Vec<Arc<dyn Guest>> {
        let guests = self.attached().iter().map(|attached| attached.seat.guest()).collect::<Vec<_>>();
        guests.into_iter().filter(|guest| guest.condition() == Condition::Starting).collect()
    }
}

async fn enrol(attached: &Attached, house: Option<&Arc<House>>) -> Enrolled {
    let guest = attached.seat.guest();
    let registration = guest.registration();
    let desk = house.and_then(|house| house.desk_of(&registration.id));
    let (asked, busy) = attached.watch.asked();
    let needs = desk.iter().flat_map(|desk| desk.identity().declared.requirements());
    Enrolled {
        id: registration.id.as_str().to_owned(),
        name: registration.name.clone(),
        path: registration.path.clone(),
        tier: guest.tier(),
        version: desk.as_ref().map(|desk| desk.identity().version.clone()),
        capabilities: needs.map(|need| need.capability.as_str().to_owned()).collect(),
        tools: registration.tools.iter().map(|tool| tool.definition.name.clone()).collect(),
        commands: registration.commands.iter().map(|command| command.definition.name.clone()).collect(),
        condition: guest.condition(),
        figures: Figures { asked, busy, ..desk.as_ref().map(|desk| desk.figures()).unwrap_or_default() },
        memory: timeout(MEASURING, guest.memory()).await.ok().flatten(),
    }
}
