//! How long outcomes are known, and what happens when there is no more room. Decision 7.

use crate::script::check;

#[test]
fn outcomes_are_kept_for_their_time_and_their_number() {
    check(
        "limits keep=10s keep_count=1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended
         durable     | answer a.1 ok
         wait 100s
         a.1 fork s1 | accepted a.1; replay a.1 ok
         a.2 fork s1 | record a.2
         durable     | accepted a.2; start a.2
         done a.2    | record a.2 ended
         durable     | answer a.2 ok; forget a.1
         a.1 fork s1 | record a.1",
    );
}

#[test]
fn young_outcome_is_kept_beyond_the_number() {
    check(
        "limits keep=10s keep_count=0
         a.1 fork s1         | record a.1
         durable             | accepted a.1; start a.1
         done a.1            | record a.1 ended
         durable             | answer a.1 ok
         wait 9999ms
         a.1 fork s1         | accepted a.1; replay a.1 ok
         wait 1ms            | forget a.1
         a.2 fork s1 after=1 | record a.2; record a.2 ended
         load                | in flight 1; reserved bytes 16384; ids 1",
    );
}

#[test]
fn too_many_outcomes_to_keep_means_busy_not_forgetting() {
    check(
        "limits keep=10s keep_count=0 max_count=2
         a.1 fork s1       | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended
         durable           | answer a.1 ok
         a.2 fork s1       | record a.2
         a.3 fork s1       | refuse a.3: Server busy - too many concurrent commands. Please retry.
         a.- fork s1       | record a.-
         a.4 get_state s1  | accepted a.4
         wait 10s          | forget a.1
         a.3 fork s1       | record a.3",
    );
}

#[test]
fn what_a_run_needs_passes_without_a_record_when_there_is_no_room() {
    check(
        "limits keep=10s keep_count=0 max_count=1
         given s1
         a.1 prompt s1       | record a.1
         durable             | accepted a.1; start a.1
         a.2 fork s1         | refuse a.2: Server busy - too many concurrent commands. Please retry.
         a.3 abort s1        | accepted a.3; start a.3
         done a.3            | answer a.3 ok v0
         a.4 answer s1 key=k | accepted a.4; start a.4
         done a.4            | answer a.4 ok v0
         a.3 abort s1        | accepted a.3; replay a.3 ok v0
         a.- abort s1        | record a.-",
    );
}

#[test]
fn bytes_of_outcomes_are_bounded_with_room_for_those_in_flight() {
    check(
        "limits keep=10s keep_count=0 max_bytes=3000 reserve=1000
         a.1 fork s1       | record a.1
         durable           | accepted a.1; start a.1
         done a.1 size=488 | record a.1 ended
         durable           | answer a.1 ok
         load              | outcomes 1; outcome bytes 1000; ids 1
         a.2 fork s1       | record a.2
         a.3 fork s1       | record a.3
         a.4 fork s1       | refuse a.4: Server busy - too many concurrent commands. Please retry.
         load              | in flight 2; lanes 1; outcomes 1; outcome bytes 1000; reserved bytes 2000; ids 3",
    );
}

#[test]
fn few_large_outcomes_make_room_when_they_are_old_enough() {
    check(
        "limits keep=10s keep_count=9 max_bytes=3000 reserve=1000
         a.1 fork s1        | record a.1
         durable            | accepted a.1; start a.1
         done a.1 size=1988 | record a.1 ended
         durable            | answer a.1 ok
         a.2 fork s1        | refuse a.2: Server busy - too many concurrent commands. Please retry.
         wait 9999ms
         a.2 fork s1        | refuse a.2: Server busy - too many concurrent commands. Please retry.
         wait 1ms           | forget a.1
         a.2 fork s1        | record a.2",
    );
}

#[test]
fn as_many_outcomes_as_are_kept_in_any_case_do_not_block_for_good() {
    check(
        "limits keep=10s keep_count=1 max_count=1
         a.1 fork s1        | record a.1
         durable            | accepted a.1; start a.1
         done a.1           | record a.1 ended
         durable            | answer a.1 ok
         a.2 fork s1        | refuse a.2: Server busy - too many concurrent commands. Please retry.
         wait 10s           | forget a.1
         a.2 fork s1        | record a.2",
    );
}

#[test]
fn other_names_need_room_too() {
    check(
        "limits keep=10s keep_count=0 max_count=1
         given s1
         a.1 fork s1 key=k | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1
         b.1 fork s1 key=k | refuse b.1: Server busy - too many concurrent commands. Please retry.
         b.- fork s1 key=k | accepted b.-; replay b.- ok v1",
    );
}

#[test]
fn other_name_outlives_what_it_stands_for() {
    check(
        "limits keep=10s keep_count=0
         given s1
         a.1 fork s1 key=k | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1
         wait 9s
         b.1 fork s1 key=k | record b.1 as a.1
         durable           | accepted b.1; replay b.1 ok v1
         wait 1s           | forget a.1
         b.1 fork s1       | accepted b.1; replay b.1 ok v1
         wait 9s           | forget b.1
         load              | versions 1",
    );
}

#[test]
fn reads_are_kept_briefly() {
    check(
        "limits reads=5s
         a.1 get_state s1 key=k | accepted a.1; start a.1
         done a.1               | answer a.1 ok
         wait 4999ms
         a.1 get_state s1       | accepted a.1; replay a.1 ok
         wait 1ms
         load                   |
         a.1 get_state s1 key=k | accepted a.1; start a.1",
    );
}

#[test]
fn reads_make_room_for_newer_ones() {
    check(
        "limits reads_count=1
         a.1 get_state s1      | accepted a.1; start a.1
         done a.1              | answer a.1 ok
         a.2 get_state s1      | accepted a.2; start a.2
         done a.2              | answer a.2 ok
         a.3 export s1 after=1 | accepted a.3; answer a.3 broken: Dependency '1' is unknown
         load                  | reads 1; read bytes 512; ids 1",
    );
}

#[test]
fn large_read_is_answered_and_not_kept() {
    check(
        "limits reads_bytes=1000
         a.1 get_state s1   | accepted a.1; start a.1
         done a.1 size=9999 | answer a.1 ok
         load               |",
    );
}

#[test]
fn command_without_names_is_answered_and_forgotten() {
    check(
        "a.- fork s1 | record a.-
         durable     | accepted a.-; start a.-
         done a.-    | record a.- ended
         durable     | answer a.- ok; forget a.-
         load        |",
    );
}
