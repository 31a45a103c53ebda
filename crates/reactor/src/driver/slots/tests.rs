use super::Slots;

#[test]
fn a_removed_pair_is_stale_for_ever() {
    let mut slots = Slots::new(8);
    let (index, generation) = slots.insert("a").unwrap();
    assert_eq!(slots.remove(index, generation), Some("a"));
    assert_eq!(slots.remove(index, generation), None);
    let (again, newer) = slots.insert("b").unwrap();
    assert_eq!(again, index);
    assert_ne!(newer, generation);
    assert_eq!(slots.at(index, generation), None);
    assert_eq!(slots.at(index, newer), Some(&mut "b"));
}

#[test]
fn a_full_table_gives_the_value_back() {
    let mut slots = Slots::new(2);
    let first = slots.insert(1).unwrap();
    slots.insert(2).unwrap();
    assert!(slots.is_full());
    assert_eq!(slots.insert(3), Err(3));
    slots.remove(first.0, first.1);
    slots.insert(4).unwrap();
    assert_eq!(slots.len(), 2);
    let mut all: Vec<_> = slots.values().copied().collect();
    all.sort_unstable();
    assert_eq!(all, [2, 4]);
    assert_eq!(slots.drain().count(), 2);
    assert_eq!(slots.len(), 0);
}

#[test]
fn an_unknown_index_names_nothing() {
    let mut slots = Slots::<u8>::new(2);
    assert_eq!(slots.at(7, 0), None);
    assert_eq!(slots.remove(7, 0), None);
}
