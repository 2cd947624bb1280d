//! Ciphers, keys and signatures on the real engine: the same as Node's, by the same script.

use super::house::{call, program, start, text, tool};
use serde_json::json;

/// What Node 20 gives for `cryptography.js`.
const OF_NODE: &str = "\
aes-128-cbc 1c91bcd9b0e4927beb27baff391f73de867d32323b51ca62b3f58c1bba1fc53a one and another one
aes-192-ctr 95292a46a875898c240127950c9052f4d2282d one and another one
aes-256-gcm a9a315f99bbf5793ecf2d81f3de5cef605371b one and another one
aes-256-ecb 3abb98fc44002f916b0290a7588f644e57bbdc241a582900671c63fd0865322c one and another one
ERR_OSSL_BAD_DECRYPT
scrypt a066813d5ae823bd039400b0dbc896e8
pbkdf2 2239f4890deb435d3d9e3aae2f96c023
hkdf 9ca0d662557439e3b83365f2da4626d3
subtle f6fc42eacee40584b5a5d60936e4d9b05a684c65402877184fc774bbfc41cd3dce2dead144c08d49ad343e907b1c77a8 true
counting 280058bdcd2ec1a6e9333dcfadd9a67f860c6d1f9c49a27cec8adb1a6548b060c5e44b51327383898c7773a685883f13
ed25519 39953aebefcd9c652e6f52a22284f16b5f871422b08788c661fcd9598315a78ab51b8d7780fe43c42f95cac0b1219109a578966c9c27db0dea7883e307043b02 I7xUkSwebpLEqGglyGfif_3FVb_71CRPF6Jqv__ull0
ecdsa true false
rsa 863fbc8c949f7a2e000aa610aa454b4c26ac98f171fa94a1197c9b516cd1e6c3 true";

#[tokio::test]
async fn ciphers_keys_and_signatures_are_those_of_node() {
    let body = format!(
        "const pem = {}; {} ",
        json!(include_str!("rsa-of-tests.pem")),
        include_str!("cryptography.js").replace("return lines;", "return lines.join('\\n');")
    );
    let source =
        format!("import {{ shim }} from 'pi:shims'; const crypto = shim('pi:shim/node/crypto');\n{}", tool(&body));
    let guest = start(program(&source)).await.expect("it loads");
    let answer = call(&guest, "t", json!({})).await.map(|answer| text(&answer));
    assert_eq!(answer.as_deref(), Ok(OF_NODE));
}
