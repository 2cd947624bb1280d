//! Keeps a server connected: waits, tries again, gives up, and can be asked at any time how it stands.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    limits::Limits,
    link::{Connect, Counter, Link, LinkFault},
};

/// A connection that held so long is not counted among those that failed.
const STABLE: Duration = Duration::from_secs(60);

/// How a server stands.
#[derive(Clone)]
pub(super) enum Stage {
    /// The first try, or a later one.
    Connecting,
    Ready(Arc<dyn Link>),
    /// It is lost; another try follows.
    Waiting {
        reason: LinkFault,
    },
    /// Nobody tries any more, until somebody asks for it.
    Down {
        reason: LinkFault,
    },
    Closed,
}

/// What is done with a connection while it holds. Two implementations: the guest, and the tests' own.
pub(super) trait Tenant: Send + Sync + 'static {
    /// A counter for a new connection.
    fn counter(&self) -> Counter;

    /// Whether a connection may be made; a person may have to say so, and is waited for.
    fn admit(&self) -> impl Future<Output = Result<(), LinkFault>> + Send;

    /// Looks at a new connection before anybody uses it.
    fn move_in(&self, link: &Arc<dyn Link>) -> impl Future<Output = Result<(), LinkFault>> + Send;

    /// Serves a connection. Dropped when it is lost.
    fn live(&self, link: &Arc<dyn Link>) -> impl Future<Output = ()> + Send;

    /// Hears that a connection was lost or could not be made, and whether another try follows.
    fn lost(&self, reason: &LinkFault, tries_again: bool);
}

/// Where the connection stands, for everybody who needs it. Clones are the same.
#[derive(Clone)]
pub(super) struct Keeper {
    stage: watch::Receiver<Stage>,
    nudge: Arc<Notify>,
    stop: CancellationToken,
}

impl Keeper {
    /// Begins to connect. Everything ends when `stop` is set.
    pub(super) fn start(connect: Connect, limits: Limits, tenant: impl Tenant, stop: CancellationToken) -> Self {
        let (stage, seen) = watch::channel(Stage::Connecting);
        let nudge = Arc::new(Notify::new());
        let keeper = Self { stage: seen, nudge: Arc::clone(&nudge), stop: stop.clone() };
        // Ends soon after the token is set.
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                never = keep(&connect, &limits, &tenant, &stage, &nudge) => match never {},
            }
            let last = stage.send_replace(Stage::Closed);
            if let Stage::Ready(link) = last {
                link.close().await;
            }
        });
        keeper
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }

    /// Waits until the first try has come to an end, one way or the other.
    pub(super) async fn settled(&self) -> Result<(), LinkFault> {
        let mut stage = self.stage.clone();
        let is_settled = |stage: &Stage| !matches!(stage, Stage::Connecting);
        let found = stage.wait_for(is_settled).await.map(|stage| stage.clone());
        match found {
            Ok(Stage::Ready(_) | Stage::Connecting) => Ok(()),
            Ok(Stage::Waiting { reason } | Stage::Down { reason }) => Err(reason),
            Ok(Stage::Closed) | Err(_) => Err(closed()),
        }
    }

    /// The connection, as soon as there is one. A server that was given up is tried again.
    pub(super) async fn link(&self, patience: Duration) -> Result<Arc<dyn Link>, LinkFault> {
        let mut stage = self.stage.clone();
        if matches!(*stage.borrow_and_update(), Stage::Down { .. }) {
            self.nudge.notify_one();
            // It leaves this stage at once, and may be back in it before we look.
            stage.changed().await.map_err(|_| closed())?;
        }
        let is_decided = |stage: &Stage| !matches!(stage, Stage::Connecting | Stage::Waiting { .. });
        let waited = timeout(patience, stage.wait_for(is_decided)).await;
        match waited {
            Ok(Ok(found)) => match &*found {
                Stage::Ready(link) => Ok(Arc::clone(link)),
                Stage::Waiting { reason } | Stage::Down { reason } => Err(reason.clone()),
                Stage::Connecting | Stage::Closed => Err(closed()),
            },
            Ok(Err(_)) => Err(closed()),
            Err(_) => Err(match self.stage() {
                Stage::Waiting { reason } | Stage::Down { reason } => reason,
                Stage::Connecting | Stage::Ready(_) | Stage::Closed => {
                    let message = format!("it is not connected yet, after {patience:?}");
                    LinkFault::Unreachable { message, is_permanent: false }
                }
            }),
        }
    }

    /// Waits, a bounded time, until a connection that was lost is not handed out any more.
    pub(super) async fn left(&self, lost: &Arc<dyn Link>) {
        let mut stage = self.stage.clone();
        let is_other = |stage: &Stage| !matches!(stage, Stage::Ready(link) if Arc::ptr_eq(link, lost));
        // Whoever uses it nevertheless is told that it is lost.
        let _ = timeout(Duration::from_secs(2), stage.wait_for(is_other)).await;
    }

    /// Ends the connection soon.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Ends the connection and waits until that is done, a bounded time.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let mut stage = self.stage.clone();
        // The task that owns the sender ends right after this.
        let _ = timeout(Duration::from_secs(5), async { while stage.changed().await.is_ok() {} }).await;
    }
}

/// Connects, serves, and connects again.
async fn keep(
    connect: &Connect,
    limits: &Limits,
    tenant: &impl Tenant,
    stage: &watch::Sender<Stage>,
    nudge: &Notify,
) -> std::convert::Infallible {
    let mut failures = 0;
    loop {
        let began = Instant::now();
        let reason = match begin(connect, limits, tenant).await {
            Ok(link) => {
                stage.send_replace(Stage::Ready(Arc::clone(&link)));
                let reason = tokio::select! {
                    reason = link.lost() => reason,
                    () = tenant.live(&link) => "nobody serves it".to_owned(),
                };
                link.close().await;
                LinkFault::Lost { message: reason }
            }
            Err(fault) => fault,
        };
        failures = if began.elapsed() >= STABLE { 1 } else { failures + 1 };
        let is_over = failures > limits.attempts || reason.is_permanent();
        tenant.lost(&reason, !is_over);
        if is_over {
            stage.send_replace(Stage::Down { reason });
            nudge.notified().await;
            failures = 0;
        } else {
            stage.send_replace(Stage::Waiting { reason });
            sleep(pause(limits, failures)).await;
        }
        stage.send_replace(Stage::Connecting);
    }
}

async fn begin(connect: &Connect, limits: &Limits, tenant: &impl Tenant) -> Result<Arc<dyn Link>, LinkFault> {
    let late = |_| {
        let message = format!("it did not introduce itself within {:?}", limits.connecting);
        LinkFault::Unreachable { message, is_permanent: false }
    };
    tenant.admit().await?;
    let link = timeout(limits.connecting, connect(tenant.counter())).await.map_err(late)??;
    match tenant.move_in(&link).await {
        Ok(()) => Ok(link),
        Err(fault) => {
            link.close().await;
            Err(fault)
        }
    }
}

/// Twice as long each time.
fn pause(limits: &Limits, failures: u32) -> Duration {
    let doubled = limits.pause.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    doubled.min(limits.longest_pause)
}

fn closed() -> LinkFault {
    LinkFault::Lost { message: "it was closed".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::{FutureExt, future::BoxFuture};
    use serde_json::Value;
    use tokio::sync::{mpsc, oneshot};

    use super::*;
    use crate::mcp::link::{About, Progress, Request};

    /// A connection that holds until it is broken.
    struct Scripted {
        about: About,
        broken: Mutex<Option<oneshot::Receiver<()>>>,
    }

    impl Link for Scripted {
        fn about(&self) -> &About {
            &self.about
        }

        fn request(&self, _: Request, _: Option<mpsc::Sender<Progress>>) -> BoxFuture<'_, Result<Value, LinkFault>> {
            async { Ok(Value::Null) }.boxed()
        }

        fn lost(&self) -> BoxFuture<'_, String> {
            let broken = self.broken.lock().expect("no panic").take();
            async move {
                if let Some(broken) = broken {
                    // Whoever drops the other end breaks it too.
                    let _ = broken.await;
                }
                "broken".to_owned()
            }
            .boxed()
        }

        fn memory(&self) -> BoxFuture<'_, Option<u64>> {
            async { None }.boxed()
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
    }

    /// What happened, each with the second in which it did.
    type Diary = Arc<Mutex<Vec<String>>>;

    struct Watcher {
        diary: Diary,
        began: Instant,
    }

    impl Watcher {
        fn note(&self, what: &str) {
            let second = self.began.elapsed().as_secs();
            self.diary.lock().expect("no panic").push(format!("{second}s {what}"));
        }
    }

    impl Tenant for Watcher {
        fn counter(&self) -> Counter {
            Counter { news: mpsc::channel(1).0, roots: Arc::new([]) }
        }

        async fn admit(&self) -> Result<(), LinkFault> {
            Ok(())
        }

        async fn move_in(&self, _: &Arc<dyn Link>) -> Result<(), LinkFault> {
            self.note("in");
            Ok(())
        }

        async fn live(&self, _: &Arc<dyn Link>) {
            std::future::pending().await
        }

        fn lost(&self, _: &LinkFault, tries_again: bool) {
            self.note(if tries_again { "lost" } else { "given up" });
        }
    }

    /// Connects as the script says: `+` holds for ten seconds, `-` fails, `!` fails for good; then everything fails.
    fn script(script: &'static str) -> Connect {
        let steps = Arc::new(Mutex::new(script.chars()));
        Arc::new(move |_| {
            let step = steps.lock().expect("no panic").next();
            async move {
                match step {
                    Some('+') => {
                        let (hold, broken) = oneshot::channel();
                        tokio::spawn(async move {
                            sleep(Duration::from_secs(10)).await;
                            drop(hold);
                        });
                        let about = About {
                            name: String::new(),
                            version: String::new(),
                            protocol: String::new(),
                            has_tools: true,
                            has_prompts: false,
                            has_resources: false,
                        };
                        let link: Arc<dyn Link> = Arc::new(Scripted { about, broken: Mutex::new(Some(broken)) });
                        Ok(link)
                    }
                    Some('!') => Err(LinkFault::Unreachable { message: "gone".into(), is_permanent: true }),
                    _ => Err(LinkFault::Lost { message: "no".into() }),
                }
            }
            .boxed()
        })
    }

    async fn check(steps: &'static str, seconds: u64, expected: &[&str]) -> (Keeper, Diary) {
        let diary = Diary::default();
        let limits = Limits { attempts: 3, longest_pause: Duration::from_secs(3), ..Limits::default() };
        let tenant = Watcher { diary: Arc::clone(&diary), began: Instant::now() };
        let keeper = Keeper::start(script(steps), limits, tenant, CancellationToken::new());
        sleep(Duration::from_secs(seconds)).await;
        assert_eq!(*diary.lock().expect("no panic"), expected);
        (keeper, diary)
    }

    #[tokio::test(start_paused = true)]
    async fn lost_connection_is_made_again_after_growing_pauses_and_then_given_up() {
        let expected = ["0s in", "10s lost", "11s lost", "13s lost", "16s given up"];
        let (keeper, diary) = check("+---", 100, &expected).await;
        assert!(matches!(keeper.stage(), Stage::Down { .. }));
        // Somebody needs it: one more round.
        assert!(keeper.link(Duration::from_secs(60)).await.is_err());
        assert_eq!(diary.lock().expect("no panic").len(), expected.len() + 4);
        keeper.close().await;
        assert!(matches!(keeper.stage(), Stage::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn connection_that_comes_back_is_used_again() {
        let (keeper, _) = check("+-+", 14, &["0s in", "10s lost", "11s lost", "13s in"]).await;
        assert!(keeper.link(Duration::ZERO).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_help_is_not_tried_again() {
        let (keeper, _) = check("!", 10, &["0s given up"]).await;
        assert!(keeper.settled().await.is_err());
    }
}
