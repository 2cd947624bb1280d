//! The engine by itself: the same component with the same typed interface and settings (a pool, epochs, a fiber for each
//! call), and nothing decided, limited or recorded.

use std::path::Path;

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
    component::{Component, Linker},
};

use self::bindings::{
    Extension, ExtensionPre, exports::pi::extension::guest::ToolCall, pi::extension::types::HostError,
};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../pi-extproto/wit",
        world: "extension",
        exports: { default: async },
    });
}

/// An engine with the same settings as ours.
pub(crate) struct Bare(Engine);

/// How the functions of a host answer.
#[derive(Clone, Copy)]
enum Host {
    AtOnce,
    InFutures,
}

/// A component that is ready to be instantiated.
pub(crate) struct Ready(ExtensionPre<()>);

/// An instance that has said what it offers.
pub(crate) struct Instance {
    store: Store<()>,
    extension: Extension,
}

impl Bare {
    pub(crate) fn new() -> Self {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(200).total_core_instances(4000).total_memories(400).total_tables(2000);
        pool.total_stacks(200).max_memory_size(256 << 20).linear_memory_keep_resident(1 << 20);
        pool.table_elements(100_000);
        let mut config = Config::new();
        config.wasm_component_model(true).epoch_interruption(true);
        config.debug_symbols(false).generate_address_map(false).wasm_backtrace_max_frames(None);
        config.native_unwind_info(cfg!(windows));
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        Self(Engine::new(&config).unwrap())
    }

    pub(crate) fn compile(&self, component: &[u8]) -> Ready {
        self.ready(&Component::new(&self.0, component).unwrap(), Host::AtOnce)
    }

    /// The same, for a host whose functions are futures, as ours are.
    pub(crate) fn compile_for_futures(&self, component: &[u8]) -> Ready {
        self.ready(&Component::new(&self.0, component).unwrap(), Host::InFutures)
    }

    /// Machine code, in a file.
    pub(crate) fn write(&self, component: &[u8], path: &Path) {
        std::fs::write(path, self.0.precompile_component(component).unwrap()).unwrap();
    }

    /// The same from the file, which is mapped and believed.
    #[expect(unsafe_code, reason = "the engine believes machine code; this bench has just written it")]
    pub(crate) fn load(&self, path: &Path) -> Ready {
        // SAFETY: `write` made the file with this very engine, in a folder that nobody else knows.
        let component = unsafe { Component::deserialize_file(&self.0, path) };
        self.ready(&component.unwrap(), Host::AtOnce)
    }

    fn ready(&self, component: &Component, host: Host) -> Ready {
        let mut linker = Linker::new(&self.0);
        let mut env = linker.instance("pi:extension/env@1.0.0").unwrap();
        let home = || Ok((Ok::<_, HostError>(Some("/home/me".to_owned())),));
        match host {
            Host::AtOnce => env.func_wrap("get", move |_: StoreContextMut<'_, ()>, (_,): (String,)| home()),
            Host::InFutures => env.func_wrap_async("get", move |_: StoreContextMut<'_, ()>, (_,): (String,)| {
                Box::new(async move { home() })
            }),
        }
        .unwrap();
        linker.define_unknown_imports_as_traps(component).unwrap();
        Ready(ExtensionPre::new(linker.instantiate_pre(component).unwrap()).unwrap())
    }

    pub(crate) async fn instance(&self, ready: &Ready) -> Instance {
        let mut store = Store::new(&self.0, ());
        store.set_epoch_deadline(u64::MAX / 2);
        let extension = ready.0.instantiate_async(&mut store).await.unwrap();
        extension.pi_extension_guest().call_init(&mut store).await.unwrap().unwrap();
        Instance { store, extension }
    }
}

/// A call as an instance takes it.
pub(crate) fn tool_call(tool: &str, input: &str) -> ToolCall {
    ToolCall { call_id: "c1".to_owned(), name: tool.to_owned(), input: input.to_owned(), context: None }
}

impl Instance {
    pub(crate) async fn call(&mut self, call: &ToolCall) -> String {
        let answer = self.extension.pi_extension_guest().call_call_tool(&mut self.store, call).await.unwrap().unwrap();
        match answer.output.content.as_slice() {
            [bindings::pi::extension::types::ContentBlock::Text(text)] => text.clone(),
            other => panic!("{other:?}"),
        }
    }
}
