//! An engine with its limits, and the room in which its host remembers what it does for it.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use rquickjs::{Context, Runtime};

use super::{
    chance::Lots,
    clock::Clock,
    fuse::BACKGROUND,
    modules::{Border, Shelf},
    rejections::Rejections,
    room::Room,
    thread::Guest,
};

/// An engine in which nothing has run yet.
pub(super) struct Engine {
    pub(super) runtime: Runtime,
    pub(super) context: Context,
    pub(super) rejections: Rejections,
    pub(super) room: Rc<Room>,
}

impl Engine {
    pub(super) fn start(guest: &Arc<Guest>) -> rquickjs::Result<Self> {
        let (runtime, limits, fuse) = (Runtime::new()?, guest.program.limits.clone(), guest.fuse.clone());
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        runtime.set_loader(Border, Shelf(guest.program.library.clone()));
        let interrupt = fuse.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || interrupt.is_blown())));
        let rejections = Rejections::watch(&runtime);
        let context = Context::full(&runtime)?;
        let room = Rc::new(Room {
            guest: Arc::clone(guest),
            desk: guest.desk.clone(),
            tokio: guest.tokio.clone(),
            wakes: guest.wakes.clone(),
            clock: Clock::new(guest.program.time),
            lots: Lots::new(guest.program.chance.clone()),
            fuse,
            limits,
            life: guest.life.child_token(),
            current: Cell::new(BACKGROUND),
            jobs: RefCell::default(),
            calls: RefCell::default(),
            feeds: RefCell::default(),
            canvases: RefCell::default(),
            timers: RefCell::default(),
            wants_ticks: Cell::new(false),
            immediates: Cell::new(0),
            has_changed: Cell::new(false),
            is_loading: Cell::new(true),
        });
        Ok(Self { runtime, context, rejections, room })
    }
}
