//! What was acknowledged is durable, and nothing runs twice by itself.

use crate::script::check;

#[test]
fn outcome_and_version_are_known_after_a_restart() {
    check(
        "given s1
         a.1 fork s1 key=k | record a.1
         durable           | accepted a.1; start a.1
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1
         crash
         version s1        | 1
         a.1 fork s1       | accepted a.1; replay a.1 ok v1
         b.- fork s1 key=k | accepted b.-; replay b.- ok v1
         a.1 bash s1       | refuse a.1: Conflicting id '1': previously used for 'fork', now used for 'bash'
         a.2 fork s1 if=1  | record a.2
         durable           | accepted a.2; start a.2",
    );
}

#[test]
fn command_that_did_not_finish_is_failed_not_run_and_may_have_changed_its_session() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         crash       | record a.1 ended s1=1
         version s1  | 1
         durable
         a.1 fork s1 | accepted a.1; replay a.1 broken: Command did not finish before previous shutdown and was marked failed during recovery v1
         crash
         version s1  | 1
         a.1 fork s1 | accepted a.1; replay a.1 broken: Command did not finish before previous shutdown and was marked failed during recovery v1",
    );
}

#[test]
fn acceptance_that_was_written_but_not_reported_counts() {
    check(
        "a.1 fork s1 | record a.1
         crash 1     | record a.1 ended
         a.1 fork s1 | accepted a.1; replay a.1 broken: Command did not finish before previous shutdown and was marked failed during recovery",
    );
}

#[test]
fn acceptance_that_was_not_written_never_was() {
    check(
        "a.1 fork s1 | record a.1
         crash
         a.1 bash s1 | record a.1",
    );
}

#[test]
fn end_that_was_written_but_not_reported_counts() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended s1=1
         crash 1
         version s1  | 1
         a.1 fork s1 | accepted a.1; replay a.1 ok v1",
    );
}

#[test]
fn end_that_was_not_written_is_recovered() {
    check(
        "given s1
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended s1=1
         crash       | record a.1 ended s1=1
         version s1  | 1",
    );
}

#[test]
fn unfinished_commands_end_in_the_order_of_admission() {
    check(
        "given s1
         a.1 prompt s1 | record a.1
         a.2 fork s1   | record a.2
         a.3 create    | record a.3
         durable       | accepted a.1; accepted a.2; accepted a.3; start a.1; start a.3
         crash         | record a.1 ended s1=1; record a.2 ended s1=2; record a.3 ended
         durable
         load          | outcomes 3; outcome bytes 1536; ids 3; versions 1",
    );
}

#[test]
fn other_names_are_known_after_a_restart() {
    check(
        "given s1
         a.1 fork s1 key=k | record a.1
         b.1 fork s1 key=k | record b.1 as a.1
         durable           | accepted a.1; accepted b.1; start a.1
         done a.1          | record a.1 ended s1=1
         durable           | answer a.1 ok v1; replay b.1 ok v1
         c.1 fork s1 key=k | record c.1 as a.1
         durable           | accepted c.1; replay c.1 ok v1
         crash
         b.1 fork s1       | accepted b.1; replay b.1 ok v1
         c.1 fork s1       | accepted c.1; replay c.1 ok v1
         load              | outcomes 3; outcome bytes 1538; ids 3; keys 1; versions 1",
    );
}

#[test]
fn other_names_of_what_did_not_finish_are_recovered_with_it() {
    check(
        "a.1 fork s1 key=k | record a.1
         b.1 fork s1 key=k | record b.1 as a.1
         durable           | accepted a.1; accepted b.1; start a.1
         crash             | record a.1 ended
         b.1 fork s1       | accepted b.1; replay b.1 broken: Command did not finish before previous shutdown and was marked failed during recovery",
    );
}

#[test]
fn id_that_was_used_again_means_the_later_command_after_a_restart() {
    check(
        "limits keep=10s keep_count=0
         a.1 fork s1 key=k | record a.1
         b.1 fork s1 key=k | record b.1 as a.1
         durable           | accepted a.1; accepted b.1; start a.1
         done a.1          | record a.1 ended
         durable           | answer a.1 ok; replay b.1 ok
         wait 10s          | forget a.1; forget b.1
         b.1 bash s1       | record b.1
         durable           | accepted b.1; start b.1
         done b.1 failed   | record b.1 ended
         durable           | answer b.1 failed: no luck
         crash             | forget a.1; forget b.1
         b.1 bash s1       | accepted b.1; replay b.1 failed: no luck",
    );
}

#[test]
fn reads_are_not_known_after_a_restart() {
    check(
        "a.1 get_state s1      | accepted a.1; start a.1
         done a.1              | answer a.1 ok
         crash
         a.2 export s1 after=1 | accepted a.2; answer a.2 broken: Dependency '1' is unknown
         a.1 get_state s1      | accepted a.1; start a.1",
    );
}

#[test]
fn dependency_on_an_earlier_life_is_looked_up_in_what_was_kept() {
    check(
        "a.1 fork s1         | record a.1
         durable             | accepted a.1; start a.1
         done a.1            | record a.1 ended
         durable             | answer a.1 ok
         crash
         a.2 fork s1 after=1 | record a.2
         durable             | accepted a.2; start a.2",
    );
}

#[test]
fn removed_session_stays_removed() {
    check(
        "given s1
         a.1 delete          | record a.1
         durable             | accepted a.1; start a.1
         done a.1 removed s1 | record a.1 ended s1 gone
         durable             | answer a.1 ok
         crash
         version s1          | none",
    );
}

#[test]
fn age_of_what_is_kept_counts_across_a_restart() {
    check(
        "limits keep=10s keep_count=0
         a.1 fork s1 | record a.1
         durable     | accepted a.1; start a.1
         done a.1    | record a.1 ended
         durable     | answer a.1 ok
         wait 9s
         crash
         a.1 fork s1 | accepted a.1; replay a.1 ok
         wait 1s     | forget a.1
         a.1 fork s1 | record a.1",
    );
}
