//! §11: a timeout is an outcome like any other. Decision 9.

use crate::script::check;

#[test]
fn limit_counts_from_the_start_and_its_outcome_is_durable_before_it_is_told() {
    check(
        "given s1
         a.1 export s1 | accepted a.1; start a.1
         a.2 fork s1   | record a.2
         durable       | accepted a.2
         wait 40s
         done a.1      | answer a.1 ok v0; start a.2
         wait 59999ms
         wait 1ms      | cancel a.2; record a.2 ended
         durable       | answer a.2 broken: Command 'fork' timed out after 60000ms v0
         a.2 fork s1   | accepted a.2; replay a.2 broken: Command 'fork' timed out after 60000ms v0",
    );
}

#[test]
fn reads_and_control_have_thirty_seconds_and_jobs_five_minutes() {
    check(
        "a.1 get_state s1 | accepted a.1; start a.1
         a.2 bash s2      | record a.2
         durable          | accepted a.2; start a.2
         wait 29999ms
         wait 1ms         | cancel a.1; answer a.1 broken: Command 'get_state' timed out after 30000ms
         wait 5s          | kill a.1
         wait 264999ms
         wait 1ms         | cancel a.2; record a.2 ended",
    );
}

#[test]
fn runs_have_no_limit() {
    check(
        "a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         deadline      | none
         wait 86400s",
    );
}

#[test]
fn late_completion_changes_nothing_but_frees_the_lane() {
    check(
        "given s1
         a.1 fork s1         | record a.1
         durable             | accepted a.1; start a.1
         wait 60s            | cancel a.1; record a.1 ended
         durable             | answer a.1 broken: Command 'fork' timed out after 60000ms v0
         a.2 export s1       | accepted a.2
         done a.1 altered    | start a.2
         version s1          | 0
         a.1 fork s1         | accepted a.1; replay a.1 broken: Command 'fork' timed out after 60000ms v0",
    );
}

#[test]
fn completion_between_timeout_and_its_record_is_late_too() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         wait 60s    | cancel a.1; record a.1 ended
         done a.1
         durable     | answer a.1 broken: Command 'fork' timed out after 60000ms v0
         version s1  | 0",
    );
}

#[test]
fn work_that_does_not_stop_is_killed_and_holds_its_lane_until_it_has() {
    check(
        "a.1 export s1 | accepted a.1; start a.1
         a.2 export s1 | accepted a.2
         wait 60s      | cancel a.1; answer a.1 broken: Command 'export' timed out after 60000ms
         wait 4999ms
         wait 1ms      | kill a.1
         wait 60s
         done a.1      | start a.2",
    );
}

#[test]
fn work_that_stops_in_time_is_not_killed() {
    check(
        "a.1 export s1 | accepted a.1; start a.1
         wait 60s      | cancel a.1; answer a.1 broken: Command 'export' timed out after 60000ms
         done a.1
         deadline      | none
         wait 60s      |
         done a.1
         done a.9",
    );
}

#[test]
fn timeout_fails_dependents() {
    check(
        "a.1 export s1            | accepted a.1; start a.1
         a.2 get_state s2 after=1 | accepted a.2
         wait 30s                 | answer a.2 broken: Command 'dependsOn:1' timed out after 30000ms
         wait 20s
         a.3 get_state s2 after=1 | accepted a.3
         wait 10s                 | cancel a.1; answer a.1 broken: Command 'export' timed out after 60000ms;
                                  | answer a.3 broken: Dependency '1' failed: Command 'export' timed out after 60000ms",
    );
}

#[test]
fn completion_in_time_stops_the_clock() {
    check(
        "a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended
         deadline    | none
         wait 600s
         durable     | answer a.1 ok",
    );
}

#[test]
fn late_completion_still_says_which_sessions_exist() {
    check(
        "given s1
         a.1 create                | record a.1
         durable                   | accepted a.1; start a.1
         wait 60s                  | cancel a.1; record a.1 ended
         durable                   | answer a.1 broken: Command 'create' timed out after 60000ms
         done a.1 created s2       | record s2=0; belated a.1
         version s2                | 0
         a.2 delete about=s1       | record a.2
         durable                   | accepted a.2; start a.2
         wait 60s                  | cancel a.2; record a.2 ended
         durable                   | answer a.2 broken: Command 'delete' timed out after 60000ms v0
         done a.2 removed s1       | record s1 gone; belated a.2
         version s1                | none",
    );
}
