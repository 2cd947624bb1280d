//! What the extensions of all sessions of this process share, opened when the first of them needs it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use pi_extc::CacheFault;
use pi_guests::{Stock, launcher::Compiling};

/// Opened or not yet. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct StockRoom {
    /// A lock and no message: it is held while the key of the cache is read, once.
    stock: Arc<Mutex<Option<Stock>>>,
}

impl StockRoom {
    /// The components that are compiled now.
    pub(crate) fn compiling(&self) -> Vec<Compiling> {
        let stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        stock.as_ref().map(Stock::compiling).unwrap_or_default()
    }

    /// The folder of the agent is the same for the whole process.
    pub(crate) fn open(&self, agent: &Path) -> Result<Stock, CacheFault> {
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stock {
            Some(opened) => Ok(opened.clone()),
            None => Ok(stock.insert(Stock::open(agent)?).clone()),
        }
    }
}
