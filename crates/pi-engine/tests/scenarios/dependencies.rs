//! §9: `dependsOn`. Decision 4.

use crate::script::check;

#[test]
fn dependency_that_succeeded_is_satisfied() {
    check(
        "a.1 fork s1         | record a.1
         durable             | accepted a.1; start a.1
         done a.1            | record a.1 ended
         durable             | answer a.1 ok
         a.2 fork s2 after=1 | record a.2
         durable             | accepted a.2; start a.2",
    );
}

#[test]
fn dependency_that_failed_fails_the_command_at_once() {
    check(
        "a.1 get_state s1      | accepted a.1; start a.1
         done a.1 failed       | answer a.1 failed: no luck
         a.2 export s2 after=1 | accepted a.2; answer a.2 broken: Dependency '1' failed: no luck",
    );
}

#[test]
fn unknown_dependency_fails_the_command_and_ids_of_others_are_unknown() {
    check(
        "b.1 get_state s1      | accepted b.1; start b.1
         a.2 export s2 after=1 | accepted a.2; answer a.2 broken: Dependency '1' is unknown",
    );
}

#[test]
fn command_cannot_depend_on_itself() {
    check("a.1 export s1 after=1 | accepted a.1; answer a.1 broken: Command '1' cannot depend on itself");
}

#[test]
fn first_failure_in_the_list_is_told() {
    check(
        "a.1 get_state s1            | accepted a.1; start a.1
         a.2 export s2 after=1,8,2,9 | accepted a.2; answer a.2 broken: Dependency '8' is unknown",
    );
}

#[test]
fn dependency_across_lanes_is_awaited_until_its_end_is_durable() {
    check(
        "a.1 fork s1           | record a.1
         durable               | accepted a.1; start a.1
         a.2 export s2 after=1 | accepted a.2
         done a.1              | record a.1 ended
         durable               | answer a.1 ok; start a.2",
    );
}

#[test]
fn repeated_dependencies_count_once_and_all_must_end() {
    check(
        "a.1 get_state s1          | accepted a.1; start a.1
         a.2 get_state s2          | accepted a.2; start a.2
         a.3 export s3 after=1,2,1 | accepted a.3
         done a.1                  | answer a.1 ok
         done a.2                  | answer a.2 ok; start a.3",
    );
}

#[test]
fn dependency_in_the_same_lane_simply_comes_first() {
    check(
        "a.1 prompt s1         | record a.1
         a.2 export s1 after=1 | accepted a.2
         durable               | accepted a.1; start a.1
         done a.1              | record a.1 ended
         durable               | answer a.1 ok; start a.2",
    );
}

#[test]
fn failing_dependency_ends_a_command_wherever_it_waits() {
    check(
        "a.1 get_state s1      | accepted a.1; start a.1
         a.2 export s2         | accepted a.2; start a.2
         a.3 export s2         | accepted a.3
         a.4 export s2 after=1 | accepted a.4
         done a.1 failed       | answer a.1 failed: no luck; answer a.4 broken: Dependency '1' failed: no luck
         done a.2              | answer a.2 ok; start a.3",
    );
}

#[test]
fn failure_goes_on_to_dependents_of_dependents() {
    check(
        "a.1 get_state s1      | accepted a.1; start a.1
         a.2 export s2 after=1 | accepted a.2
         a.3 export s3 after=2 | accepted a.3
         done a.1 failed       | answer a.1 failed: no luck; answer a.2 broken: Dependency '1' failed: no luck;
                               | answer a.3 broken: Dependency '2' failed: Dependency '1' failed: no luck",
    );
}

#[test]
fn depending_on_a_repetition_is_depending_on_the_original() {
    check(
        "a.1 fork s1 key=k     | record a.1
         b.1 fork s1 key=k     | record b.1 as a.1
         b.2 export s2 after=1 | accepted b.2
         durable               | accepted a.1; accepted b.1; start a.1
         done a.1              | record a.1 ended
         durable               | answer a.1 ok; replay b.1 ok; start b.2",
    );
}

#[test]
fn waiting_control_never_holds_the_others() {
    check(
        "a.1 prompt s2            | record a.1
         durable                  | accepted a.1; start a.1
         a.2 get_state s1 after=1 | accepted a.2
         a.3 get_state s1         | accepted a.3; start a.3
         a.4 export s1            | accepted a.4
         done a.3                 | answer a.3 ok; start a.4
         done a.4                 | answer a.4 ok
         done a.1                 | record a.1 ended
         durable                  | answer a.1 ok; start a.2",
    );
}

#[test]
fn control_takes_its_old_place_when_its_dependency_ends() {
    check(
        "a.1 get_state s2         | accepted a.1; start a.1
         a.2 get_state s1 after=1 | accepted a.2
         a.3 export s1            | accepted a.3; start a.3
         a.4 get_state s1         | accepted a.4
         done a.1                 | answer a.1 ok
         done a.3                 | answer a.3 ok; start a.2
         done a.2                 | answer a.2 ok; start a.4",
    );
}

#[test]
fn waiting_for_a_dependency_ends_after_its_limit() {
    check(
        "a.1 fork s1           | record a.1
         a.2 export s2 after=1 | accepted a.2
         deadline              | in 30000ms
         wait 29999ms
         wait 1ms              | answer a.2 broken: Command 'dependsOn:1' timed out after 30000ms",
    );
}

#[test]
fn clock_of_work_starts_when_only_the_dependency_keeps_it() {
    check(
        "a.1 slash s2          | record a.1
         a.2 export s1         | accepted a.2; start a.2
         a.3 export s1 after=1 | accepted a.3
         wait 20s
         done a.2              | answer a.2 ok
         wait 29999ms
         wait 1ms              | answer a.3 broken: Command 'dependsOn:1' timed out after 30000ms",
    );
}

#[test]
fn clock_of_control_starts_at_admission() {
    check(
        "a.1 slash s2             | record a.1
         a.2 export s1            | accepted a.2; start a.2
         a.3 get_state s1 after=1 | accepted a.3
         wait 20s
         done a.2                 | answer a.2 ok
         wait 10s                 | answer a.3 broken: Command 'dependsOn:1' timed out after 30000ms",
    );
}

#[test]
fn run_is_awaited_without_limit() {
    check(
        "a.1 prompt s1         | record a.1
         durable               | accepted a.1; start a.1
         a.2 export s2 after=1 | accepted a.2
         wait 3600s
         done a.1              | record a.1 ended
         durable               | answer a.1 ok; start a.2",
    );
}

#[test]
fn work_behind_a_run_is_awaited_without_limit_until_the_run_is_over() {
    check(
        "a.1 prompt s1         | record a.1
         a.2 fork s1           | record a.2
         durable               | accepted a.1; accepted a.2; start a.1
         a.3 export s2 after=2 | accepted a.3
         wait 3600s
         done a.1              | record a.1 ended; start a.2
         wait 29s
         wait 1s               | answer a.3 broken: Command 'dependsOn:2' timed out after 30000ms",
    );
}

#[test]
fn first_open_dependency_is_named_when_time_is_up() {
    check(
        "a.1 get_state s1        | accepted a.1; start a.1
         a.2 slash s2            | record a.2
         a.3 slash s3            | record a.3
         a.4 export s4 after=1,2,3 | accepted a.4
         done a.1                | answer a.1 ok
         wait 30s                | answer a.4 broken: Command 'dependsOn:2' timed out after 30000ms",
    );
}

#[test]
fn abort_that_waits_for_its_run_fails_fast() {
    check(
        "a.1 prompt s1        | record a.1
         durable              | accepted a.1; start a.1
         a.2 abort s1 after=1 | record a.2; record a.2 ended
         durable              | accepted a.2;
                              | answer a.2 broken: Dependency '1' is queued in the same lane and cannot be awaited from this command",
    );
}

#[test]
fn abort_that_waits_for_work_behind_its_run_fails_fast() {
    check(
        "a.1 prompt s1          | record a.1
         a.2 fork s1            | record a.2
         a.3 export s2 after=2  | accepted a.3
         a.4 abort s1 after=3   | record a.4; record a.4 ended
         durable                | accepted a.1; accepted a.2; accepted a.4;
                                | answer a.4 broken: Dependency '3' is queued in the same lane and cannot be awaited from this command;
                                | start a.1",
    );
}

#[test]
fn abort_that_waits_for_work_behind_a_taken_turn_fails_fast() {
    check(
        "turn s1
         a.1 export s1        | accepted a.1
         a.2 abort s1 after=1 | record a.2; record a.2 ended
         durable              | accepted a.2;
                              | answer a.2 broken: Dependency '1' is queued in the same lane and cannot be awaited from this command",
    );
}

#[test]
fn abort_may_wait_for_a_run_elsewhere_and_for_short_work() {
    check(
        "a.1 prompt s2        | record a.1
         durable              | accepted a.1; start a.1
         a.2 abort s1 after=1 | record a.2
         a.3 fork s1          | record a.3
         a.4 abort s1 after=3 | record a.4
         durable              | accepted a.2; accepted a.3; accepted a.4; start a.3
         done a.3             | record a.3 ended
         durable              | answer a.3 ok; start a.4",
    );
}

#[test]
fn abort_that_waits_through_work_of_another_lane_fails_fast() {
    check(
        "a.1 prompt s1            | record a.1
         durable                  | accepted a.1; start a.1
         a.2 get_state s3 after=1 | accepted a.2
         a.3 export s2 after=2    | accepted a.3
         a.4 export s2            | accepted a.4
         a.5 abort s1 after=4     | record a.5; record a.5 ended
         durable                  | accepted a.5;
                                  | answer a.5 broken: Dependency '4' is queued in the same lane and cannot be awaited from this command",
    );
}

#[test]
fn control_passes_work_that_waits_for_a_run_through_others() {
    check(
        "a.1 prompt s1            | record a.1
         durable                  | accepted a.1; start a.1
         a.2 get_state s3 after=1 | accepted a.2
         a.3 export s2 after=2    | accepted a.3
         a.4 get_state s2         | accepted a.4; start a.4",
    );
}

#[test]
fn bystander_may_wait_for_the_run_beside_it() {
    check(
        "a.1 prompt s1            | record a.1
         durable                  | accepted a.1; start a.1
         a.2 get_state s1 after=1 | accepted a.2
         done a.1                 | record a.1 ended
         durable                  | answer a.1 ok; start a.2",
    );
}

#[test]
fn short_work_in_flight_is_not_behind_a_turn_that_is_taken_beside_it() {
    check(
        "a.1 fork s1              | record a.1
         durable                  | accepted a.1; start a.1
         turn s1
         a.2 get_state s2 after=1 | accepted a.2
         a.3 abort s1 after=1     | record a.3
         wait 30s                 | answer a.2 broken: Command 'dependsOn:1' timed out after 30000ms; record a.3 ended",
    );
}

#[test]
fn job_is_awaited_no_longer_than_anything_else_but_a_run_is() {
    check(
        "a.1 bash s1              | record a.1
         durable                  | accepted a.1; start a.1
         a.2 get_state s2 after=1 | accepted a.2
         wait 30s                 | answer a.2 broken: Command 'dependsOn:1' timed out after 30000ms
         b.1 prompt s3            | record b.1
         durable                  | accepted b.1; start b.1
         b.2 bash s3              | record b.2
         durable                  | accepted b.2
         b.3 get_state s2 after=2 | accepted b.3
         wait 60s",
    );
}
