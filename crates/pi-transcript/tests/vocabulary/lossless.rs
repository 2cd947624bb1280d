//! Reading a line and writing it again loses nothing, whatever the line is.

use pi_transcript::{Line, Message, json::Extra, read_line, write_line};
use proptest::{collection, prelude::*};
use serde_json::{Value, json};

use crate::{
    change::{LINES, any_json, any_line, config},
    meaning::same,
};

#[test]
fn every_known_line_is_written_to_the_byte() {
    for line in LINES.lines() {
        assert_eq!(write_line(&read_line(line)), line);
    }
}

#[test]
fn line_cut_at_any_byte_is_kept() {
    for line in LINES.lines() {
        for (end, _) in line.char_indices().skip(1) {
            assert_eq!(read_line(&line[..end]), Line::Unreadable(line[..end].to_owned()));
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_line_loses_nothing(original in any_line()) {
        let written = write_line(&read_line(&original.to_string()));
        prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), original);
    }

    #[test]
    fn changed_message_loses_nothing(original in any_line()) {
        if let Value::Object(object) = &original["message"] {
            let message = Message::from(object.clone());
            prop_assert_eq!(&serde_json::to_value(&message).unwrap(), &original["message"]);
            // The same through text, where serde takes another way.
            let read: Message = serde_json::from_str(&original["message"].to_string()).unwrap();
            prop_assert_eq!(read, message);
        }
    }

    #[test]
    fn any_json_loses_nothing(original in any_json()) {
        let written = write_line(&read_line(&original.to_string()));
        prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), original);
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let written = write_line(&read_line(&text));
        prop_assert!(same(&text, &written), "{text} became {written}");
    }

    #[test]
    fn members_that_we_do_not_know_keep_their_order(names in collection::vec("x[a-z]{3}", 0..6)) {
        let extra: Extra = names.iter().enumerate().map(|(index, name)| (name.clone(), json!(index))).collect();
        let mut line = json!({ "type": "label", "id": "a", "parentId": null, "timestamp": "t", "targetId": "b" });
        line.as_object_mut().unwrap().extend(extra);
        prop_assert_eq!(write_line(&read_line(&line.to_string())), line.to_string());
    }
}
