//! Twenty packages of others, one after the other: built for the first time, and found in the cache.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use criterion::Criterion;
use pi_exthost::launcher::{Launcher, Provenance, Source};
use pi_guests::Tiers;

use super::stage::Stage;

const WANTED: usize = 20;
/// Names the folder; each folder in it has a package installed.
const FOLDER: &str = "PI_BENCH_PACKAGES";

pub(crate) fn measure(_: &mut Criterion) {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let stage = Stage::new("ts", super::HELLO);
    let (chosen, agents) = (choose(&stage, &folder), tempfile::tempdir().unwrap());
    println!("metric packages {} packages", chosen.len());
    let mut cold = Vec::new();
    for round in 0..3 {
        let agent = agents.path().join(round.to_string());
        fs::create_dir(&agent).unwrap();
        cold.push(start_each(&stage, &stage.fresh(&agent), &chosen));
    }
    // All of them are in the cache of the last round.
    let warm = stage.fresh(&agents.path().join("2"));
    let cached = (0..10).map(|_| start_each(&stage, &warm, &chosen)).collect();
    println!("metric packages_cold {} ns", median(cold).as_nanos());
    println!("metric packages_cached {} ns", median(cached).as_nanos());
}

/// The first packages by name that have one entry and start by themselves.
fn choose(stage: &Stage, folder: &Path) -> Vec<PathBuf> {
    let agent = tempfile::tempdir().unwrap();
    let tiers = stage.fresh(agent.path());
    let mut homes: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    homes.sort();
    let starts = |path: &PathBuf| {
        stage.runtime.block_on(async {
            let source = Source { path: path.clone(), provenance: Provenance::Trusted };
            tiers.prepare(source).await.is_ok()
        }) && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| start(stage, &tiers, path))).is_ok()
    };
    homes.iter().filter_map(|home| package(home)).filter(starts).take(WANTED).collect()
}

/// `@owner+name@1.0.0` holds `node_modules/@owner/name`.
fn package(home: &Path) -> Option<PathBuf> {
    let name = home.file_name()?.to_str()?;
    let (name, _) = name.rsplit_once('@')?;
    let path = home.join("node_modules").join(name.replacen('+', "/", 1));
    path.is_dir().then_some(path)
}

fn start_each(stage: &Stage, tiers: &Tiers, paths: &[PathBuf]) -> Duration {
    let times: Vec<Duration> = paths.iter().map(|path| start(stage, tiers, path)).collect();
    median(times)
}

fn start(stage: &Stage, tiers: &Tiers, path: &Path) -> Duration {
    let begin = Instant::now();
    let guests = stage.runtime.block_on(stage.start(tiers, &[path.to_owned()]));
    let took = begin.elapsed();
    drop(guests);
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
