//! Which anchors a line holds, exactly: what machines print.

use lacuna_core::text::AnchorKind::{self, *};
use lacuna_core::text::anchors;

#[track_caller]
fn check(rows: &[(&str, &[(AnchorKind, &str)])]) {
    for (line, expected) in rows {
        let found: Vec<_> = anchors(line).map(|anchor| (anchor.kind, anchor.of(line))).collect();
        assert_eq!(found, *expected, "in {line:?}");
    }
}

#[test]
fn anchors_of_logs() {
    check(&[
        (
            "2026-11-30T10:00:00.123456Z  INFO lacuna::engine: started port=5433 pid=8812 took=30ms",
            &[
                (Time, "2026-11-30T10:00:00.123456Z"),
                (Identifier, "lacuna::engine"),
                (Number, "5433"),
                (Number, "8812"),
                (Number, "30ms"),
            ],
        ),
        (
            "2026-11-30 10:00:00,123 [ERROR] app.db: connection to db:5432 refused (ECONNREFUSED)",
            &[
                (Time, "2026-11-30"),
                (Time, "10:00:00,123"),
                (Path, "app.db"),
                (Host, "db:5432"),
                (Number, "5432"),
                (ErrorCode, "ECONNREFUSED"),
            ],
        ),
        (
            "Nov 30 09:16:01 host-1 sshd[812]: Failed password for root from 10.1.2.3 port 51514 ssh2",
            &[
                (Time, "Nov 30"),
                (Time, "09:16:01"),
                (RequestId, "host-1"),
                (Number, "812"),
                (Host, "10.1.2.3"),
                (Number, "51514"),
                (Identifier, "ssh2"),
            ],
        ),
        (
            r#"127.0.0.1 - - [30/Nov/2026:10:00:00 +0000] "GET /api/users?id=42 HTTP/1.1" 200 1534"#,
            &[
                (Host, "127.0.0.1"),
                (Time, "30/Nov/2026:10:00:00"),
                (Number, "0000"),
                (Quote, "GET /api/users?id=42 HTTP/1.1"),
                (Path, "/api/users"),
                (Number, "42"),
                (Number, "1.1"),
                (Number, "200"),
                (Number, "1534"),
            ],
        ),
        (
            "drwxr-xr-x 2 root root 4096 Nov 30 09:16 atif",
            &[(Number, "2"), (Number, "4096"), (Time, "Nov 30"), (Time, "09:16")],
        ),
        (
            "\u{1b}[31mFAIL\u{1b}[0m tests/test_x.py::TestFoo::test_bar - assert 3 == 4",
            &[
                (Path, "tests/test_x.py"),
                (Identifier, "TestFoo::test_bar"),
                (Number, "3"),
                (Number, "4"),
            ],
        ),
        (
            r#"level=warn msg="slow query" duration=1.25s rows=1200 request_id=req-8f41"#,
            &[
                (Quote, "slow query"),
                (Number, "1.25s"),
                (Number, "1200"),
                (Identifier, "request_id"),
                (RequestId, "req-8f41"),
            ],
        ),
        (
            "E1130 10:00:00.123456 1 main.go:42] oops",
            &[
                (ErrorCode, "E1130"),
                (Time, "10:00:00.123456"),
                (Number, "1"),
                (Path, "main.go"),
                (Number, "42"),
            ],
        ),
        (
            "test result: ok. 130 passed; 0 failed; finished in 2.01s",
            &[(Number, "130"), (Number, "0"), (Number, "2.01s")],
        ),
        (
            "Downloaded 12 crates (1.4 MB) in 0.52s; 3.5MiB/s",
            &[(Number, "12"), (Number, "1.4"), (Number, "0.52s"), (Number, "3.5MiB")],
        ),
        ("worker.3 | exit status: 137", &[(Number, "3"), (Number, "137")]),
        (
            "GET https://api.example.com:8443/v1/items/7?limit=50 -> 503 in 1204ms",
            &[
                (Url, "https://api.example.com:8443/v1/items/7?limit=50"),
                (Number, "503"),
                (Number, "1204ms"),
            ],
        ),
    ]);
}

#[test]
fn anchors_of_program_text() {
    check(&[
        (
            "let x = self.session_cache.get(&key).unwrap_or(5433); // see RFC 3339",
            &[
                (Identifier, "self.session_cache.get"),
                (Identifier, "unwrap_or"),
                (Number, "5433"),
                (Number, "3339"),
            ],
        ),
        ("fn port_of(bytes: &[u8]) -> Option<usize> {", &[(Identifier, "port_of")]),
        ("#include <stdio.h>", &[(Path, "stdio.h")]),
        (
            r#"import { readFile } from "node:fs/promises";"#,
            &[(Identifier, "readFile"), (Quote, "node:fs/promises")],
        ),
        (
            "const URL = `http://${host}:5433/x`;",
            &[(Quote, "http://${host}:5433/x"), (Identifier, "${host}"), (Number, "5433")],
        ),
        (
            "SELECT id, user_name FROM public.users WHERE age >= 21 LIMIT 10;",
            &[
                (Identifier, "user_name"),
                (Identifier, "public.users"),
                (Number, "21"),
                (Number, "10"),
            ],
        ),
        (
            "for i in range(0, 10): arr[i] = i * 0.5",
            &[(Number, "0"), (Number, "10"), (Number, "0.5")],
        ),
        (
            "use crate::text::{Anchor, AnchorKind};",
            &[(Identifier, "crate::text"), (Identifier, "AnchorKind")],
        ),
        (
            "@@ -10,7 +10,9 @@ fn main() {",
            &[(Number, "10"), (Number, "7"), (Number, "10"), (Number, "9"), (Identifier, "main")],
        ),
        (
            "diff --git a/src/main.rs b/src/main.rs",
            &[(Identifier, "--git"), (Path, "a/src/main.rs"), (Path, "b/src/main.rs")],
        ),
        (
            "index 8f41c0d..77ae123 100644",
            &[(Hash, "8f41c0d"), (Hash, "77ae123"), (Number, "100644")],
        ),
        ("x = y if a.b else c.d", &[]),
        (
            "FOO=1 BAR=two ./configure --prefix=/usr/local",
            &[(Number, "1"), (Path, "./configure"), (Identifier, "--prefix"), (Path, "/usr/local")],
        ),
        (
            r#"[dependencies] serde = { version = "1.0.228", features = ["derive"] }"#,
            &[(Version, "1.0.228"), (Quote, "derive")],
        ),
    ]);
}

#[test]
fn anchors_of_json() {
    check(&[
        (
            r#"{"type":"text","port":5433,"path":"/a/b.rs","ids":[7,42]}"#,
            &[(Quote, "text"), (Number, "5433"), (Path, "/a/b.rs"), (Number, "7"), (Number, "42")],
        ),
        (
            r#"{"msg":"he said \"foo bar\" yes\nnext_line","ok":true}"#,
            &[
                (Quote, r#"he said \"foo bar\" yes\nnext_line"#),
                (Quote, "foo bar"),
                (Identifier, "next_line"),
            ],
        ),
        (
            r#"{"a":{"b":"C:\\new\\x.txt"},"t":"2026-11-30T10:00:00Z","v":"1.2.3"}"#,
            &[(Path, r#"C:\\new\\x.txt"#), (Time, "2026-11-30T10:00:00Z"), (Version, "1.2.3")],
        ),
        (
            r#"{"usage":{"input_tokens":1204},"cost":0.0125,"id":"msg_01XYZabc"}"#,
            &[
                (Identifier, "input_tokens"),
                (Number, "1204"),
                (Number, "0.0125"),
                (RequestId, "msg_01XYZabc"),
            ],
        ),
        ("[1,200,300] [5433,200]", &[(Number, "1,200,300"), (Number, "5433"), (Number, "200")]),
        (
            r#"{"text":"line one\nport 5433\n\ttabbed_name\u001b[31mred_name\u001b[0m"}"#,
            &[
                (Quote, r#"line one\nport 5433\n\ttabbed_name\u001b[31mred_name\u001b[0m"#),
                (Number, "5433"),
                (Identifier, "tabbed_name"),
                (Identifier, "red_name"),
            ],
        ),
    ]);
}

#[test]
fn anchors_of_stack_traces() {
    check(&[
        (
            r#"  File "/usr/lib/python3.11/site-packages/requests/api.py", line 73, in get"#,
            &[(Path, "/usr/lib/python3.11/site-packages/requests/api.py"), (Number, "73")],
        ),
        (
            "    at Object.<anonymous> (/app/src/index.js:10:15)",
            &[(Path, "/app/src/index.js"), (Number, "10"), (Number, "15")],
        ),
        (
            "thread 'main' panicked at src/main.rs:5:10:",
            &[(Quote, "main"), (Path, "src/main.rs"), (Number, "5"), (Number, "10")],
        ),
        (
            "called `Option::unwrap()` on a `None` value",
            &[(Identifier, "Option::unwrap"), (Quote, "None")],
        ),
        (
            "java.lang.NullPointerException: at com.acme.Foo.bar(Foo.java:42)",
            &[
                (Identifier, "java.lang.NullPointerException"),
                (Identifier, "com.acme.Foo.bar"),
                (Path, "Foo.java"),
                (Number, "42"),
            ],
        ),
        (
            "ModuleNotFoundError: No module named 'foo_bar'",
            &[(Identifier, "ModuleNotFoundError"), (Identifier, "foo_bar")],
        ),
        (
            "error[E0432]: unresolved import `crate::foo::Bar`",
            &[(ErrorCode, "E0432"), (Identifier, "crate::foo::Bar")],
        ),
        (
            "Error: connect ECONNREFUSED 127.0.0.1:5433",
            &[(ErrorCode, "ECONNREFUSED"), (Host, "127.0.0.1:5433"), (Number, "5433")],
        ),
        (
            "goroutine 1 [running]: main.main() /tmp/x.go:9 +0x1d",
            &[
                (Number, "1"),
                (Identifier, "main.main"),
                (Path, "/tmp/x.go"),
                (Number, "9"),
                (Number, "0x1d"),
            ],
        ),
        (
            "src/index.ts(10,5): error TS2345: Argument of type 'string'",
            &[
                (Path, "src/index.ts"),
                (Number, "10"),
                (Number, "5"),
                (ErrorCode, "TS2345"),
                (Quote, "string"),
            ],
        ),
    ]);
}

/// What transcripts are full of: tags of their harness, and signatures of reasoning.
#[test]
fn closing_tags_and_base64_are_no_paths() {
    let signature = "EtgGCkYICxgCKkD/ad0BUvIRx2u97frWwSOD0tCQwuEG9q3yVYvbRdq3NmW5kX/8Zq1";
    for text in [
        "<system-reminder>Be brief.</system-reminder>",
        "</command-name></command-args>",
        &format!("{{\"signature\": \"{signature}\"}}"),
    ] {
        let found = anchors(text).filter(|anchor| anchor.kind != AnchorKind::Quote);
        let found: Vec<&str> = found.map(|anchor| anchor.of(text)).collect();
        assert_eq!(found, Vec::<&str>::new(), "{text}");
    }
    let path = "see /home/dev/Work/AKey29/x";
    assert!(anchors(path).any(|anchor| anchor.of(path) == "/home/dev/Work/AKey29/x"));
}
