//! Counts the tokens of a text as a model would.
//!
//! OpenAI's tables are public, so a text for one of its models is counted; for every other model the nearest table
//! makes an estimate, and says so. Tables are prepared by the build script and used where they lie in the program, so that
//! the first text costs no more than any other. A counter is a small value that is copied. Text is data here: what looks
//! like a special token is counted as the letters it is.

mod letter;
mod place;
mod table;
mod word;

use std::sync::LazyLock;

use pi_envelope::{Counted, Tokens};
use serde::Deserialize;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

/// The longest text that is counted at once, in bytes. A run of one kind of letter is one word, and to merge the letters of
/// a word takes room for each of them.
const PIECE: usize = 16 * 1024;

static NEAREST: LazyLock<Vec<Nearest>> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("tokens/tables.yaml")).expect("tables.yaml is checked by a test")
});

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Table {
    O200k,
    Cl100k,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nearest {
    starts: String,
    table: Table,
}

/// A counter for the model of this name; a name may begin with its maker's (`openai/gpt-4o`).
pub fn counter(model: &str) -> impl Fn(&str) -> Tokens + Copy + Send + Sync + use<> {
    let (table, how) = choose(model);
    move |text| Tokens { count: count(table, text), how }
}

fn choose(model: &str) -> (Table, Counted) {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    match get_tokenizer(&name) {
        // Harmony differs only in its special tokens.
        Some(Tokenizer::O200kBase | Tokenizer::O200kHarmony) => (Table::O200k, Counted::Counted),
        Some(Tokenizer::Cl100kBase) => (Table::Cl100k, Counted::Counted),
        // Models that are no longer served, and those of others.
        Some(Tokenizer::P50kBase | Tokenizer::P50kEdit | Tokenizer::R50kBase | Tokenizer::Gpt2) | None => {
            let nearest = NEAREST.iter().find(|nearest| name.starts_with(&nearest.starts));
            (nearest.map_or(Table::O200k, |nearest| nearest.table), Counted::Estimated)
        }
    }
}

fn count(table: Table, text: &str) -> u64 {
    let (ranks, word): (_, fn(&str) -> usize) = match table {
        Table::O200k => (&table::O200K, word::o200k),
        Table::Cl100k => (&table::CL100K, word::cl100k),
    };
    let mut rest = text;
    let mut count = 0;
    while !rest.is_empty() {
        let (mut piece, after) = rest.split_at(cut(rest));
        while !piece.is_empty() {
            let (first, others) = piece.split_at(word(piece));
            count += ranks.count(first.as_bytes());
            piece = others;
        }
        rest = after;
    }
    count as u64
}

/// Where the next piece ends: at the last place where both tables begin a new token anyway, so that cutting changes
/// nothing; where there is none, in the middle of the run, which may cost a token.
fn cut(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let end = text.floor_char_boundary(PIECE);
    let bytes = text.as_bytes();
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    let begins = |place: &usize| match bytes[*place] {
        // A line break ends a token unless white space or, in o200k, a slash follows.
        byte if is_plain(byte) => bytes[place - 1] == b'\n',
        // A single space belongs to the word behind it.
        b' ' => bytes[place - 1].is_ascii_graphic() && bytes[place + 1].is_ascii_alphabetic(),
        _ => false,
    };
    (1..end).rev().find(begins).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

    use super::*;

    fn tables() -> [(Table, &'static CoreBPE); 2] {
        [(Table::O200k, o200k_base_singleton()), (Table::Cl100k, cl100k_base_singleton())]
    }

    /// Letters of every kind, with those at which rules change.
    fn letters() -> impl Strategy<Value = String> {
        let usual = prop::sample::select(
            "aZéÉßſ'’stmdrevlL ST  \t\n\r\u{a0}\u{2028}09²٣½Ⅷ漢字かなカナªʰǅ\u{301}\u{e31}-_/.,;:#@!?{}()<>=\"\\€😀\u{200d}\u{0}"
                .chars()
                .collect::<Vec<_>>(),
        );
        prop::collection::vec(prop_oneof![8 => usual, 1 => any::<char>()], 0..60).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn texts_are_counted_as_by_tiktoken(text in letters()) {
            for (table, whole) in tables() {
                prop_assert_eq!(count(table, &text), whole.count_ordinary(&text) as u64, "{:?}", table);
            }
        }

        #[test]
        fn long_words_are_counted_as_by_tiktoken(text in "[ab]{90,300}|[a-zé]{90,200}|[漢字]{30,60}| {90,140}x") {
            for (table, whole) in tables() {
                prop_assert_eq!(count(table, &text), whole.count_ordinary(&text) as u64, "{:?}", table);
            }
        }
    }

    #[test]
    fn source_code_is_counted_as_by_tiktoken() {
        for text in
            [include_str!("tokens.rs"), include_str!("../manifests/anthropic.yaml"), include_str!("tokens/word.rs")]
        {
            for (table, whole) in tables() {
                assert_eq!(count(table, text), whole.count_ordinary(text) as u64, "{table:?}");
            }
        }
    }

    fn check(model: &str, text: &str, count: u64, how: Counted) {
        assert_eq!(counter(model)(text), Tokens { count, how }, "{model}: {text:?}");
    }

    /// The numbers are those of OpenAI's own tiktoken.
    #[test]
    fn openai_models_are_counted() {
        check("gpt-4o", "", 0, Counted::Counted);
        check("gpt-4o", "hello world", 2, Counted::Counted);
        check("gpt-5.2", "antidisestablishmentarianism", 6, Counted::Counted);
        check("gpt-4", "antidisestablishmentarianism", 6, Counted::Counted);
        check("gpt-4", "お誕生日おめでとう", 9, Counted::Counted);
        check("openai/gpt-4o", "お誕生日おめでとう", 8, Counted::Counted);
    }

    #[test]
    fn others_are_estimated_with_the_nearest_table() {
        check("claude-opus-4-6", "お誕生日おめでとう", 8, Counted::Estimated);
        check("gemini-2.5-pro", "お誕生日おめでとう", 8, Counted::Estimated);
        check("Qwen/Qwen3-8B", "お誕生日おめでとう", 9, Counted::Estimated);
        check("meta-llama/Llama-3.3-70B", "お誕生日おめでとう", 9, Counted::Estimated);
    }

    #[test]
    fn special_tokens_are_letters() {
        assert!(counter("gpt-4o")("<|endoftext|>").count > 1);
        assert!(counter("gpt-oss-20b")("<|start|>system<|message|>").count > 5);
    }

    #[test]
    fn cutting_at_a_border_changes_nothing() {
        let lines = "fn main() {\n    let x = 12345; // done;\n\n\n}\n/* a / b */\n\tπ ≈ 3.14159, it's\r\n".repeat(600);
        let words = "the quick brown fox — it's 12345,67 and `so on` ".repeat(900);
        for text in [lines, words] {
            for (table, whole) in tables() {
                assert!(text.len() > 2 * PIECE);
                assert_eq!(count(table, &text), whole.count_ordinary(&text) as u64, "{table:?}");
            }
        }
    }

    /// Counted at once by tiktoken, this panics. A token of o200k holds up to 128 spaces.
    #[test]
    fn run_of_a_million_spaces_is_counted() {
        let count = counter("gpt-4o")(&" ".repeat(1_100_000)).count;
        assert!((8_500..8_900).contains(&count), "{count}");
    }

    #[test]
    fn runs_are_cut_between_characters() {
        for run in ["a", "漢", "=", "\n", "e\u{301}"] {
            let text = run.repeat(3 * PIECE / run.len());
            let (pieces, whole) = (count(Table::O200k, &text), o200k_base_singleton().count_ordinary(&text) as u64);
            assert!(pieces.abs_diff(whole) <= 4, "{run:?}: {pieces} instead of {whole}");
        }
    }
}
