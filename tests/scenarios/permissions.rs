//! The broker's configuration that the project ships: a worker speaks as itself, in its tenant, with
//! its verbs, and nothing else. Every attempt is made at a real server.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::{ConnectOptions, Event};
use serde_json::{Value, json};

use crate::rig::{Broker, Daemon, Server, Worker, repository, with_each_broker};

/// How long nothing must happen before it counts as refused.
const SILENCE: Duration = Duration::from_millis(400);

/// A user of the configuration: its name, and the variable that its password comes from.
#[derive(Debug, Clone)]
struct User {
    name: String,
    password: String,
    publishes: String,
}

/// Reads the users in the order in which they stand there.
fn users(config: &str) -> Vec<User> {
    let mut users: Vec<User> = Vec::new();
    for line in config.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let after = |key: &str| {
            let rest = line.split_once(key)?.1.trim_start();
            let end = rest.find([' ', ',', '}']).unwrap_or(rest.len());
            Some(rest[..end].trim_matches('"').to_owned())
        };
        if let Some(name) = after("user: ") {
            users.push(User { name, password: String::new(), publishes: String::new() });
        }
        let Some(last) = users.last_mut() else { continue };
        if let Some(variable) = after("password: $") {
            last.password = variable;
        }
        if line.contains("publish:") {
            line.clone_into(&mut last.publishes);
        }
    }
    users
}

/// The broker with its tenants, and a daemon behind it.
pub(crate) struct Tenants {
    pub(crate) daemon: Daemon,
    broker: Broker,
    users: Vec<User>,
    _folder: tempfile::TempDir,
}

/// A connection as one user, and what the server refused it.
pub(crate) struct Member {
    pub(crate) worker: Worker,
    principal: String,
    refusals: Arc<Mutex<Vec<String>>>,
}

fn secret(variable: &str) -> String {
    format!("secret-of-{}", variable.to_lowercase())
}

impl Tenants {
    pub(crate) fn start(server: &Server) -> Self {
        Self::start_from(server, &repository().join("ops/nats/nats-server.conf"))
    }

    /// The same with another configuration of the same users.
    pub(crate) fn start_from(server: &Server, config: &Path) -> Self {
        let users = users(&std::fs::read_to_string(config).unwrap());
        assert!(users.len() >= 4, "{users:?}");
        // A user whose password stands there reads nothing from the environment.
        let environment = users.iter().filter(|user| !user.password.is_empty());
        let environment = environment.map(|user| (user.password.clone(), secret(&user.password)));
        let broker = Broker::start_from(server, config, environment.collect());
        let daemon = users.iter().find(|user| user.publishes.is_empty()).unwrap();
        let url = broker.url_as(&daemon.name, &secret(&daemon.password));
        let folder = tempfile::tempdir().unwrap();
        let daemon = Daemon::start(folder.path(), &url);
        Self { daemon, broker, users, _folder: folder }
    }

    /// The user who may publish as this principal of this tenant, connected.
    pub(crate) async fn member(&self, tenant: &str, principal: &str) -> Member {
        let subject = format!("lacuna.v1.{tenant}.{principal}.");
        let user = self.users.iter().find(|user| user.publishes.contains(&subject));
        let user = user.unwrap_or_else(|| panic!("no user of {:?} may {subject}", self.users));
        let refusals = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&refusals);
        let options = ConnectOptions::new().event_callback(move |event| {
            if let Event::ServerError(error) = &event {
                heard.lock().unwrap().push(error.to_string());
            }
            async {}
        });
        let nats = options
            .user_and_password(user.name.clone(), secret(&user.password))
            .connect(self.broker.url())
            .await
            .unwrap();
        let worker = Worker::on(nats, tenant, principal);
        Member { worker, principal: principal.to_owned(), refusals }
    }

    /// A connection as this user.
    pub(crate) async fn enter(&self, user: &str, password: &str) -> async_nats::Client {
        let options = ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned());
        options.connect(self.broker.url()).await.unwrap()
    }

    /// A connection as the daemon's user, who may do everything in its account.
    pub(crate) async fn daemon_user(&self) -> async_nats::Client {
        let daemon = self.users.iter().find(|user| user.publishes.is_empty()).unwrap();
        self.enter(&daemon.name, &secret(&daemon.password)).await
    }

    /// How many events the journal has, as its officer sees it.
    pub(crate) async fn events(&self) -> Value {
        let officer = self.member("acme", "officer").await;
        officer.worker.journal("head", json!({})).await["seq"].clone()
    }
}

impl Member {
    /// Tries a subject; the server must refuse it, in so many words.
    pub(crate) async fn may_not(&self, subject: &str, body: Value) {
        self.refusals.lock().unwrap().clear();
        let refused = async {
            while self.refusals.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            sent = self.worker.send(subject, body.to_string().into_bytes(), SILENCE) => {
                assert!(sent.is_err(), "{subject} was answered: {sent:?}");
            }
            // What the server refused it gave to nobody who could answer.
            () = refused => {}
        }
        self.was_refused(subject);
    }

    /// Tries to listen; the server must refuse it. Gives what was subscribed to nevertheless.
    pub(crate) async fn may_not_subscribe(&self, subject: &str) -> async_nats::Subscriber {
        self.refusals.lock().unwrap().clear();
        let subscriber = self.worker.nats.subscribe(subject.to_owned()).await.unwrap();
        self.worker.nats.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.was_refused(subject);
        subscriber
    }

    fn was_refused(&self, subject: &str) {
        let refusals = self.refusals();
        let words = refusals.to_lowercase();
        assert!(words.contains("permissions violation"), "{subject}: {refusals:?}");
    }

    /// What the server refused, since something was last tried.
    pub(crate) fn refusals(&self) -> String {
        self.refusals.lock().unwrap().join("\n")
    }

    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }
}

fn opening() -> Value {
    json!({ "window_tokens": 1_000 })
}

#[test]
fn a_worker_has_its_own_sessions_and_nobody_elses() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let member = tenants.member("acme", "worker-1").await;
        let worker = &member.worker;
        worker.open("s").await;
        worker.append("s", "a", "words").await;
        let pruned = worker.call("s", "prune", json!({ "spans": ["a"] })).await;
        assert_eq!(pruned["status"], "reversible");
        let found = worker.call("s", "expand", json!({ "span": "a" })).await;
        assert_eq!(found["content"], "words");
        assert_eq!(worker.journal("head", json!({})).await["seq"], 3);
        let events = worker.history("s").await;
        let principals: Vec<&str> =
            events.iter().map(|event| event["principal"].as_str().unwrap()).collect();
        assert_eq!(principals, ["worker-1"; 3], "who it was is what the broker vouches for");
        // Another principal of the same tenant works in the same session, under its own name.
        let colleague = tenants.member("acme", "worker-2").await;
        colleague.worker.append("s", "b", "more").await;
        let events = worker.history("s").await;
        assert_eq!(events.last().unwrap()["principal"], "worker-2");
        assert!(member.refusals.lock().unwrap().is_empty(), "{:?}", member.refusals);
        tenants.daemon.stop();
    });
}

#[test]
fn nobody_speaks_as_another_principal() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let member = tenants.member("acme", "worker-1").await;
        member.worker.open("s").await;
        let before = tenants.events().await;
        for other in ["worker-2", "officer", "lacuna", "nobody"] {
            let subject = format!("lacuna.v1.acme.{other}.session.s.append");
            let span = json!({ "role": "user", "origin": "user", "content": "forged" });
            member.may_not(&subject, json!({ "spans": [span] })).await;
            member.may_not(&format!("lacuna.v1.acme.{other}.journal.head"), json!({})).await;
        }
        assert_eq!(tenants.events().await, before, "nothing was recorded");
        // The one whom it wanted to be may.
        let officer = tenants.member("acme", "officer").await;
        officer.worker.append("s", "real", "words").await;
    });
}

#[test]
fn no_tenant_reaches_another() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let acme = tenants.member("acme", "worker-1").await;
        let globex = tenants.member("globex", "worker-1").await;
        acme.worker.open("s").await;
        acme.worker.append("s", "secret", "of acme").await;
        globex.worker.open("s").await;
        let before = tenants.events().await;
        let read = json!({ "span": "secret" });
        globex.may_not("lacuna.v1.acme.worker-1.session.s.expand", read.clone()).await;
        acme.may_not("lacuna.v1.globex.worker-1.session.s.expand", read.clone()).await;
        // The officer of a tenant, who may do most, may not either.
        let officer = tenants.member("acme", "officer").await;
        officer.may_not("lacuna.v1.globex.officer.session.s.open", opening()).await;
        officer.may_not("lacuna.v1.globex.worker-1.session.s.expand", read.clone()).await;
        // Sessions of one name are two sessions.
        let answer = globex.worker.call("s", "expand", read).await;
        assert_eq!(answer["outcome"], "never_recorded");
        assert_eq!(tenants.events().await, before);
    });
}

#[test]
fn workers_have_no_retention_verbs_and_no_journal_verbs_that_change_or_tell() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let member = tenants.member("acme", "worker-1").await;
        member.worker.open("s").await;
        let own = "lacuna.v1.acme.worker-1";
        let verbs = ["policy-set", "policy-get", "evaluate", "hold", "release"];
        for verb in verbs.iter().chain(&["plan", "run", "ledger", "erase"]) {
            member.may_not(&format!("{own}.retention.{verb}"), json!({})).await;
        }
        for verb in ["backup", "verify", "sessions", "stats"] {
            member.may_not(&format!("{own}.journal.{verb}"), json!({ "dir": "x" })).await;
        }
        // The officer reaches them: what the daemon says there is its own business.
        let officer = tenants.member("acme", "officer").await;
        let sessions = officer.worker.journal("sessions", json!({})).await;
        assert_eq!(sessions["sessions"], json!(["s"]));
        assert_eq!(officer.worker.verify().await["checked"]["events"], 1);
        let retention = "lacuna.v1.acme.officer.retention";
        let ask = |verb: &str, body: Value| {
            let body = body.to_string().into_bytes();
            let (subject, worker) = (format!("{retention}.{verb}"), officer.worker.clone());
            async move { worker.ask_bytes(&subject, body).await }
        };
        let reply = ask("erase", json!({})).await;
        assert!(reply.is_err(), "nothing is erased by an empty request: {reply:?}");
        let rule = json!({ "id": "all", "keep": { "for": "0s" }, "live_handles": "commit" });
        let policy = ask("policy-set", json!({ "rules": [rule] })).await.unwrap();
        assert_eq!(policy["policy"], "policy-1");
        member.worker.append("s", "a", "words").await;
        let run = ask("run", json!({})).await.unwrap();
        assert_eq!(run["removed"]["spans"], 1, "{run}");
        let found = member.worker.call("s", "expand", json!({ "span": "a" })).await;
        assert_eq!(
            (&found["outcome"], &found["cause"]["kind"]),
            (&json!("lossy"), &json!("retention"))
        );
        // Who it was is what the broker vouches for.
        let request = json!({ "session": "s", "reason": "asked for" });
        member.worker.append("s", "b", "more words").await;
        assert_eq!(ask("erase", request).await.unwrap()["removed"]["spans"], 1);
        let found = member.worker.call("s", "expand", json!({ "span": "b" })).await;
        assert_eq!(found["cause"]["by"], "officer", "{found}");
    });
}

#[test]
fn nobody_listens_in_or_answers_in_the_daemons_place() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let member = tenants.member("acme", "worker-1").await;
        for subject in ["lacuna.v1.acme.>", "lacuna.v1.*.*.session.*.*", "lacuna.>", ">"] {
            drop(member.may_not_subscribe(subject).await);
        }
        // A reply that nobody asked for goes nowhere either.
        member.may_not("_INBOX.somebody.else", json!({})).await;
    });
}

#[test]
fn strangers_are_not_let_in() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let somebody = tenants.users.iter().find(|user| !user.publishes.is_empty()).unwrap();
        let here = tenants.broker.url();
        assert!(async_nats::connect(&here).await.is_err(), "nobody was let in");
        let mut urls = vec![here.clone()];
        for user in ["lacuna", somebody.name.as_str()] {
            let options = ConnectOptions::with_user_and_password(user.into(), "guess".into());
            assert!(options.connect(&here).await.is_err(), "{user} was let in by a guess");
            urls.push(tenants.broker.url_as(user, "guess"));
        }
        let run = |url: &str| {
            let names = ["--tenant", "acme", "--principal", "worker-1"];
            crate::rig::Cli::nats(url).run(&[&["head"][..], &names].concat())
        };
        for url in &urls {
            let ran = run(url);
            assert_eq!(ran.code, 1, "{}", ran.out);
            assert!(!ran.err.contains("guess"), "the password is not repeated: {}", ran.err);
        }
        let right = tenants.broker.url_as(&somebody.name, &secret(&somebody.password));
        let ran = run(&right);
        assert_eq!(ran.code, 0, "with the right password it is: {}", ran.err);
        assert!(!tenants.daemon.log().contains("secret-of"), "{}", tenants.daemon.log());
    });
}
