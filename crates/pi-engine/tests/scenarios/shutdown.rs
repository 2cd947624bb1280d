//! Draining: nothing new, what is there may end, the rest is ended.

use crate::script::check;

#[test]
fn idle_engine_is_drained_at_once() {
    check(
        "shutdown 10s | drained
         a.1 list     | refuse a.1: Server has completed shutdown",
    );
}

#[test]
fn everything_new_is_refused_replays_included() {
    check(
        "a.1 get_state s1 | accepted a.1; start a.1
         done a.1         | answer a.1 ok
         a.2 get_state s1 | accepted a.2; start a.2
         shutdown 10s
         a.1 get_state s1 | refuse a.1: Server is shutting down
         a.3 get_state s1 | refuse a.3: Server is shutting down
         done a.2         | answer a.2 ok; drained
         a.1 get_state s1 | refuse a.1: Server has completed shutdown",
    );
}

#[test]
fn run_that_is_waited_for_can_be_answered_and_stopped() {
    check(
        "given s1
         a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         shutdown 10s
         a.2 fork s1   | refuse a.2: Server is shutting down
         b.1 abort s1  | record b.1
         durable       | accepted b.1; start b.1
         done b.1      | record b.1 ended s1=1
         done a.1      | record a.1 ended s1=2
         durable       | answer b.1 ok v1; answer a.1 ok v2; drained",
    );
}

#[test]
fn nothing_is_let_in_once_what_is_left_is_ended() {
    check(
        "given s1
         a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         shutdown 0s   | record a.1 ended s1=1; cancel a.1; kill a.1
         b.1 abort s1  | refuse b.1: Server is shutting down",
    );
}

#[test]
fn admitted_commands_may_end_and_start() {
    check(
        "a.1 fork s1   | record a.1
         a.2 export s1 | accepted a.2
         shutdown 10s
         durable       | accepted a.1; start a.1
         done a.1      | record a.1 ended; start a.2
         done a.2      | answer a.2 ok
         durable       | answer a.1 ok; drained",
    );
}

#[test]
fn deadline_ends_what_is_left() {
    check(
        "given s1
         a.1 prompt s1    | record a.1
         a.2 fork s1      | record a.2
         durable          | accepted a.1; accepted a.2; start a.1
         a.3 get_state s1 | accepted a.3; start a.3
         shutdown 10s
         deadline         | in 10000ms
         wait 10s         | record a.1 ended s1=1; record a.2 ended;
                          | answer a.3 broken: Command cancelled because server shutdown completed v1;
                          | cancel a.1; kill a.1; cancel a.3; kill a.3
         durable          | answer a.1 broken: Command cancelled because server shutdown completed v1;
                          | answer a.2 broken: Command cancelled because server shutdown completed v1
         done a.1
         done a.3         | drained
         version s1       | 1",
    );
}

#[test]
fn second_shutdown_does_not_wait() {
    check(
        "a.1 get_state s1 | accepted a.1; start a.1
         shutdown 10s
         shutdown 10s     | answer a.1 broken: Command cancelled because server shutdown completed; cancel a.1; kill a.1
         shutdown 10s
         done a.1         | drained",
    );
}

#[test]
fn dependents_are_told_of_the_shutdown_not_of_each_other() {
    check(
        "a.1 get_state s1      | accepted a.1; start a.1
         a.2 export s2 after=1 | accepted a.2
         shutdown 0s           | answer a.1 broken: Command cancelled because server shutdown completed;
                               | answer a.2 broken: Command cancelled because server shutdown completed; cancel a.1; kill a.1
         done a.1              | drained",
    );
}

#[test]
fn drained_waits_for_records_but_not_for_a_lost_journal() {
    check(
        "given s1
         changed s1   | record s1=1
         shutdown 10s
         journal lost | drained",
    );
}

#[test]
fn drained_waits_for_work_that_was_answered_but_runs() {
    check(
        "a.1 export s1 | accepted a.1; start a.1
         wait 60s      | cancel a.1; answer a.1 broken: Command 'export' timed out after 60000ms
         shutdown 1s
         wait 1s       | cancel a.1; kill a.1
         done a.1      | drained",
    );
}

#[test]
fn shutdown_outcome_is_known_after_the_next_start() {
    check(
        "a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         shutdown 0s   | record a.1 ended; cancel a.1; kill a.1
         done a.1
         durable       | answer a.1 broken: Command cancelled because server shutdown completed; drained
         crash
         a.1 prompt s1 | accepted a.1; replay a.1 broken: Command cancelled because server shutdown completed",
    );
}
