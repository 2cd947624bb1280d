//! A folder with files, the pipeline over it, and an engine to run what comes out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pi_extc::{Artifact, BuildFault, Cache, Workshop, build};
use rquickjs::{
    CatchResultExt as _, Context, Ctx, Function, Module, Object, Runtime, Value,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};
use tempfile::TempDir;

pub(crate) struct House {
    folder: TempDir,
}

impl House {
    /// Files by their paths; a folder `node_modules` among them is one.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let house = Self { folder: TempDir::new().expect("a folder") };
        for (path, text) in files {
            house.write(path, text);
        }
        house
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join("extension").join(path)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("")
    }

    pub(crate) fn cache_folder(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    pub(crate) fn workshop(&self) -> Workshop {
        Workshop::new(self.cache_folder())
    }

    pub(crate) fn cache(&self) -> Cache {
        Cache::open(&self.cache_folder()).expect("a cache")
    }

    pub(crate) async fn build(&self, path: &str) -> Result<Artifact, BuildFault> {
        build(&self.path(path), &self.workshop()).await
    }

    pub(crate) async fn built(&self) -> Artifact {
        self.build("").await.unwrap_or_else(|fault| panic!("{fault}"))
    }
}

/// What an extension says with `pi.say` when its factory is called in an engine with these shims.
const SHIMS: &str = r#"
const silent = new Set(["then", "__esModule", "toJSON"]);
export const shim = (name) => new Proxy({}, {
  get: (_, key) => typeof key === "symbol" || silent.has(key) ? undefined
    : (...args) => `${name.replace("pi:shim/", "")}.${key}(${args.join(",")})`,
  ownKeys: () => [],
});
export const missing = (name, how) => {
  if (how) throw new Error(`no ${name} to ${how}`);
  return new Proxy(function () {}, {
    apply: () => { throw new Error(`missing ${name}`); },
    get: (own, key) => typeof key === "symbol" || silent.has(key) ? own[key] : missing(`${name}.${key}`),
  });
};
export const place = (name) => ({
  url: `file:///ext/${name}`, filename: `/ext/${name}`, dirname: `/ext/${name}`.replace(/\/[^/]*$/, ""),
});
"#;

struct OnlyShims;

impl Resolver for OnlyShims {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        assert_eq!(name, "pi:shims", "a bundle imports nothing else");
        Ok(name.to_owned())
    }
}

impl Loader for OnlyShims {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        Module::declare(ctx.clone(), name, SHIMS)
    }
}

/// Runs the factory of a bundle; what it said, or how it failed.
pub(crate) fn said(bundle: &str) -> String {
    let runtime = Runtime::new().expect("an engine");
    runtime.set_loader(OnlyShims, OnlyShims);
    let context = Context::full(&runtime).expect("a context");
    context.with(|ctx| {
        let run = || -> rquickjs::Result<()> {
            ctx.globals().set("said", rquickjs::Array::new(ctx.clone())?)?;
            let (module, promise) = Module::declare(ctx.clone(), "bundle", bundle)?.eval()?;
            promise.finish::<()>()?;
            let factory: Function = module.get("default")?;
            let pi: Object = ctx.eval("({ say: (...words) => void said.push(words.join(' ')) })")?;
            let result: Value = factory.call((pi,))?;
            match result.into_promise() {
                Some(promise) => promise.finish::<()>(),
                None => Ok(()),
            }
        };
        match run().catch(&ctx) {
            Ok(()) => ctx.eval("said.join('\\n')").expect("words"),
            Err(error) => format!("failed: {error}"),
        }
    })
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
