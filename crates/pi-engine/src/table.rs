//! A map that counts how often it is touched, so that work per command can be shown and not only claimed.
//!
//! It gives back the room that a rush of commands needed: an idle server holds no more than what is in it.

use std::{borrow::Borrow, cell::Cell, collections::HashMap, hash::Hash};

/// Room for so many entries is never given back.
const KEPT_ROOM: usize = 128;

#[derive(Debug)]
pub(crate) struct Table<K, V> {
    map: HashMap<K, V>,
    /// There is room for so many at least. The map itself does not count the room of those that were removed.
    room: usize,
    touches: Cell<u64>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { map: HashMap::new(), room: 0, touches: Cell::new(0) }
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
        self.room = self.room.max(self.map.len());
    }

    pub(crate) fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.touch(1);
        self.room = self.room.max(self.map.len() + 1);
        self.map.entry(key).or_default()
    }

    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.touch(1);
        let removed = self.map.remove(key);
        self.give_back_room();
        removed
    }

    /// Moves what is left to a smaller place if most of this one is empty. More were removed before than are moved, so a removal
    /// costs the same, on average, however many there are.
    fn give_back_room(&mut self) {
        if self.room > 2 * KEPT_ROOM && self.map.len() < self.room / 8 {
            self.room = KEPT_ROOM.max(2 * self.map.len());
            self.map.shrink_to(self.room);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_of_a_rush_is_given_back() {
        let mut table = Table::default();
        for number in 0..10_000 {
            table.insert(number, number);
        }
        let rushed = table.map.capacity();
        for number in 0..9_990 {
            assert_eq!(table.remove(&number), Some(number));
        }
        assert!(table.map.capacity() <= 2 * KEPT_ROOM, "room for {} of {rushed} is held", table.map.capacity());
        assert!((9_990..10_000).all(|number| table.get(&number) == Some(&number)));
    }

    #[test]
    fn entries_are_seldom_moved() {
        let mut table = Table::default();
        let mut moves = 0;
        for _ in 0..20 {
            (0..1_000).for_each(|number| table.insert(number, ()));
            for number in 0..1_000 {
                let before = table.room;
                table.remove(&number);
                moves += usize::from(table.room < before);
            }
        }
        assert_eq!(moves, 20, "each rush is moved away from once");
    }
}
