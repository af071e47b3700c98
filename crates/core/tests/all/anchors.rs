//! Which anchors a line holds, exactly: what people write.

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
fn anchors_of_prose() {
    check(&[
        (
            "The staging DB listens on localhost:5433 and took 30ms (30 ms), 1,200 rows or 1_200, 0.5%.",
            &[
                (Host, "localhost:5433"),
                (Number, "5433"),
                (Number, "30ms"),
                (Number, "30"),
                (Number, "1,200"),
                (Number, "1_200"),
                (Number, "0.5"),
            ],
        ),
        (
            "I think the limit is $1,500.75 or about -40 °C, +5%, ~10 items, .5 of them, 1st try.",
            &[
                (Number, "1,500.75"),
                (Number, "40"),
                (Number, "5"),
                (Number, "10"),
                (Number, ".5"),
                (Number, "1st"),
            ],
        ),
        (
            "Version v1.2.3 replaced 1.2.2; Python 3.11 and python3.11 work, v2 does not, 2.0-beta1 might.",
            &[
                (Version, "v1.2.3"),
                (Version, "1.2.2"),
                (Number, "3.11"),
                (Number, "3.11"),
                (Version, "v2"),
                (Version, "2.0-beta1"),
            ],
        ),
        (
            "Ask bob@example.com or see https://ex.com/a/b.html?x=5433&y=foo_bar#frag.",
            &[(Email, "bob@example.com"), (Url, "https://ex.com/a/b.html?x=5433&y=foo_bar#frag")],
        ),
        (
            "The page (see https://en.wikipedia.org/wiki/Rust_(language)) says so; http://localhost:8080/, too.",
            &[
                (Url, "https://en.wikipedia.org/wiki/Rust_(language)"),
                (Url, "http://localhost:8080/"),
            ],
        ),
        (
            "We met on 2026-11-30 at 14:05, again at 9:30pm; the log says 2026-11-30T10:00:00.123Z.",
            &[
                (Time, "2026-11-30"),
                (Time, "14:05"),
                (Time, "9:30pm"),
                (Time, "2026-11-30T10:00:00.123Z"),
            ],
        ),
        (
            "Between 5 and 10 users, 3/4 done, 10/12 passed, 5-10 minutes, top-10, mid-2026, a 24-hour wait.",
            &[
                (Number, "5"),
                (Number, "10"),
                (Number, "3"),
                (Number, "4"),
                (Number, "10"),
                (Number, "12"),
                (Number, "5"),
                (Number, "10"),
                (Number, "10"),
                (Number, "2026"),
                (Number, "24"),
            ],
        ),
        (
            r#"She said "it is done", he said “not yet”, they said «peut-être», and I said 'never mind that'."#,
            &[
                (Quote, "it is done"),
                (Quote, "not yet"),
                (Quote, "peut-être"),
                (Quote, "never mind that"),
            ],
        ),
        (
            "Run `cargo test -p core --release` and then `make`; the `read_file` tool and `foo()` are fine.",
            &[
                (Command, "cargo test -p core --release"),
                (Identifier, "--release"),
                (Quote, "make"),
                (Identifier, "read_file"),
                (Identifier, "foo"),
            ],
        ),
        (
            "The file main.rs, its folder src/text/, ~/.ssh/config and ./run.sh; nothing in /.",
            &[(Path, "main.rs"), (Path, "src/text/"), (Path, "~/.ssh/config"), (Path, "./run.sh")],
        ),
        (
            r#"Windows keeps it in C:\Users\me\new.txt or ..\foo\bar.rs, shares in \\server\share\x.doc."#,
            &[
                (Path, r#"C:\Users\me\new.txt"#),
                (Path, r#"..\foo\bar.rs"#),
                (Path, r#"\\server\share\x.doc"#),
            ],
        ),
        (
            "Ticket ABC-1234, branch feature/ABC-99-fix-login, issue #42, PR 17, CVE-2024-3094.",
            &[
                (ErrorCode, "ABC-1234"),
                (ErrorCode, "ABC-99"),
                (Number, "42"),
                (Number, "17"),
                (ErrorCode, "CVE-2024-3094"),
            ],
        ),
        ("端口5433已被占用，文件src/main.rs不存在。", &[(Number, "5433"), (Path, "src/main.rs")]),
        (
            "La función naïve_función está en größe_max y docs/übersicht.md.",
            &[
                (Identifier, "naïve_función"),
                (Identifier, "größe_max"),
                (Path, "docs/übersicht.md"),
            ],
        ),
        (
            "The worker7 process and worker-3 in us-east-1 run claude-3-5-sonnet-20241022 and gpt-4.1.",
            &[
                (Identifier, "worker7"),
                (RequestId, "worker-3"),
                (RequestId, "us-east-1"),
                (RequestId, "claude-3-5-sonnet-20241022"),
                (RequestId, "gpt-4.1"),
            ],
        ),
        (
            "Set $HOME, ${PATH} and MAX_RETRIES; pass --dry-run or -DFLAG=ON, but not -v.",
            &[
                (Identifier, "$HOME"),
                (Identifier, "${PATH}"),
                (Identifier, "MAX_RETRIES"),
                (Identifier, "--dry-run"),
                (Identifier, "-DFLAG"),
            ],
        ),
        (
            "Call self.cache.get() or Foo::bar_baz, not os.path.join; use camelCase, PascalCase and HTTPServer.",
            &[
                (Identifier, "self.cache.get"),
                (Identifier, "Foo::bar_baz"),
                (Identifier, "os.path.join"),
                (Identifier, "camelCase"),
                (Identifier, "PascalCase"),
                (Identifier, "HTTPServer"),
            ],
        ),
        (
            "The hash 8f41c0d is short for 8f41c0d2aa77ae11bb22cc33dd44ee55ff667788, but deadbeef is a word.",
            &[(Hash, "8f41c0d"), (Hash, "8f41c0d2aa77ae11bb22cc33dd44ee55ff667788")],
        ),
        ("exit code 1. Then 5 files; nothing else.", &[(Number, "1"), (Number, "5")]),
        (
            "It costs 1,2 or 12,34 or 1,234,567 or 1,2345.",
            &[
                (Number, "1"),
                (Number, "2"),
                (Number, "12"),
                (Number, "34"),
                (Number, "1,234,567"),
                (Number, "1"),
                (Number, "2345"),
            ],
        ),
        (
            "@scope/pkg@1.2.3 and serde@1.0 and git@github.com:foo/bar.git",
            &[
                (Path, "@scope/pkg"),
                (Version, "1.2.3"),
                (Number, "1.0"),
                (Host, "github.com"),
                (Path, "foo/bar.git"),
            ],
        ),
        (
            "**/api/v1/users** and *src/lib.rs*, _config.toml_ and __init__.py",
            &[
                (Path, "/api/v1/users"),
                (Path, "src/lib.rs"),
                (Path, "config.toml"),
                (Path, "__init__.py"),
            ],
        ),
        (
            r#"He sees `src/a.rs`, "src/b.rs" and (src/c.rs)."#,
            &[(Path, "src/a.rs"), (Path, "src/b.rs"), (Path, "src/c.rs")],
        ),
        (
            "Python's `None`, JSON's `null` and a `key: value` pair.",
            &[(Quote, "None"), (Quote, "null"), (Command, "key: value")],
        ),
        (
            "Tickets PROJ-7 and PROJ-8: see notes.md, README.md and Makefile.",
            &[
                (ErrorCode, "PROJ-7"),
                (ErrorCode, "PROJ-8"),
                (Path, "notes.md"),
                (Path, "README.md"),
            ],
        ),
        ("A base64 blob: aGVsbG8gd29ybGQ+dGhpcyBpcyBhIHRlc3Q/aXNuJ3QgaXQ9PT0+MTIzNDU2Nzg5MA", &[]),
        (
            "The subnet 10.0.0.0/8, the host 10.0.0.1:8080, db:5432, redis:7, fe80::1, ::1 and api.internal.example.com.",
            &[
                (Host, "10.0.0.0/8"),
                (Host, "10.0.0.1:8080"),
                (Number, "8080"),
                (Host, "db:5432"),
                (Number, "5432"),
                (Number, "7"),
                (Host, "fe80::1"),
                (Host, "::1"),
                (Host, "api.internal.example.com"),
            ],
        ),
        (
            "SQLSTATE 42P01 means a missing table; ENOENT, E0432, TS2345 and ERR_CONN_RESET mean others.",
            &[
                (ErrorCode, "42P01"),
                (ErrorCode, "ENOENT"),
                (ErrorCode, "E0432"),
                (ErrorCode, "TS2345"),
                (ErrorCode, "ERR_CONN_RESET"),
            ],
        ),
        (
            "toolu_01AbCdEf, req-8f41c0d2-77ae, i-0abc123, block_7 and call_x9Kq2LmN are ids.",
            &[
                (RequestId, "toolu_01AbCdEf"),
                (RequestId, "req-8f41c0d2-77ae"),
                (RequestId, "i-0abc123"),
                (RequestId, "block_7"),
                (RequestId, "call_x9Kq2LmN"),
            ],
        ),
        (
            "The commit 3f2a1b4c-1234-4abc-8def-0123456789ab is a UUID.",
            &[(Uuid, "3f2a1b4c-1234-4abc-8def-0123456789ab")],
        ),
    ]);
}

#[test]
fn anchors_of_shell_sessions() {
    check(&[
        (
            "$ git push origin main --force-with-lease",
            &[
                (Command, "git push origin main --force-with-lease"),
                (Identifier, "--force-with-lease"),
            ],
        ),
        ("$ 5 is what it costs", &[(Number, "5")]),
        (
            "  $ ls -la /tmp | head -20",
            &[(Command, "ls -la /tmp | head -20"), (Path, "/tmp"), (Number, "20")],
        ),
        ("user@host:~/proj$ make test", &[(Path, "~/proj")]),
        (
            "cargo build -p lacuna-core --release && ./target/release/lacuna serve --port 4222",
            &[
                (Identifier, "--release"),
                (Path, "./target/release/lacuna"),
                (Identifier, "--port"),
                (Number, "4222"),
            ],
        ),
        ("curl -sS http://127.0.0.1:8222/healthz", &[(Url, "http://127.0.0.1:8222/healthz")]),
        (
            "docker run -p 8080:80 nginx:1.25 -e KEY=value",
            &[(Number, "8080"), (Number, "80"), (Number, "1.25")],
        ),
        (
            "kubectl get pods -n kube-system | grep coredns-5d78c9869d-abcde",
            &[(RequestId, "coredns-5d78c9869d-abcde")],
        ),
    ]);
}
