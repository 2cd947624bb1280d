//! §7.3: what runs when. Decision 3.

use crate::script::check;

#[test]
fn work_runs_one_at_a_time_in_the_order_of_admission() {
    check(
        "a.1 fork s1 | record a.1
         b.1 fork s1 | record b.1
         a.2 fork s1 | record a.2
         durable     | accepted a.1; accepted b.1; accepted a.2; start a.1
         done a.1    | record a.1 ended; start b.1
         done b.1    | record b.1 ended; start a.2",
    );
}

#[test]
fn lane_is_free_when_work_stops_not_when_its_end_is_durable() {
    check(
        "a.1 fork s1   | record a.1
         a.2 export s1 | accepted a.2
         durable       | accepted a.1; start a.1
         done a.1      | record a.1 ended; start a.2",
    );
}

#[test]
fn lanes_do_not_wait_for_each_other() {
    check(
        "a.1 fork s1 | record a.1
         a.2 fork s2 | record a.2
         a.3 create  | record a.3
         durable     | accepted a.1; accepted a.2; accepted a.3; start a.1; start a.2; start a.3",
    );
}

#[test]
fn nothing_starts_before_its_acceptance_is_durable() {
    check(
        "a.1 fork s1   | record a.1
         a.2 fork s1   | record a.2
         durable 1     | accepted a.1; start a.1
         done a.1      | record a.1 ended
         durable 1     | accepted a.2; start a.2",
    );
}

#[test]
fn write_then_read_on_an_idle_session_keep_their_order() {
    check(
        "given s1
         a.1 fork s1      | record a.1
         a.2 get_state s1 | accepted a.2
         durable          | accepted a.1; start a.1
         done a.1         | record a.1 ended s1=1; start a.2
         done a.2         | answer a.2 ok v1",
    );
}

#[test]
fn control_passes_a_run_that_is_in_flight() {
    check(
        "a.1 prompt s1    | record a.1
         durable          | accepted a.1; start a.1
         a.2 fork s1      | record a.2
         a.3 get_state s1 | accepted a.3; start a.3
         durable          | accepted a.2
         done a.3         | answer a.3 ok
         done a.1         | record a.1 ended; start a.2",
    );
}

#[test]
fn control_does_not_pass_a_run_that_has_not_started() {
    check(
        "a.1 prompt s1    | record a.1
         a.2 get_state s1 | accepted a.2
         durable          | accepted a.1; start a.1; start a.2",
    );
}

#[test]
fn control_does_not_pass_short_work() {
    check(
        "a.1 fork s1      | record a.1
         durable          | accepted a.1; start a.1
         a.2 get_state s1 | accepted a.2
         done a.1         | record a.1 ended; start a.2",
    );
}

#[test]
fn control_passes_short_work_that_waits_for_a_person() {
    check(
        "given s1
         a.1 fork s1      | record a.1
         durable          | accepted a.1; start a.1
         a.2 get_state s1 | accepted a.2
         a.3 export s1    | accepted a.3
         a.4 answer s1    | record a.4
         lingers a.1      | start a.2
         done a.2         | answer a.2 ok v0
         durable          | accepted a.4; start a.4
         done a.4         | record a.4 ended
         done a.1         | record a.1 ended s1=1; start a.3",
    );
}

#[test]
fn control_that_waits_for_a_person_holds_nobody() {
    check(
        "a.1 set_model s1 | record a.1
         durable          | accepted a.1; start a.1
         a.2 get_state s1 | accepted a.2
         a.3 export s1    | accepted a.3
         lingers a.1      | start a.2
         done a.2         | answer a.2 ok; start a.3
         done a.3         | answer a.3 ok
         done a.1         | record a.1 ended",
    );
}

#[test]
fn work_that_waits_for_a_person_lets_control_pass_what_waits_for_it() {
    check(
        "a.1 fork s1         | record a.1
         durable             | accepted a.1; start a.1
         a.2 fork s2 after=1 | record a.2
         durable             | accepted a.2
         a.3 get_state s2    | accepted a.3
         lingers a.1         | start a.3",
    );
}

#[test]
fn what_has_ended_does_not_linger() {
    check(
        "a.1 fork s1      | record a.1
         durable          | accepted a.1; start a.1
         done a.1         | record a.1 ended
         a.2 export s1    | accepted a.2; start a.2
         a.3 get_state s1 | accepted a.3
         lingers a.1
         done a.2         | answer a.2 ok; start a.3",
    );
}

#[test]
fn short_control_runs_one_at_a_time_and_holds_work() {
    check(
        "a.1 get_state s1 | accepted a.1; start a.1
         a.2 get_state s1 | accepted a.2
         a.3 export s1    | accepted a.3
         a.4 get_state s1 | accepted a.4
         done a.1         | answer a.1 ok; start a.2
         done a.2         | answer a.2 ok; start a.3
         done a.3         | answer a.3 ok; start a.4",
    );
}

#[test]
fn control_that_is_not_durable_holds_what_comes_after_it() {
    check(
        "a.1 set_model s1 | record a.1
         a.2 get_state s1 | accepted a.2
         a.3 export s1    | accepted a.3
         durable          | accepted a.1; start a.1
         done a.1         | record a.1 ended; start a.2
         done a.2         | answer a.2 ok; start a.3",
    );
}

#[test]
fn long_control_holds_nobody() {
    check(
        "a.1 slash s1     | record a.1
         durable          | accepted a.1; start a.1
         a.2 get_state s1 | accepted a.2; start a.2
         done a.2         | answer a.2 ok
         a.3 slash s1     | record a.3
         a.4 fork s1      | record a.4
         durable          | accepted a.3; accepted a.4; start a.3; start a.4",
    );
}

#[test]
fn bash_is_long_work_like_a_run() {
    check(
        "a.1 bash s1      | record a.1
         durable          | accepted a.1; start a.1
         a.2 abort s1     | record a.2
         durable          | accepted a.2; start a.2
         a.3 prompt s1    | record a.3
         durable          | accepted a.3
         done a.1         | record a.1 ended
         done a.2         | record a.2 ended; start a.3",
    );
}

#[test]
fn server_read_does_not_wait_for_a_slow_session() {
    check(
        "a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         a.2 list      | accepted a.2; start a.2",
    );
}

#[test]
fn taken_turn_holds_work_and_lets_control_pass() {
    check(
        "turn s1
         a.1 export s1    | accepted a.1
         a.2 get_state s1 | accepted a.2; start a.2
         done a.2         | answer a.2 ok
         turn s1 over     | start a.1
         load             | in flight 1; running 1; lanes 1; reads 1; read bytes 514; ids 2; deadlines 1",
    );
}

#[test]
fn turn_can_be_taken_beside_a_run() {
    check(
        "a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         turn s1
         a.2 export s1 | accepted a.2
         done a.1      | record a.1 ended
         turn s1 over  | start a.2",
    );
}

#[test]
fn control_passes_work_that_waits_for_a_run_elsewhere() {
    check(
        "a.1 prompt s2         | record a.1
         durable               | accepted a.1; start a.1
         a.2 export s1 after=1 | accepted a.2
         a.3 get_state s1      | accepted a.3; start a.3
         done a.3              | answer a.3 ok
         done a.1              | record a.1 ended
         durable               | answer a.1 ok; start a.2",
    );
}

#[test]
fn control_passes_work_that_waits_for_work_behind_a_run() {
    check(
        "a.1 prompt s2         | record a.1
         a.2 export s2         | accepted a.2
         durable               | accepted a.1; start a.1
         a.3 export s1 after=2 | accepted a.3
         a.4 get_state s1      | accepted a.4; start a.4",
    );
}

#[test]
fn control_does_not_pass_work_that_waits_for_something_short() {
    check(
        "a.1 fork s2           | record a.1
         durable               | accepted a.1; start a.1
         a.2 export s1 after=1 | accepted a.2
         a.3 get_state s1      | accepted a.3
         done a.1              | record a.1 ended
         durable               | answer a.1 ok; start a.2
         done a.2              | answer a.2 ok; start a.3",
    );
}

#[test]
fn turn_taken_elsewhere_lets_control_pass_what_waits_for_it() {
    check(
        "a.1 get_state s2      | accepted a.1; start a.1
         a.2 export s2         | accepted a.2
         a.3 export s1 after=2 | accepted a.3
         a.4 get_state s1      | accepted a.4
         turn s2               | start a.4",
    );
}
