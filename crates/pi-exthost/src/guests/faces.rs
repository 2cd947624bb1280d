//! What models are told of the tools of a guest: looked at once for each registration, and not for each call.

use std::sync::{Arc, Mutex, PoisonError};

use crate::guest::{Registration, ToolFault, ToolOffer, face::presentable};

/// The tools of who sits in a seat, as models are told of them.
#[derive(Default)]
pub(super) struct Faces {
    /// Of the registration that was looked at last. A lock and no task: held for a comparison of pointers.
    known: Mutex<Option<Faced>>,
}

/// A registration with its tools.
#[derive(Clone)]
pub(super) struct Faced {
    pub(super) registration: Arc<Registration>,
    /// As many as it has, in their order.
    pub(super) tools: Arc<[Result<Arc<ToolOffer>, ToolFault>]>,
}

impl Faces {
    pub(super) fn of(&self, registration: Arc<Registration>) -> Faced {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(faced) = known().as_ref().filter(|faced| Arc::ptr_eq(&faced.registration, &registration)) {
            return faced.clone();
        }
        let tools = registration.tools.iter().map(|offer| presentable(offer).map(Arc::new)).collect();
        let faced = Faced { registration, tools };
        *known() = Some(faced.clone());
        faced
    }
}

impl Faced {
    /// Those that are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Arc<ToolOffer>> {
        self.tools.iter().filter_map(|tool| tool.as_ref().ok())
    }
}
