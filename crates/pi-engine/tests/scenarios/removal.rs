//! A session that goes away takes along what waits for it. Decision 12.

use crate::script::check;

#[test]
fn waiting_commands_of_a_removed_session_are_told_that_it_is_gone() {
    check(
        "given s1
         a.1 prompt s1            | record a.1
         a.2 fork s1              | record a.2
         durable                  | accepted a.1; accepted a.2; start a.1
         a.3 get_state s1 after=1 | accepted a.3
         a.4 export s2            | accepted a.4; start a.4
         b.1 delete               | record b.1
         durable                  | accepted b.1; start b.1
         done b.1 removed s1      | record b.1 ended s1 gone; record a.2 ended; answer a.3 broken: Session s1 not found; cancel a.1
         durable                  | answer b.1 ok; answer a.2 broken: Session s1 not found
         version s1               | none",
    );
}

#[test]
fn run_of_a_removed_session_is_asked_to_stop_and_then_killed() {
    check(
        "given s1
         a.1 prompt s1           | record a.1
         b.1 delete              | record b.1
         durable                 | accepted a.1; accepted b.1; start a.1; start b.1
         done b.1 removed s1     | record b.1 ended s1 gone; cancel a.1
         wait 5s                 | kill a.1
         done a.1 failed altered | record a.1 ended
         durable                 | answer b.1 ok; answer a.1 failed: no luck",
    );
}

#[test]
fn session_can_be_removed_from_its_own_lane() {
    check(
        "given s1
         a.1 slash s1        | record a.1
         a.2 fork s1         | record a.2
         durable             | accepted a.1; accepted a.2; start a.1; start a.2
         a.3 export s1       | accepted a.3
         done a.2 removed s1 | record a.2 ended s1 gone; answer a.3 broken: Session s1 not found; cancel a.1
         durable             | answer a.2 ok",
    );
}

#[test]
fn command_that_is_not_accepted_yet_ends_in_order() {
    check(
        "given s1
         b.1 delete          | record b.1
         durable             | accepted b.1; start b.1
         a.1 fork s1         | record a.1
         done b.1 removed s1 | record b.1 ended s1 gone; record a.1 ended
         durable             | accepted a.1; answer b.1 ok; answer a.1 broken: Session s1 not found",
    );
}

#[test]
fn keys_of_a_removed_session_mean_nothing_to_the_next_one_of_its_name() {
    check(
        "given s1
         a.1 fork s1 key=k   | record a.1
         durable             | accepted a.1; start a.1
         done a.1            | record a.1 ended s1=1
         durable             | answer a.1 ok v1
         b.1 delete          | record b.1
         durable             | accepted b.1; start b.1
         done b.1 removed s1 | record b.1 ended s1 gone
         durable             | answer b.1 ok
         a.1 fork s1         | accepted a.1; replay a.1 ok v1
         a.2 fork s1 key=k   | record a.2
         crash
         a.2 fork s1 key=k   | record a.2",
    );
}

#[test]
fn key_of_a_command_that_outlives_its_session_means_nothing_afterwards() {
    check(
        "given s1
         a.1 prompt s1 key=k     | record a.1
         b.1 delete              | record b.1
         durable                 | accepted a.1; accepted b.1; start a.1; start b.1
         done b.1 removed s1     | record b.1 ended s1 gone; cancel a.1
         done a.1 failed altered | record a.1 ended
         durable                 | answer b.1 ok; answer a.1 failed: no luck
         crash
         a.2 prompt s1 key=k     | record a.2",
    );
}

#[test]
fn key_that_was_used_where_no_session_was_means_nothing_to_the_next_one_of_that_name() {
    check(
        "a.1 fork s1 key=k   | record a.1
         durable             | accepted a.1; start a.1
         done a.1 failed     | record a.1 ended
         durable             | answer a.1 failed: no luck
         b.1 create          | record b.1
         durable             | accepted b.1; start b.1
         done b.1 created s1 | record b.1 ended s1=0
         durable             | answer b.1 ok v0
         a.1 fork s1 key=k   | accepted a.1; replay a.1 failed: no luck
         a.2 fork s1 key=k   | record a.2
         durable             | accepted a.2; start a.2
         done a.2            | record a.2 ended s1=1
         durable             | answer a.2 ok v1
         crash
         a.1 fork s1 key=k   | accepted a.1; replay a.1 failed: no luck
         a.3 fork s1 key=k   | record a.3 as a.2",
    );
}

#[test]
fn key_of_a_command_that_waits_for_its_session_is_one_of_that_session() {
    check(
        "a.1 create                | record a.1
         a.2 fork s1 key=k after=1 | record a.2
         durable                   | accepted a.1; accepted a.2; start a.1
         done a.1 created s1       | record a.1 ended s1=0
         durable                   | answer a.1 ok v0; start a.2
         b.1 fork s1 key=k         | record b.1 as a.2
         done a.2                  | record a.2 ended s1=1
         durable                   | accepted b.1; answer a.2 ok v1; replay b.1 ok v1
         crash
         b.2 fork s1 key=k         | record b.2 as a.2",
    );
}
