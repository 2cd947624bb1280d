//! A map that counts how often it is touched, so that work per command can be shown and not only claimed.

use std::{borrow::Borrow, cell::Cell, collections::HashMap, hash::Hash};

#[derive(Debug)]
pub(crate) struct Table<K, V> {
    map: HashMap<K, V>,
    touches: Cell<u64>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { map: HashMap::new(), touches: Cell::new(0) }
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// How often an entry was looked up, added or removed, and how many were walked over.
    pub(crate) fn touches(&self) -> u64 {
        self.touches.get()
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.touch(1);
        self.map.get(key)
    }

    pub(crate) fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.touch(1);
        self.map.get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.touch(1);
        self.map.insert(key, value);
    }

    pub(crate) fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.touch(1);
        self.map.entry(key).or_default()
    }

    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.touch(1);
        self.map.remove(key)
    }

    /// All entries, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.touch(self.map.len() as u64);
        self.map.iter()
    }

    fn touch(&self, count: u64) {
        self.touches.set(self.touches.get() + count);
    }
}
