//! Certificates and keys as a broker's operator would hand them out, made anew for each test.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa};
use serde_json::{Value, json};

/// An authority that signs certificates.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, rcgen::KeyPair>,
    /// Its own certificate.
    pub(crate) file: PathBuf,
}

/// A certificate and its key, in files.
#[derive(Debug, Clone)]
pub(crate) struct Certified {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    /// One with its certificate in this folder.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let file = written(folder, &format!("{name}.pem"), &issuer.pem());
        Self { issuer, file }
    }

    /// A certificate for this machine, and for whoever shows it.
    pub(crate) fn certify(&self, folder: &Path, name: &str) -> Certified {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let params = CertificateParams::new(names).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Certified {
            cert: written(folder, &format!("{name}.pem"), &certificate.pem()),
            key: written(folder, &format!("{name}-key.pem"), &key.serialize_pem()),
        }
    }
}

/// Writes a file and gives its path.
pub(crate) fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// An operator with one account: the configuration of a broker that trusts it.
pub(crate) struct Operator {
    account: KeyPair,
    /// The broker's configuration.
    pub(crate) config: String,
}

impl Operator {
    pub(crate) fn new() -> Self {
        let (operator, account, system) =
            (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
        let jwt_of_operator = jwt(&operator, &operator, "operator", json!({}));
        // JetStream is not for the system's account.
        let preload = [(&account, -1), (&system, 0)].map(|(key, room)| {
            let limits = json!({ "limits": {
                "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
                "wildcards": true, "conn": -1, "leaf": -1, "mem_storage": room, "disk_storage": room,
                "streams": room, "consumer": room,
            } });
            format!("{}: {}", key.public_key(), jwt(&operator, key, "account", limits))
        });
        let config = format!(
            "operator: {jwt_of_operator}\nresolver: MEMORY\nsystem_account: {}\n\
             resolver_preload {{\n{}\n}}\njetstream {{ store_dir: \"./store\" }}\n",
            system.public_key(),
            preload.join("\n")
        );
        Self { account, config }
    }

    /// The credentials of a new user of the account.
    pub(crate) fn credentials(&self) -> String {
        credentials(&self.account)
    }
}

/// The credentials of a new user whom this account vouches for.
pub(crate) fn credentials(account: &KeyPair) -> String {
    let user = KeyPair::new_user();
    let limits = json!({ "subs": -1, "data": -1, "payload": -1 });
    let token = jwt(account, &user, "user", limits);
    let seed = user.seed().unwrap();
    let part = |name: &str, text: &str| {
        format!("-----BEGIN {name}-----\n{text}\n------END {name}------\n")
    };
    part("NATS USER JWT", &token) + &part("USER NKEY SEED", &seed)
}

/// What one key says of another, signed.
fn jwt(issuer: &KeyPair, subject: &KeyPair, kind: &str, more: Value) -> String {
    let mut nats = json!({ "type": kind, "version": 2 });
    nats.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let claims = json!({
        "jti": subject.public_key(), "iat": 1_700_000_000, "iss": issuer.public_key(),
        "sub": subject.public_key(), "name": kind, "nats": nats,
    });
    let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(&claims));
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}
