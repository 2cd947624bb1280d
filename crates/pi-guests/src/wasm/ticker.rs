//! What makes components come to a pause: a thread that counts milliseconds while any of them computes.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use wasmtime::Engine;

/// How long a component computes before it comes to a pause.
const TICK: Duration = Duration::from_millis(1);
/// Ticks that nobody needed, after which the thread is parked.
const IDLE: usize = 500;

/// The clock of an engine. The thread ends when this is dropped.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    computing: AtomicUsize,
    is_parked: AtomicBool,
    is_over: AtomicBool,
}

/// A component computes as long as this lives.
pub(crate) struct Computing(Arc<Shared>);

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            computing: AtomicUsize::new(0),
            is_parked: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let (own, engine) = (Arc::clone(&shared), engine.clone());
        // Its owner is the ticker: it ends soon after that is dropped, and holds nothing that is waited for.
        let handle = thread::Builder::new().name("ext ticker".to_owned()).spawn(move || own.run(&engine))?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    pub(crate) fn computing(&self) -> Computing {
        self.shared.computing.fetch_add(1, Ordering::SeqCst);
        // Either the thread sees the count before it parks, or we see that it is parked.
        if self.shared.is_parked.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Computing(Arc::clone(&self.shared))
    }
}

impl Shared {
    fn run(&self, engine: &Engine) {
        let mut idle = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            idle = if self.computing.load(Ordering::SeqCst) > 0 { 0 } else { idle + 1 };
            if idle > IDLE {
                self.is_parked.store(true, Ordering::SeqCst);
                if self.computing.load(Ordering::SeqCst) == 0 && !self.is_over.load(Ordering::SeqCst) {
                    thread::park();
                }
                self.is_parked.store(false, Ordering::SeqCst);
                idle = 0;
            }
            thread::sleep(TICK);
            engine.increment_epoch();
        }
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.0.computing.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl fmt::Debug for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticker").field("computing", &self.shared.computing).finish_non_exhaustive()
    }
}
