//! Extensions that come built, and what the signature on them is worth.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pi_extc::{SecretKey, TrustedKeys, Workshop, build, sign, write_container};
use pi_exthost::launcher::{Feature, LaunchFault, Provenance, Source};
use pi_guests::{Surroundings, Tiers, discovery, js::Limits};
use serde_json::json;
use tempfile::TempDir;

const SOURCE: &str = "export default (pi) => pi.registerTool({ name: 't', description: 'd', parameters: {}, execute: async () => 'x' });";

struct House {
    root: TempDir,
    tiers: Tiers,
}

impl House {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("greeter")).expect("a folder");
        fs::write(at("greeter/index.js"), SOURCE).expect("a file");
        let tiers = Tiers::new(Surroundings {
            cwd: at("project"),
            agent: at("agent"),
            home: at("home"),
            temporary: at("tmp"),
            program: "/bin/pi".into(),
            hostname: "here".to_owned(),
            version: "0".to_owned(),
            flags: BTreeMap::new(),
            limits: Limits::default(),
        });
        Self { tiers: tiers.expect("a cache"), root }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Builds the source into `folder`, signed if there is a key.
    async fn build(&self, folder: &Path, key: Option<&SecretKey>) {
        let built =
            build(&self.at("greeter"), &Workshop::new(self.at("agent/cache/extensions"))).await.expect("it builds");
        let container = write_container(&built);
        let mut described = serde_json::to_value(&built.descriptor).expect("JSON");
        if let Some(key) = key {
            described["signature"] = json!(sign(&container, key));
        }
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("extension.artifact"), container).expect("a file");
        fs::write(folder.join("artifact.json"), described.to_string()).expect("a file");
    }

    /// How unsigned what lies there is, between 0 and 1.
    async fn unsigned(&self, path: &str) -> Result<f64, LaunchFault> {
        let source = Source { path: self.at(path), provenance: Provenance::Trusted };
        Ok(self.tiers.prepare_guest(source).await?.identity.evidence.level(Feature::Unsigned))
    }

    fn trust(&self, key: &SecretKey) {
        let file = self.at("agent/trusted-keys.json");
        TrustedKeys::default().trust("Ada", key.public(), &file).expect("it is written");
    }
}

#[tokio::test]
async fn signature_of_what_comes_built_is_evidence() {
    let (house, key) = (House::new(), SecretKey::generate().expect("a key"));
    house.build(&house.at("bare"), None).await;
    assert_eq!(house.unsigned("bare").await, Ok(1.0));
    house.build(&house.at("signed"), Some(&key)).await;
    assert_eq!(house.unsigned("signed").await, Ok(0.6), "by a stranger");
    house.trust(&key);
    assert_eq!(house.unsigned("signed").await, Ok(0.0), "by somebody who is trusted");
}

#[tokio::test]
async fn source_is_as_signed_as_the_build_of_it() {
    let (house, key) = (House::new(), SecretKey::generate().expect("a key"));
    house.trust(&key);
    assert_eq!(house.unsigned("greeter").await, Ok(1.0));
    house.build(&house.at("greeter/dist"), Some(&key)).await;
    assert_eq!(house.unsigned("greeter").await, Ok(0.0));
    // What was signed is another state of it.
    fs::write(house.at("greeter/index.js"), SOURCE.replace("'x'", "'changed'")).expect("a file");
    assert_eq!(house.unsigned("greeter").await, Ok(1.0));
}

#[tokio::test]
async fn artifact_is_found_where_extensions_are() {
    let house = House::new();
    house.build(&house.at("agent/extensions/built"), None).await;
    let places = discovery::Places {
        directory: house.at("project"),
        is_trusted: true,
        agent: Some(house.at("agent")),
        home: None,
    };
    let found = discovery::discover(&places, &discovery::Wanted::default());
    let paths: Vec<PathBuf> = found.sources.into_iter().map(|source| source.path).collect();
    assert_eq!(paths, [house.at("agent/extensions/built").canonicalize().expect("it is there")]);
    assert_eq!(found.notices, []);
}
