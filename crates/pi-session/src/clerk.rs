//! Somebody who works through orders beside a session, without a thread of his own.
//!
//! Disks and the counting of tokens take time, so they are nothing for a task; but a session mostly does nothing, and a
//! server has many. So whoever has orders borrows a thread of the runtime's blocking pool and gives it back when his tray is
//! empty. Orders are carried out one after the other, in the order in which they came, by one thread at a time.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
};

use tokio::runtime::Handle;

/// Orders that are carried out together.
const BATCH: usize = 256;

/// What is done with orders: the recorder writes lines, the archive counts prompts.
pub(crate) trait Work: Send + 'static {
    type Order: Send + 'static;

    /// Carries out orders, at least one. May take as long as it needs.
    fn carry_out(&mut self, orders: VecDeque<Self::Order>);
}

/// The way to one who works. Dropping the last one lets him carry out what he was given, wherever that is.
pub(crate) struct Clerk<W: Work> {
    desk: Arc<Desk<W>>,
    runtime: Handle,
}

/// The work ended in a panic; nothing more is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

struct Desk<W: Work> {
    /// Not a channel: whether somebody works is decided together with whether there is something to do.
    tray: Mutex<Tray<W::Order>>,
    /// Not a task: held by the thread that works, for as long as that takes.
    worker: Mutex<W>,
}

struct Tray<O> {
    orders: VecDeque<O>,
    /// A thread works, or is about to.
    is_called: bool,
}

impl<W: Work> Clone for Clerk<W> {
    fn clone(&self) -> Self {
        Self { desk: Arc::clone(&self.desk), runtime: self.runtime.clone() }
    }
}

impl<W: Work> Clerk<W> {
    /// Needs a tokio runtime, in which he works from here on.
    pub(crate) fn new(worker: W) -> Self {
        let tray = Tray { orders: VecDeque::new(), is_called: false };
        let desk = Desk { tray: Mutex::new(tray), worker: Mutex::new(worker) };
        Self { desk: Arc::new(desk), runtime: Handle::current() }
    }

    /// Puts an order into the tray; says how many are in it.
    pub(crate) fn order(&self, order: W::Order) -> Result<usize, Gone> {
        let tray = self.desk.tray();
        self.put(tray, order)
    }

    /// The same, unless `now` can do it at once: it is tried where nobody works and nothing waits, and gives back what it
    /// cannot do. It must be quick.
    pub(crate) fn order_or(
        &self,
        order: W::Order,
        now: impl FnOnce(&mut W, W::Order) -> Result<(), W::Order>,
    ) -> Result<usize, Gone> {
        let tray = self.desk.tray();
        if tray.is_called {
            return self.put(tray, order);
        }
        let tried = match self.desk.worker.try_lock() {
            Ok(mut worker) => now(&mut worker, order),
            // He is just putting his pen down.
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => Err(order),
        };
        match tried {
            Ok(()) => Ok(0),
            Err(order) => self.put(tray, order),
        }
    }

    /// How many orders wait.
    pub(crate) fn waiting(&self) -> Result<usize, Gone> {
        if self.desk.worker.is_poisoned() { Err(Gone) } else { Ok(self.desk.tray().orders.len()) }
    }

    /// Carries out here what waits, and then `last`. Blocks; not for the inside of a task.
    pub(crate) fn finish(&self, last: impl FnOnce(&mut W)) -> Result<(), Gone> {
        self.desk.work();
        self.desk.worker.lock().map(|mut worker| last(&mut worker)).map_err(|_| Gone)
    }

    fn put(&self, mut tray: MutexGuard<'_, Tray<W::Order>>, order: W::Order) -> Result<usize, Gone> {
        if self.desk.worker.is_poisoned() {
            return Err(Gone);
        }
        tray.orders.push_back(order);
        let waiting = tray.orders.len();
        if !mem::replace(&mut tray.is_called, true) {
            drop(tray);
            let desk = Arc::clone(&self.desk);
            // Nobody waits for it. In a runtime that ends it is dropped, and what waits is done by whoever lets go last.
            drop(self.runtime.spawn_blocking(move || desk.work()));
        }
        Ok(waiting)
    }
}

impl<W: Work> Desk<W> {
    /// Carries out orders until there are none.
    fn work(&self) {
        let Ok(mut worker) = self.worker.lock() else { return };
        while let Some(orders) = self.next() {
            worker.carry_out(orders);
        }
    }

    fn next(&self) -> Option<VecDeque<W::Order>> {
        let mut tray = self.tray();
        if tray.orders.is_empty() {
            tray.is_called = false;
            return None;
        }
        let batch = tray.orders.len().min(BATCH);
        let rest = tray.orders.split_off(batch);
        Some(mem::replace(&mut tray.orders, rest))
    }

    fn tray(&self) -> MutexGuard<'_, Tray<W::Order>> {
        // Nothing in here can panic half-way.
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Work> Drop for Desk<W> {
    fn drop(&mut self) {
        self.work();
    }
}

impl<W: Work> std::fmt::Debug for Clerk<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clerk").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Tells what it does; a 0 waits until it may go on, and the largest is too much.
    struct Teller {
        told: mpsc::Sender<u32>,
        go_on: mpsc::Receiver<()>,
    }

    impl Work for Teller {
        type Order = u32;

        fn carry_out(&mut self, orders: VecDeque<u32>) {
            for order in orders {
                match order {
                    0 => self.go_on.recv().expect("the test goes on"),
                    u32::MAX => panic!("on purpose"),
                    _ => {}
                }
                self.told.send(order).expect("the test listens");
            }
        }
    }

    fn clerk() -> (Clerk<Teller>, mpsc::Sender<()>, mpsc::Receiver<u32>) {
        let ((told, heard), (go, go_on)) = (mpsc::channel(), mpsc::channel());
        (Clerk::new(Teller { told, go_on }), go, heard)
    }

    fn at_once(teller: &mut Teller, order: u32) -> Result<(), u32> {
        teller.carry_out([order].into());
        Ok(())
    }

    #[tokio::test]
    async fn orders_are_carried_out_in_their_order_whoever_does_it() {
        let (clerk, go, heard) = clerk();
        clerk.order(0).expect("he is there");
        for order in 1..1000 {
            clerk.order_or(order, at_once).expect("he is there");
        }
        assert!(clerk.waiting().is_ok_and(|waiting| waiting >= 999 - BATCH), "the first holds the others up");
        go.send(()).expect("he waits");
        clerk.finish(|teller| teller.told.send(1000).expect("the test listens")).expect("he is there");
        assert_eq!(clerk.waiting(), Ok(0));
        drop(clerk);
        assert_eq!(heard.iter().collect::<Vec<_>>(), (0..=1000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_can_be_done_at_once_is_done_where_it_is_ordered() {
        let (clerk, _go, heard) = clerk();
        assert_eq!(clerk.order_or(1, at_once), Ok(0));
        assert_eq!(heard.try_recv(), Ok(1), "before the order returns");
        assert_eq!(clerk.order_or(2, |_, order| Err(order)), Ok(1));
        assert_eq!(heard.recv(), Ok(2));
    }

    #[test]
    fn what_a_runtime_did_not_do_before_its_end_is_done_by_who_lets_go() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let entered = runtime.enter();
        let (clerk, _go, heard) = clerk();
        drop(entered);
        runtime.shutdown_background();
        clerk.order(1).expect("he is there");
        assert_eq!(heard.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(clerk);
        assert_eq!(heard.iter().collect::<Vec<_>>(), [1]);
    }

    #[tokio::test]
    async fn who_panicked_is_gone() {
        let (clerk, _go, _heard) = clerk();
        clerk.order(u32::MAX).expect("he is there");
        while clerk.order(1) != Err(Gone) {
            tokio::task::yield_now().await;
        }
        assert_eq!((clerk.waiting(), clerk.finish(|_| ())), (Err(Gone), Err(Gone)));
    }
}
