//! When the journal cannot be written: nothing that was acknowledged is lost silently, nothing new is promised. Seam 5.

use crate::script::check;

#[test]
fn new_writes_are_refused_and_reads_go_on() {
    check(
        "journal lost
         a.1 fork s1      | refuse a.1: Durable journal is not available
         a.2 get_state s1 | accepted a.2; start a.2
         done a.2         | answer a.2 ok
         journal back
         a.1 fork s1      | record a.1",
    );
}

#[test]
fn what_a_run_needs_passes_without_a_record() {
    check(
        "given s1
         a.1 prompt s1       | record a.1
         durable             | accepted a.1; start a.1
         journal lost
         a.2 abort s1        | accepted a.2; start a.2
         done a.2            | answer a.2 ok v0
         a.3 answer s1 key=k | accepted a.3; start a.3
         done a.3            | answer a.3 ok v0
         a.2 abort s1        | accepted a.2; replay a.2 ok v0
         journal back
         a.2 abort s1        | accepted a.2; replay a.2 ok v0
         b.1 answer s1 key=k | accepted b.1; replay b.1 ok v0
         done a.1            | record a.1 ended s1=1
         durable             | answer a.1 ok v1
         crash
         a.2 abort s1        | record a.2",
    );
}

#[test]
fn what_a_run_needs_goes_on_when_the_journal_is_lost_under_it() {
    check(
        "given s1
         a.1 prompt s1 | record a.1
         durable       | accepted a.1; start a.1
         a.2 abort s1  | record a.2
         journal lost  | accepted a.2; start a.2
         load          | in flight 2; running 2; lanes 1; reserved bytes 16384; ids 2; deadlines 1; versions 1
         done a.2      | answer a.2 ok v0
         journal back",
    );
}

#[test]
fn what_a_run_needs_and_was_accepted_is_done_and_told_as_unrecorded() {
    check(
        "given s1
         a.1 get_state s1 | accepted a.1; start a.1
         a.2 abort s1     | record a.2
         durable          | accepted a.2
         journal lost
         done a.1         | answer a.1 ok v0; start a.2
         done a.2         | answer a.2 broken: Durable journal append failed for command 'abort': full v1
         journal back     | record a.2 ended s1=1",
    );
}

#[test]
fn what_was_not_accepted_is_refused_and_its_names_are_free() {
    check(
        "a.1 fork s1 key=k | record a.1
         journal lost      | refuse a.1: Durable journal is not available
         load              |
         journal back
         a.1 bash s1 key=k | record a.1",
    );
}

#[test]
fn repetition_of_what_is_refused_was_accepted_and_gets_an_end() {
    check(
        "given s1
         a.1 fork s1  | record a.1
         a.1 fork s1  | accepted a.1
         journal lost | refuse a.1: Durable journal is not available;
                      | replay a.1 broken: Durable journal append failed for command 'fork': full v0",
    );
}

#[test]
fn read_that_depends_on_what_is_refused_fails() {
    check(
        "a.1 fork s1           | record a.1
         a.2 export s2 after=1 | accepted a.2
         journal lost          | refuse a.1: Durable journal is not available;
                               | answer a.2 broken: Dependency '1' failed: Durable journal is not available",
    );
}

#[test]
fn another_name_that_is_not_durable_is_refused() {
    check(
        "a.1 prompt s1 key=k | record a.1
         durable             | accepted a.1; start a.1
         b.1 prompt s1 key=k | record b.1 as a.1
         journal lost        | refuse b.1: Durable journal is not available
         load                | in flight 1; running 1; lanes 1; reserved bytes 16384; ids 1; keys 1
         b.2 prompt s1 key=k | refuse b.2: Durable journal is not available
         b.- prompt s1 key=k | accepted b.-
         done a.1            | answer a.1 broken: Durable journal append failed for command 'prompt': full;
                             | replay b.- broken: Durable journal append failed for command 'prompt': full",
    );
}

#[test]
fn accepted_writes_that_wait_end_unrecorded() {
    check(
        "given s1
         a.1 prompt s1 | record a.1
         a.2 fork s1   | record a.2
         durable       | accepted a.1; accepted a.2; start a.1
         journal lost  | answer a.2 broken: Durable journal append failed for command 'fork': full v0
         a.2 fork s1   | accepted a.2; replay a.2 broken: Durable journal append failed for command 'fork': full v0
         journal back  | record a.2 ended
         durable
         crash         | record a.1 ended s1=1
         a.2 fork s1   | accepted a.2; replay a.2 broken: Durable journal append failed for command 'fork': full v0",
    );
}

#[test]
fn end_that_was_not_durable_is_told_as_unrecorded_with_the_version_it_made() {
    check(
        "given s1
         a.1 fork s1  | record a.1
         durable      | accepted a.1; start a.1
         done a.1     | record a.1 ended s1=1
         journal lost | answer a.1 broken: Durable journal append failed for command 'fork': full v1
         journal back | record a.1 ended s1=1
         durable
         crash
         version s1   | 1
         a.1 fork s1  | accepted a.1; replay a.1 broken: Durable journal append failed for command 'fork': full v1",
    );
}

#[test]
fn what_the_engine_ended_itself_keeps_its_reason() {
    check(
        "a.1 fork s1 after=9 | record a.1; record a.1 ended
         durable 1           | accepted a.1
         journal lost        | answer a.1 broken: Dependency '9' is unknown
         journal back        | record a.1 ended",
    );
}

#[test]
fn running_writes_go_on_and_are_answered_as_unrecorded() {
    check(
        "given s1
         a.1 fork s1  | record a.1
         durable      | accepted a.1; start a.1
         journal lost
         done a.1     | answer a.1 broken: Durable journal append failed for command 'fork': full v1
         journal back | record a.1 ended s1=1",
    );
}

#[test]
fn timeout_while_the_journal_is_lost_is_told_at_once() {
    check(
        "a.1 fork s1  | record a.1
         durable      | accepted a.1; start a.1
         journal lost
         wait 60s     | cancel a.1; answer a.1 broken: Command 'fork' timed out after 60000ms
         journal back | record a.1 ended
         done a.1",
    );
}

#[test]
fn versions_that_moved_without_a_record_are_recorded_later() {
    check(
        "given s1
         changed s1   | record s1=1
         journal lost
         changed s1
         journal back | record s1=2
         durable
         crash
         version s1   | 2",
    );
}

#[test]
fn debts_survive_a_second_loss() {
    check(
        "a.1 fork s1  | record a.1
         durable      | accepted a.1; start a.1
         journal lost
         done a.1     | answer a.1 broken: Durable journal append failed for command 'fork': full
         journal back | record a.1 ended
         journal lost
         journal back | record a.1 ended
         durable
         journal lost
         journal back",
    );
}

#[test]
fn late_record_bears_the_time_of_the_end() {
    check(
        "limits keep=10s keep_count=0
         a.1 fork s1  | record a.1
         durable      | accepted a.1; start a.1
         journal lost
         done a.1     | answer a.1 broken: Durable journal append failed for command 'fork': full
         wait 9s
         journal back | record a.1 ended
         durable
         wait 1s      | forget a.1
         crash        | forget a.1",
    );
}
