//! §10: versions and `ifSessionVersion`. Decisions 10 and 11.

use crate::script::check;

#[test]
fn created_session_begins_at_zero() {
    check(
        "a.1 create          | record a.1
         durable             | accepted a.1; start a.1
         done a.1 created s1 | record a.1 ended s1=0
         durable             | answer a.1 ok v0
         version s1          | 0",
    );
}

#[test]
fn successful_write_moves_the_version_by_one() {
    check(
        "given s1
         a.1 set_model s1 | record a.1
         durable          | accepted a.1; start a.1
         done a.1         | record a.1 ended s1=1
         durable          | answer a.1 ok v1
         a.2 prompt s1    | record a.2
         durable          | accepted a.2; start a.2
         done a.2         | record a.2 ended s1=2
         durable          | answer a.2 ok v2",
    );
}

#[test]
fn read_never_moves_a_version() {
    check(
        "given s1
         a.1 export s1                   | accepted a.1; start a.1
         done a.1 altered                | answer a.1 ok v0
         a.2 export s1                   | accepted a.2; start a.2
         done a.2 removed s1             | answer a.2 ok v0
         version s1                      | 0",
    );
}

#[test]
fn act_is_recorded_and_moves_a_version_only_if_it_says_so() {
    check(
        "given s1
         a.1 answer s1    | record a.1
         durable          | accepted a.1; start a.1
         done a.1         | record a.1 ended
         durable          | answer a.1 ok v0
         a.2 answer s1    | record a.2
         durable          | accepted a.2; start a.2
         done a.2 altered | record a.2 ended s1=1
         durable          | answer a.2 ok v1",
    );
}

#[test]
fn failed_write_moves_the_version_only_if_it_changed_something() {
    check(
        "given s1
         a.1 prompt s1           | record a.1
         durable                 | accepted a.1; start a.1
         done a.1 failed         | record a.1 ended
         durable                 | answer a.1 failed: no luck v0
         a.2 prompt s1           | record a.2
         durable                 | accepted a.2; start a.2
         done a.2 failed altered | record a.2 ended s1=1
         durable                 | answer a.2 failed: no luck v1",
    );
}

#[test]
fn panicking_handler_moves_no_version() {
    check(
        "given s1
         a.1 fork s1       | record a.1
         durable           | accepted a.1; start a.1
         done a.1 panicked | record a.1 ended
         durable           | answer a.1 broken: Command 'it' failed: its handler panicked v0",
    );
}

#[test]
fn success_without_a_version_gives_none() {
    check(
        "a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended
         durable     | answer a.1 ok
         version s1  | none",
    );
}

#[test]
fn server_command_moves_no_session() {
    check(
        "given s1
         a.1 create | record a.1
         durable    | accepted a.1; start a.1
         done a.1   | record a.1 ended
         durable    | answer a.1 ok
         version s1 | 0",
    );
}

#[test]
fn change_that_no_command_made_moves_the_version_and_is_recorded() {
    check(
        "given s1
         changed s1 | record s1=1
         durable
         changed s1 | record s1=2
         changed s2
         version s1 | 2
         version s2 | none",
    );
}

#[test]
fn creation_and_removal_count_even_if_the_command_failed() {
    check(
        "a.1 create                 | record a.1
         durable                    | accepted a.1; start a.1
         done a.1 failed created s1 | record a.1 ended s1=0
         durable                    | answer a.1 failed: no luck v0
         a.2 delete                 | record a.2
         durable                    | accepted a.2; start a.2
         done a.2 failed removed s1 | record a.2 ended s1 gone
         durable                    | answer a.2 failed: no luck
         version s1                 | none",
    );
}

#[test]
fn session_that_is_created_again_begins_again() {
    check(
        "given s1
         changed s1          | record s1=1
         a.1 create          | record a.1
         durable             | accepted a.1; start a.1
         done a.1 created s1 | record a.1 ended s1=0
         version s1          | 0",
    );
}

#[test]
fn expected_version_that_matches_lets_the_command_start() {
    check(
        "given s1
         a.1 fork s1 if=0 | record a.1
         durable          | accepted a.1; start a.1",
    );
}

#[test]
fn mismatch_fails_without_a_start() {
    check(
        "given s1
         a.1 fork s1 if=3 | record a.1
         durable          | accepted a.1; record a.1 ended
         durable          | answer a.1 broken: Session version mismatch: expected 3, got 0 v0",
    );
}

#[test]
fn expected_version_of_no_session_fails() {
    check("a.1 get_state s1 if=0 | accepted a.1; answer a.1 broken: Session s1 not found for ifSessionVersion=0");
}

#[test]
fn version_is_compared_when_the_turn_comes() {
    check(
        "given s1
         a.1 fork s1 if=0 | record a.1
         a.2 fork s1 if=1 | record a.2
         a.3 fork s1 if=1 | record a.3
         durable          | accepted a.1; accepted a.2; accepted a.3; start a.1
         done a.1         | record a.1 ended s1=1; start a.2
         done a.2         | record a.2 ended s1=2; record a.3 ended
         durable          | answer a.1 ok v1; answer a.2 ok v2;
                          | answer a.3 broken: Session version mismatch: expected 1, got 2 v2",
    );
}

#[test]
fn expected_version_means_nothing_to_the_server() {
    check("a.1 list if=4 | accepted a.1; start a.1");
}

#[test]
fn server_command_about_a_session_is_held_to_its_version() {
    check(
        "given s1
         a.1 delete about=s1 if=4 | record a.1
         durable                  | accepted a.1; record a.1 ended
         durable                  | answer a.1 broken: Session version mismatch: expected 4, got 0 v0
         a.2 list about=s1        | accepted a.2; start a.2
         done a.2                 | answer a.2 ok v0",
    );
}

#[test]
fn session_that_is_found_begins_at_zero_and_one_that_expires_ends() {
    check(
        "opened s1     | record s1=0
         opened s1
         a.1 export s1 | accepted a.1; start a.1
         a.2 export s1 | accepted a.2
         closed s1     | answer a.2 broken: Session s1 not found; cancel a.1
         version s1    | none",
    );
}

#[test]
fn work_of_a_session_that_is_gone_does_not_move_its_namesake() {
    check(
        "given s1
         a.1 prompt s1       | record a.1
         durable             | accepted a.1; start a.1
         closed s1           | record s1 gone; cancel a.1
         opened s1
         done a.1            | record a.1 ended
         version s1          | 0",
    );
}

#[test]
fn changes_that_follow_faster_than_the_journal_share_a_record() {
    check(
        "given s1
         changed s1 | record s1=1
         changed s1
         changed s1
         durable    | record s1=3
         durable
         changed s1 | record s1=4",
    );
}
