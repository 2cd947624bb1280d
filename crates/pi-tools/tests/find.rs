//! `find` and `ls`, with real files.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::os::unix::fs::symlink;

use serde_json::json;

use room::Room;

fn project() -> Room {
    let room = Room::new();
    for path in ["src/main.ts", "src/Main.spec.ts", "src/lib/x.ts", "lib/y.ts", "README.md", ".hidden/z.ts", "a.log"] {
        room.put(path, "");
    }
    room.put(".git/HEAD", "");
    room.put(".gitignore", "*.log\n/lib/\n");
    room.put("sub/.git/HEAD", "");
    room.put("sub/b.log", "");
    symlink("src", room.at("link.ts")).expect("a link");
    room
}

#[tokio::test]
async fn files_are_found_by_name_and_path() {
    let room = project();
    for (arguments, expected) in [
        (json!({ "pattern": "*.ts" }), ".hidden/z.ts\nlink.ts\nsrc/Main.spec.ts\nsrc/lib/x.ts\nsrc/main.ts"),
        (json!({ "pattern": "*.ts", "path": "src" }), "Main.spec.ts\nlib/x.ts\nmain.ts"),
        (json!({ "pattern": "main*" }), "src/Main.spec.ts\nsrc/main.ts"),
        (json!({ "pattern": "Main*" }), "src/Main.spec.ts"),
        (json!({ "pattern": "src/*.ts" }), "src/Main.spec.ts\nsrc/main.ts"),
        (json!({ "pattern": "src/**/*.ts" }), "src/Main.spec.ts\nsrc/lib/x.ts\nsrc/main.ts"),
        (json!({ "pattern": "**/x.ts" }), "src/lib/x.ts"),
        (json!({ "pattern": "./src/lib" }), "src/lib/"),
        (json!({ "pattern": "src" }), "src/"),
        (json!({ "pattern": "l*/" }), "src/lib/"),
        (json!({ "pattern": "*.{md,log}" }), "README.md\nsub/b.log"),
        (json!({ "pattern": "HEAD" }), "No files found matching pattern"),
        (
            json!({ "pattern": "*.ts", "limit": 2 }),
            ".hidden/z.ts\nlink.ts\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]",
        ),
        (
            json!({ "pattern": "*.ts", "limit": 5 }),
            ".hidden/z.ts\nlink.ts\nsrc/Main.spec.ts\nsrc/lib/x.ts\nsrc/main.ts",
        ),
        (json!({ "pattern": "x", "path": "README.md" }), "error: README.md is not a folder"),
    ] {
        assert_eq!(room.told("find", arguments.clone()).await, expected, "{arguments}");
    }
    let absolute = format!("{}/src/*.ts", room.at("").canonicalize().expect("a folder").display());
    assert_eq!(room.told("find", json!({ "pattern": absolute })).await, "src/Main.spec.ts\nsrc/main.ts");
    let output = room.call("find", json!({ "pattern": "*.ts", "limit": 2 })).await.expect("files");
    assert_eq!(output.details, Some(json!({ "resultLimitReached": 2 })));
    assert!(room.told("find", json!({ "pattern": "[" })).await.starts_with("error: The pattern is no glob: "));
}

#[tokio::test]
async fn deep_tree_is_walked_with_few_handles() {
    let room = Room::new();
    let deep = vec!["d"; 900].join("/");
    room.put(&format!("{deep}/bottom"), "");
    assert_eq!(room.told("find", json!({ "pattern": "bottom" })).await, format!("{deep}/bottom"));
}

#[tokio::test]
async fn folder_is_listed() {
    let room = project();
    std::fs::create_dir(room.at("empty")).expect("a folder");
    for (arguments, expected) in [
        (json!({}), ".git/\n.gitignore\n.hidden/\na.log\nempty/\nlib/\nlink.ts/\nREADME.md\nsrc/\nsub/"),
        (json!({ "path": "src" }), "lib/\nMain.spec.ts\nmain.ts"),
        (json!({ "path": "" }), ".git/\n.gitignore\n.hidden/\na.log\nempty/\nlib/\nlink.ts/\nREADME.md\nsrc/\nsub/"),
        (json!({ "path": "link.ts" }), "lib/\nMain.spec.ts\nmain.ts"),
        (
            json!({ "path": "src", "limit": "2" }),
            "lib/\nMain.spec.ts\n\n[2 entries limit reached. Use limit=4 for more]",
        ),
        (json!({ "path": "empty" }), "(empty directory)"),
        (json!({ "path": "none" }), "error: Folder not found: none"),
        (json!({ "path": "README.md" }), "error: README.md is not a folder"),
    ] {
        assert_eq!(room.told("ls", arguments.clone()).await, expected, "{arguments}");
    }
    let output = room.call("ls", json!({ "limit": 1 })).await.expect("names");
    assert_eq!(output.details, Some(json!({ "entryLimitReached": 1 })));
}
