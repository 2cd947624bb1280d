//! §8: ids, keys and fingerprints. Decisions 2, 5 and 7.

use crate::script::check;

#[test]
fn same_id_and_intent_is_replayed() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended s1=1
         durable     | answer a.1 ok v1
         a.1 fork s1 | accepted a.1; replay a.1 ok v1",
    );
}

#[test]
fn failure_is_replayed_as_well() {
    check(
        "a.1 fork s1     | record a.1
         durable         | accepted a.1; start a.1
         done a.1 failed | record a.1 ended
         durable         | answer a.1 failed: no luck
         a.1 fork s1     | accepted a.1; replay a.1 failed: no luck",
    );
}

#[test]
fn same_id_with_another_intent_is_refused() {
    check(
        "a.1 fork s1       | record a.1
         a.1 fork s1 say=x | refuse a.1: Conflicting id '1': previously used for another 'fork', with other contents
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended
         durable           | answer a.1 ok
         a.1 bash s1       | refuse a.1: Conflicting id '1': previously used for 'fork', now used for 'bash'",
    );
}

#[test]
fn dependencies_and_expected_version_do_not_belong_to_the_intent() {
    check(
        "a.1 get_state s1            | accepted a.1; start a.1
         done a.1                    | answer a.1 ok
         a.1 get_state s1 after=7 if=3 | accepted a.1; replay a.1 ok",
    );
}

#[test]
fn ids_belong_to_a_client() {
    check(
        "a.1 get_state s1 | accepted a.1; start a.1
         b.1 get_state s2 | accepted b.1; start b.1",
    );
}

#[test]
fn repetition_of_what_is_in_flight_shares_its_answer() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         a.1 fork s1 | accepted a.1
         durable     | accepted a.1; start a.1
         a.1 fork s1 | accepted a.1
         done a.1    | record a.1 ended s1=1
         a.1 fork s1 | accepted a.1
         durable     | answer a.1 ok v1; replay a.1 ok v1; replay a.1 ok v1; replay a.1 ok v1",
    );
}

#[test]
fn same_key_and_intent_is_replayed_across_clients_without_an_id_of_the_first() {
    check(
        "given s1
         a.1 fork s1 key=k | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1
         b.- fork s1 key=k | accepted b.-; replay b.- ok v1",
    );
}

#[test]
fn new_id_under_a_known_key_is_recorded_as_another_name() {
    check(
        "given s1
         a.1 fork s1 key=k | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1
         b.7 fork s1 key=k | record b.7 as a.1
         durable           | accepted b.7; replay b.7 ok v1
         b.7 fork s1       | accepted b.7; replay b.7 ok v1
         b.7 bash s1       | refuse b.7: Conflicting id '7': previously used for 'fork', now used for 'bash'",
    );
}

#[test]
fn key_that_comes_with_a_known_id_is_recorded_as_another_name() {
    check(
        "given s1
         a.1 fork s1             | record a.1
         durable                 | accepted a.1; start a.1
         done a.1                | record a.1 ended s1=1
         durable                 | answer a.1 ok v1
         a.1 fork s1 key=k       | record a.- as a.1
         durable                 | accepted a.1; replay a.1 ok v1
         b.- fork s1 key=k       | accepted b.-; replay b.- ok v1
         b.2 fork s1 key=k say=x | refuse b.2: Conflicting idempotencyKey 'k': previously used for another 'fork', with other contents
         a.1 fork s1 key=k       | accepted a.1; replay a.1 ok v1
         crash
         b.- fork s1 key=k       | accepted b.-; replay b.- ok v1
         a.1 fork s1             | accepted a.1; replay a.1 ok v1",
    );
}

#[test]
fn key_that_comes_while_its_command_is_in_flight_stands_for_it() {
    check(
        "given s1
         a.1 fork s1       | record a.1
         a.1 fork s1 key=k | record a.- as a.1
         durable           | accepted a.1; accepted a.1; start a.1
         b.- fork s1 key=k | accepted b.-
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1; replay a.1 ok v1; replay b.- ok v1",
    );
}

#[test]
fn key_of_a_read_that_comes_with_its_id_needs_no_record() {
    check(
        "given s1
         a.1 get_state s1             | accepted a.1; start a.1
         done a.1                     | answer a.1 ok v0
         a.1 get_state s1 key=k       | accepted a.1; replay a.1 ok v0
         b.- get_state s1 key=k       | accepted b.-; replay b.- ok v0
         b.2 get_state s1 key=k say=x | refuse b.2: Conflicting idempotencyKey 'k': previously used for another 'get_state', with other contents",
    );
}

#[test]
fn another_name_of_what_is_in_flight_waits_for_both_records() {
    check(
        "a.1 fork s1 key=k | record a.1
         b.7 fork s1 key=k | record b.7 as a.1
         durable 1         | accepted a.1; start a.1
         done a.1          | record a.1 ended
         durable 1         | accepted b.7
         durable           | answer a.1 ok; replay b.7 ok",
    );
}

#[test]
fn another_name_is_not_answered_before_it_is_durable() {
    check(
        "a.1 fork s1 key=k | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended
         b.7 fork s1 key=k | record b.7 as a.1
         durable 1         | answer a.1 ok
         durable           | accepted b.7; replay b.7 ok",
    );
}

#[test]
fn another_name_of_a_read_needs_no_record() {
    check(
        "a.1 get_state s1 key=k | accepted a.1; start a.1
         b.7 get_state s1 key=k | accepted b.7
         done a.1               | answer a.1 ok; replay b.7 ok
         b.7 get_state s1       | accepted b.7; replay b.7 ok",
    );
}

#[test]
fn same_key_with_another_intent_is_refused() {
    check(
        "a.1 fork s1 key=k       | record a.1
         b.1 fork s1 key=k say=x | refuse b.1: Conflicting idempotencyKey 'k': previously used for another 'fork', with other contents",
    );
}

#[test]
fn keys_belong_to_a_session_or_to_the_server() {
    check(
        "a.1 get_state s1 key=k | accepted a.1; start a.1
         a.2 list key=k         | accepted a.2; start a.2
         a.3 get_state s2 key=k | accepted a.3; start a.3",
    );
}

#[test]
fn key_of_another_intent_conflicts_even_if_the_id_matches() {
    check(
        "given s1
         a.1 get_state s1 key=k       | accepted a.1; start a.1
         a.2 get_state s1 key=l say=x | accepted a.2
         done a.1                     | answer a.1 ok v0; start a.2
         done a.2                     | answer a.2 ok v0
         a.1 get_state s1 key=l       | refuse a.1: Conflicting idempotencyKey 'l': previously used for another 'get_state', with other contents
         a.1 get_state s1 key=m       | accepted a.1; replay a.1 ok v0",
    );
}

#[test]
fn expired_key_lets_the_command_run_and_belongs_to_it() {
    check(
        "limits key=10s
         given s1
         a.1 fork s1 key=k       | record a.1
         durable                 | accepted a.1; start a.1
         done a.1                | record a.1 ended s1=1
         durable                 | answer a.1 ok v1
         wait 9999ms
         b.- fork s1 key=k       | accepted b.-; replay b.- ok v1
         wait 1ms
         b.2 fork s1 key=k say=x | record b.2
         b.3 fork s1 key=k       | refuse b.3: Conflicting idempotencyKey 'k': previously used for another 'fork', with other contents
         a.1 fork s1             | accepted a.1; replay a.1 ok v1",
    );
}

#[test]
fn key_of_a_command_in_flight_does_not_expire() {
    check(
        "limits key=1s
         a.1 prompt s1 key=k | record a.1
         durable             | accepted a.1; start a.1
         wait 60s
         b.- prompt s1 key=k | accepted b.-",
    );
}

#[test]
fn replayed_command_depends_on_nothing_and_expects_nothing() {
    check(
        "given s1
         a.1 fork s1              | record a.1
         durable                  | accepted a.1; start a.1
         done a.1                 | record a.1 ended s1=1
         durable                  | answer a.1 ok v1
         a.1 fork s1 after=1 if=9 | accepted a.1; replay a.1 ok v1",
    );
}
