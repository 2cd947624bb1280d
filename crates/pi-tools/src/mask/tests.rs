//! What is hidden from a model and put back when it writes.

use pi_redact::{Evidence, Options, Personal};

use super::*;

fn redactor() -> Redactor {
    let secrets = ["alpha-secret-1", "beta-secret-22", "gamma-secret-333"].map(str::to_owned).to_vec();
    Redactor::new(Options { secrets, evidence: Evidence::Shapes, personal: Personal::Keep })
}

/// What is written where the file is `old` and a model, which was shown it with marks, wants `new`.
#[track_caller]
fn check(old: &str, new: &str, expected: Result<&str, usize>) {
    let redactor = redactor();
    let veiled = Veiled::of(&redactor, old).expect("something is hidden");
    let restored = veiled.restore(&new.replace("###", MARK), "f");
    match (restored, expected) {
        (Ok(restored), Ok(expected)) => assert_eq!(restored.text, expected.replace("###", MARK)),
        (Err(failure), Err(line)) => assert!(failure.text.contains(&format!("Line {line} ")), "{}", failure.text),
        (restored, expected) => panic!("{restored:?}, not {expected:?}"),
    }
}

#[test]
fn line_that_is_left_as_it_was_shown_keeps_its_secret() {
    let old = "a: 1\nkey: alpha-secret-1\nb: 2\n";
    check(old, "a: 1\nkey: ###\nb: 3\n", Ok("a: 1\nkey: alpha-secret-1\nb: 3\n"));
    check(old, "key: ###\nnew: 1\na: 1\n", Ok("key: alpha-secret-1\nnew: 1\na: 1\n"));
    check(old, "a: 1\nb: 2\n", Ok("a: 1\nb: 2\n"));
    check("key: alpha-secret-1", "x\nkey: ###\n", Ok("x\nkey: alpha-secret-1\n"));
}

#[test]
fn line_breaks_are_those_that_the_model_writes() {
    check("key: alpha-secret-1\r\nb\r\n", "key: ###\nb\n", Ok("key: alpha-secret-1\nb\n"));
    check("key: alpha-secret-1\nb\n", "key: ###\r\nb\r\n", Ok("key: alpha-secret-1\r\nb\r\n"));
}

#[test]
fn mark_in_a_changed_line_is_refused() {
    let old = "a: 1\nkey: alpha-secret-1\n";
    check(old, "a: 1\nkey: \"###\"\n", Err(2));
    check(old, "a: ###\nkey: ###\n", Err(1));
}

#[test]
fn mark_of_the_file_itself_is_a_word_like_any_other() {
    let old = "see ###\nkey: alpha-secret-1\n".replace("###", MARK);
    check(&old, "see ###\nkey: ###\nmore\n", Ok("see ###\nkey: alpha-secret-1\nmore\n"));
    assert!(Veiled::of(&redactor(), &format!("see {MARK}\n")).is_none());
}

#[test]
fn secrets_that_look_the_same_are_told_apart_by_their_place() {
    let old = "one:\n  key: alpha-secret-1\ntwo:\n  key: beta-secret-22\nend\n";
    check(
        old,
        "zero\none:\n  key: ###\ntwo:\n  key: ###\n",
        Ok("zero\none:\n  key: alpha-secret-1\ntwo:\n  key: beta-secret-22\n"),
    );
    // Whose secret is it?
    check(old, "two:\n  key: ###\none:\n  key: ###\nend\n", Err(2));
    check(old, "one:\n  key: ###\nend\n", Err(2));
    check(old, "one:\n  key: ###\ntwo:\n  key: ###\nthree:\n  key: ###\nend\n", Err(6));
}

#[test]
fn same_secret_may_be_moved_and_repeated() {
    let old = "one:\n  key: alpha-secret-1\ntwo:\n  key: alpha-secret-1\n";
    check(
        old,
        "two:\n  key: ###\n  key: ###\none:\n",
        Ok("two:\n  key: alpha-secret-1\n  key: alpha-secret-1\none:\n"),
    );
}

#[test]
fn secret_of_several_lines_comes_back_whole() {
    let body = "MIIEowIBAAKCAQEAvVkY2b1xGq4Wv0Xk9u5Gq2s8c7dYh3m5\n".repeat(4);
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n");
    let old = format!("first\n{key}last\n");
    let redactor = redactor();
    let veiled = Veiled::of(&redactor, &old).expect("a private key is hidden");
    let new = format!("zero\n{}", veiled.shown().replace("last", "changed"));
    let restored = veiled.restore(&new, "f").expect("it is known where it was");
    assert_eq!(restored.text, format!("zero\nfirst\n{key}changed\n"));
}
