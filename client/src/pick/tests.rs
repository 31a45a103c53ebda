use super::*;

#[test]
fn round_robin_takes_each_in_turn_and_survives_a_shrinking_set() {
    let mut turn = 0;
    let mut take = |len: usize| Policy::RoundRobin.pick(len, &mut turn, |_| true);
    let picked: Vec<_> = [3, 3, 3, 3, 2, 1, 1].into_iter().map(&mut take).collect();
    assert_eq!(picked, [0, 1, 2, 0, 1, 0, 0].map(Some));
    assert_eq!(take(0), None);
}

#[test]
fn an_unavailable_instance_is_passed_over() {
    for policy in [Policy::RoundRobin, Policy::Random] {
        let mut turn = 0;
        for _ in 0..100 {
            let picked = policy.pick(4, &mut turn, |index| index == 2);
            assert_eq!(picked, Some(2), "{policy:?}");
        }
        assert_eq!(policy.pick(4, &mut turn, |_| false), None, "{policy:?}");
    }
}

#[test]
fn random_reaches_everyone() {
    let mut seen = [0_u32; 8];
    for _ in 0..4000 {
        let mut turn = 0;
        seen[Policy::Random.pick(8, &mut turn, |_| true).unwrap()] += 1;
    }
    // 500 expected each; 300 is nine standard deviations away.
    assert!(seen.iter().all(|&n| n > 300), "{seen:?}");
}

#[test]
fn request_ids_of_two_draws_differ() {
    assert_ne!(random_u64(), random_u64());
}
