//! The engine that all components share.

use std::{
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, component::Linker};

use super::{limits, package, room::Room, ticker::Ticker, wasi};

/// The engine in this binary, by name and version.
pub(crate) const ENGINE: &str = pi_extc::COMPONENT_ENGINE;

/// Instances of components that one engine holds at the same time, and what they may have in all.
const INSTANCES: u32 = 200;
const CORE_INSTANCES: u32 = 4000;
const MEMORIES: u32 = 400;
const TABLES: u32 = 2000;
/// Of the stack of a component; the host's own functions run on what is left of the stack of its fiber.
const STACK: usize = 512 * 1024;
const FIBER: usize = 4 * 1024 * 1024;

/// An engine, and what it gives to every component. Clones are the same.
#[derive(Clone)]
pub struct Machine {
    inner: Arc<Inner>,
}

/// The same for whoever does not keep it.
#[derive(Clone)]
pub(crate) struct WeakMachine(Weak<Inner>);

/// A guest that an engine runs, as long as this lives.
pub(super) struct Resident(Machine);

struct Inner {
    engine: Engine,
    linker: Linker<Room>,
    ticker: Ticker,
    identity: String,
    guests: AtomicUsize,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum MachineFault {
    #[error("the engine for components does not start: {0}")]
    Engine(String),
    #[error("the system gives the engine for components no thread: {0}")]
    Thread(#[source] io::Error),
}

impl Machine {
    /// An engine for components of which each has at most `memory` bytes.
    pub fn new(memory: usize) -> Result<Self, MachineFault> {
        let pooled = Engine::new(&config(pool(memory)));
        let engine = pooled.or_else(|error| {
            // Where addresses are short, memory is asked for when it is needed.
            tracing::debug!(%error, "components get no memory in advance");
            Engine::new(&config(InstanceAllocationStrategy::OnDemand))
        });
        let broken = |error: wasmtime::Error| MachineFault::Engine(format!("{error:#}"));
        let engine = engine.map_err(broken)?;
        let mut linker = Linker::new(&engine);
        package::link(&mut linker).and_then(|()| wasi::link(&mut linker)).map_err(broken)?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let identity = format!("{ENGINE} {:016x}", hasher.finish());
        let ticker = Ticker::start(&engine).map_err(MachineFault::Thread)?;
        Ok(Self { inner: Arc::new(Inner { engine, linker, ticker, identity, guests: AtomicUsize::new(0) }) })
    }

    /// The engine with its settings and the processor that it makes code for.
    pub fn identity(&self) -> &str {
        &self.inner.identity
    }

    /// How many guests it runs.
    pub(crate) fn guests(&self) -> usize {
        self.inner.guests.load(Ordering::Relaxed)
    }

    /// One more.
    pub(super) fn resident(&self) -> Resident {
        self.inner.guests.fetch_add(1, Ordering::Relaxed);
        Resident(self.clone())
    }

    pub(crate) fn downgrade(&self) -> WeakMachine {
        WeakMachine(Arc::downgrade(&self.inner))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn linker(&self) -> &Linker<Room> {
        &self.inner.linker
    }

    pub(crate) fn ticker(&self) -> &Ticker {
        &self.inner.ticker
    }
}

impl WeakMachine {
    /// As long as somebody keeps it.
    pub(crate) fn upgrade(&self) -> Option<Machine> {
        self.0.upgrade().map(|inner| Machine { inner })
    }
}

/// Clones are equal, and no others.
impl PartialEq for Machine {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.0.inner.guests.fetch_sub(1, Ordering::Relaxed);
    }
}

fn pool(memory: usize) -> InstanceAllocationStrategy {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(INSTANCES);
    pool.total_core_instances(CORE_INSTANCES);
    pool.total_memories(MEMORIES);
    pool.total_tables(TABLES);
    pool.total_stacks(INSTANCES);
    pool.max_core_instances_per_component(limits::CORE_INSTANCES);
    pool.max_memories_per_component(limits::MEMORIES);
    pool.max_tables_per_component(limits::TABLES);
    pool.max_memory_size(memory);
    pool.table_elements(super::Limits::default().table);
    // What an instance leaves behind is cleared before the next one gets it; small ones keep their pages.
    pool.linear_memory_keep_resident(1 << 20);
    InstanceAllocationStrategy::Pooling(pool)
}

fn config(allocation: InstanceAllocationStrategy) -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    config.epoch_interruption(true);
    config.max_wasm_stack(STACK);
    config.async_stack_size(FIBER);
    config.allocation_strategy(allocation);
    lean(&mut config);
    config
}

/// Leaves out of machine code what nobody reads: all of it is read and checked whenever a component is loaded. Reports name no
/// addresses in code, nobody debugs it, and panics of the host end before they reach it.
fn lean(config: &mut Config) {
    config.debug_symbols(false);
    config.generate_address_map(false);
    config.wasm_backtrace_max_frames(None);
    // Windows wants to be able to unwind every stack.
    if cfg!(not(windows)) {
        config.native_unwind_info(false);
    }
}

impl fmt::Debug for WeakMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakMachine").finish_non_exhaustive()
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("identity", &self.inner.identity).finish_non_exhaustive()
    }
}
