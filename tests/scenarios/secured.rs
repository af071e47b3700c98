//! Brokers that let in only who proves himself, and clients that speak only to the broker they trust:
//! TLS, client certificates, nkeys, credentials. The daemon and the command line take them alike.

use std::path::Path;

use nkeys::KeyPair;
use serde_json::json;

use crate::rig::{
    Authority, Broker, Certified, Cli, Daemon, Operator, Server, Worker, credentials,
    current_server, free_port, with_each_broker, written,
};

/// `tls { … }` of a broker that shows this certificate.
fn tls(shown: &Certified, more: &str) -> String {
    let (cert, key) = (shown.cert.display(), shown.key.display());
    format!("tls {{ cert_file: \"{cert}\", key_file: \"{key}\"{more} }}\n")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Whether a text holds a private key or a seed.
fn tells_a_secret(text: &str) -> bool {
    let seed = |word: &str| word.len() == 58 && word.starts_with("SU");
    text.contains("-----BEGIN") || text.split(|c: char| !c.is_ascii_alphanumeric()).any(seed)
}

/// With these flags the daemon serves, and the command line reaches it.
fn lets_in(broker: &Broker, flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let url = broker.url();
    let daemon = Daemon::spawn(folder.path(), &[&["--nats", &url][..], flags].concat());
    daemon.wait_until_ready();
    let (code, head) = Cli::nats(&url).json(&[&["head"][..], flags].concat());
    assert_eq!((code, &head["seq"]), (0, &json!(0)), "{head}");
    let log = daemon.stop();
    assert!(!tells_a_secret(&log), "{log}");
}

/// With these flags neither the daemon nor a command gets in, and both say the same of it.
fn keeps_out(broker: &Broker, flags: &[&str], says: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let url = broker.url();
    let ran = Cli::nats(&url).run(&[&["head"][..], flags].concat());
    assert_eq!(ran.code, 1, "{flags:?}: {}", ran.out);
    let daemon = Daemon::spawn(folder.path(), &[&["--nats", &url][..], flags].concat());
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(1), "{flags:?}: {log}");
    for told in [&ran.err, &log] {
        for words in says {
            assert!(told.contains(words), "{flags:?}: no {words:?} in {told}");
        }
        assert!(!tells_a_secret(told), "{told}");
    }
}

#[test]
fn a_broker_is_trusted_only_if_the_named_authority_signed_it() {
    with_each_broker(async |server| {
        let folder = tempfile::tempdir().unwrap();
        let (good, other) =
            (Authority::new(folder.path(), "ca"), Authority::new(folder.path(), "other-ca"));
        let shown = good.certify(folder.path(), "broker");
        let broker = Broker::start_with(server, &tls(&shown, ""), free_port());
        lets_in(&broker, &["--tls-ca", text(&good.file)]);
        let untrusted = ["TLS with the broker at nats://127.0.0.1", "--tls-ca"];
        keeps_out(&broker, &["--tls-ca", text(&other.file)], &untrusted);
        keeps_out(&broker, &[], &untrusted);
        // Who names an authority does not speak in the clear, whatever the broker offers.
        let plain = Broker::start(server);
        keeps_out(&plain, &["--tls-ca", text(&good.file)], &["TLS with the broker"]);
        lets_in(&plain, &[]);
    });
}

#[test]
fn a_broker_that_verifies_clients_wants_their_certificate() {
    with_each_broker(async |server| {
        let folder = tempfile::tempdir().unwrap();
        let (good, other) =
            (Authority::new(folder.path(), "ca"), Authority::new(folder.path(), "other-ca"));
        let shown = good.certify(folder.path(), "broker");
        let verify = format!(", ca_file: \"{}\", verify: true", good.file.display());
        let broker = Broker::start_with(server, &tls(&shown, &verify), free_port());
        let (mine, forged) =
            (good.certify(folder.path(), "mine"), other.certify(folder.path(), "forged"));
        let ca = text(&good.file);
        let alone = ["--tls-ca", ca];
        let with = |own: &Certified, then: &dyn Fn(&[&str])| {
            let (cert, key) = (text(&own.cert), text(&own.key));
            then(&["--tls-ca", ca, "--tls-cert", cert, "--tls-key", key]);
        };
        with(&mine, &|flags| lets_in(&broker, flags));
        let refused = ["TLS with the broker", "--tls-cert"];
        keeps_out(&broker, &alone, &refused);
        with(&forged, &|flags| keeps_out(&broker, flags, &refused));
    });
}

#[test]
fn tls_may_come_before_the_greeting() {
    // Brokers before 2.10.4 do not know it.
    let server = current_server();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ca");
    let shown = authority.certify(folder.path(), "broker");
    let lines = tls(&shown, ", handshake_first: true");
    let broker = Broker::start_with(&server, &lines, free_port());
    lets_in(&broker, &["--tls-ca", text(&authority.file), "--tls-first"]);
}

#[test]
fn users_are_known_by_their_nkeys() {
    with_each_broker(async |server| {
        let folder = tempfile::tempdir().unwrap();
        let (known, stranger) = (KeyPair::new_user(), KeyPair::new_user());
        let lines = format!(
            "authorization {{ users: [ {{ nkey: {}, permissions: {{ publish: \">\", subscribe: \">\" }} }} ] }}\n",
            known.public_key()
        );
        let broker = Broker::start_with(server, &lines, free_port());
        let seed = |name: &str, pair: &KeyPair| written(folder.path(), name, &pair.seed().unwrap());
        let (good, bad) = (seed("known.nk", &known), seed("stranger.nk", &stranger));
        lets_in(&broker, &["--nkey", text(&good)]);
        keeps_out(&broker, &["--nkey", text(&bad)], &["does not let this user in", "--nkey"]);
        keeps_out(&broker, &[], &["does not let this user in"]);
        let public = written(folder.path(), "public.nk", &known.public_key());
        keeps_out(&broker, &["--nkey", text(&public)], &["public.nk", "public key"]);
    });
}

/// A broker of operators and accounts: nothing of its users stands in its configuration.
fn under(operator: &Operator, server: &Server, folder: &Path) -> Broker {
    Broker::start_from(server, &written(folder, "nats.conf", &operator.config), Vec::new())
}

#[test]
fn users_are_known_by_their_credentials() {
    with_each_broker(async |server| {
        let folder = tempfile::tempdir().unwrap();
        let operator = Operator::new();
        let broker = under(&operator, server, folder.path());
        let good = written(folder.path(), "good.creds", &operator.credentials());
        let forged = credentials(&KeyPair::new_account());
        let forged = written(folder.path(), "forged.creds", &forged);
        lets_in(&broker, &["--creds", text(&good)]);
        let refused = ["does not let this user in", "--creds"];
        keeps_out(&broker, &["--creds", text(&forged)], &refused);
        keeps_out(&broker, &[], &refused);
        // The configuration file names them as well.
        let journal = folder.path().join("journal");
        let config = format!("[nats]\ncredentials = \"{}\"\n", good.display());
        let config = written(folder.path(), "lacuna.toml", &config);
        let arguments = ["--nats", &broker.url(), "--config", text(&config)];
        let daemon = Daemon::spawn(&journal, &arguments);
        daemon.wait_until_ready();
        // A worker that is let in as another user of the account reaches the daemon.
        let options =
            async_nats::ConnectOptions::with_credentials(&operator.credentials()).unwrap();
        let worker = Worker::on(options.connect(broker.url()).await.unwrap(), "acme", "worker-1");
        worker.open("s").await;
        daemon.stop();
    });
}

#[test]
fn files_that_cannot_be_used_are_named_before_anything_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let empty = written(folder.path(), "empty", "");
    let nowhere = Cli::nats("nats://127.0.0.1:9");
    for (flags, says) in [
        (&["--creds", "/no/such.creds"][..], "/no/such.creds"),
        (&["--nkey", "/no/such.nk"], "/no/such.nk"),
        (&["--tls-ca", text(&empty)], "there is no certificate in it"),
        (&["--tls-cert", text(&empty)], "give both"),
        (&["--creds", text(&empty), "--nkey", text(&empty)], "one or the other"),
    ] {
        for command in ["head", "serve"] {
            let mut arguments = vec![command];
            if command == "serve" {
                arguments.push("--check");
            }
            arguments.extend(flags);
            let ran = nowhere.run(&arguments);
            assert_eq!(ran.code, 1, "{arguments:?}: {}", ran.out);
            assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
        }
    }
}
