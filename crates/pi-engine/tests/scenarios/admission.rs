//! §7.1, §7.2, §7.4: who is admitted, and which events follow. Decision 5.

use crate::script::check;

#[test]
fn mutating_command_is_accepted_started_and_answered_only_when_durable() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended s1=1
         durable     | answer a.1 ok v1",
    );
}

#[test]
fn read_needs_no_journal() {
    check(
        "given s1
         a.1 get_state s1 | accepted a.1; start a.1
         done a.1         | answer a.1 ok v0",
    );
}

#[test]
fn command_without_id_is_announced_like_any_other() {
    check(
        "a.- create                    | record a.-
         durable                       | accepted a.-; start a.-
         done a.- created s1           | record a.- ended s1=0
         durable                       | answer a.- ok v0; forget a.-",
    );
}

#[test]
fn command_that_fails_before_it_begins_is_never_started() {
    check(
        "a.1 fork s1 after=9 | record a.1; record a.1 ended
         durable 1           | accepted a.1
         durable             | answer a.1 broken: Dependency '9' is unknown",
    );
}

#[test]
fn full_engine_refuses_without_any_event() {
    check(
        "limits max_in_flight=2
         a.1 fork s1      | record a.1
         b.1 fork s2      | record b.1
         b.2 fork s2      | refuse b.2: Server busy - too many concurrent commands. Please retry.
         durable          | accepted a.1; accepted b.1; start a.1; start b.1
         done a.1         | record a.1 ended
         durable          | answer a.1 ok
         b.2 fork s2      | record b.2",
    );
}

#[test]
fn full_engine_lets_everybody_look_and_stop_what_runs() {
    check(
        "limits max_in_flight=1
         a.1 prompt s1    | record a.1
         durable          | accepted a.1; start a.1
         a.2 fork s2      | refuse a.2: Server busy - too many concurrent commands. Please retry.
         b.1 get_state s1 | accepted b.1; start b.1
         b.2 get_state s1 | refuse b.2: Server busy - too many concurrent commands. Please retry.
         b.3 abort s1     | record b.3
         b.4 abort s1     | refuse b.4: Server busy - too many concurrent commands. Please retry.",
    );
}

#[test]
fn one_client_cannot_fill_the_engine() {
    check(
        "limits max_pending=1
         a.1 fork s1      | record a.1
         a.2 fork s2      | refuse a.2: Too many pending commands for this client (max 1)
         b.1 get_state s2 | accepted b.1; start b.1
         durable          | accepted a.1; start a.1
         done a.1         | record a.1 ended
         durable          | answer a.1 ok
         a.2 fork s3      | record a.2",
    );
}

#[test]
fn client_that_sent_much_can_still_look_and_stop() {
    check(
        "limits max_pending=1
         a.1 bash s1      | record a.1
         durable          | accepted a.1; start a.1
         a.2 fork s1      | refuse a.2: Too many pending commands for this client (max 1)
         a.3 get_state s1 | accepted a.3; start a.3
         a.4 get_state s2 | refuse a.4: Too many pending commands for this client (max 1)
         a.5 abort s1     | record a.5",
    );
}

#[test]
fn repetition_that_has_to_wait_counts_as_pending() {
    check(
        "limits max_pending=2
         a.1 get_state s1 | accepted a.1; start a.1
         a.1 get_state s1 | accepted a.1
         a.1 get_state s1 | refuse a.1: Too many pending commands for this client (max 2)
         done a.1         | answer a.1 ok; replay a.1 ok",
    );
}

#[test]
fn repetition_of_what_is_answered_is_never_refused_as_busy() {
    check(
        "limits max_in_flight=1
         a.1 get_state s1       | accepted a.1; start a.1
         done a.1               | answer a.1 ok
         b.1 get_state s1 key=k | accepted b.1; start b.1
         a.1 get_state s1       | accepted a.1; replay a.1 ok
         a.2 get_state s1       | refuse a.2: Server busy - too many concurrent commands. Please retry.",
    );
}

#[test]
fn refused_command_leaves_nothing_behind() {
    check(
        "limits max_in_flight=1
         a.1 fork s1       | record a.1
         a.2 fork s1 key=k | refuse a.2: Server busy - too many concurrent commands. Please retry.
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended
         durable           | answer a.1 ok
         a.2 bash s1 key=k | record a.2",
    );
}

#[test]
fn answered_commands_make_room_for_their_client() {
    check(
        "limits max_pending=1
         a.1 get_state s1      | accepted a.1; start a.1
         done a.1              | answer a.1 ok
         a.2 fork s1           | record a.2
         durable               | accepted a.2; start a.2
         done a.2              | record a.2 ended
         a.3 fork s1           | refuse a.3: Too many pending commands for this client (max 1)
         durable               | answer a.2 ok
         a.3 export s1 after=9 | accepted a.3; answer a.3 broken: Dependency '9' is unknown
         a.4 get_state s1      | accepted a.4; start a.4",
    );
}
