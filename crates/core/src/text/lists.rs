//! The words that the extractor knows. Each list is in lower case and sorted: it is searched by
//! halves. To add a word is to change what summaries are refused for; say why beside the list.

/// The longest word of any list.
const LONGEST: usize = 24;

/// A list of words, with where the words of each first byte begin: most words that are asked for are
/// in no list, and told so by a look at one or two of its words.
struct List {
    words: &'static [&'static str],
    starts: [u16; 129],
    /// By first byte, a bit for each length that a word has; the last stands for all longer ones.
    lengths: [u32; 128],
}

impl List {
    const fn of(words: &'static [&'static str]) -> Self {
        let mut starts = [0; 129];
        let mut lengths = [0; 128];
        let (mut byte, mut at) = (0, 0);
        while byte < 129 {
            while at < words.len() && (words[at].as_bytes()[0] as usize) < byte {
                lengths[words[at].as_bytes()[0] as usize] |= length_bit(words[at].len());
                at += 1;
            }
            starts[byte] = at as u16;
            byte += 1;
        }
        Self { words, starts, lengths }
    }

    fn has(&self, word: &[u8]) -> bool {
        let Some(first) = word.first().map(|byte| usize::from(byte.to_ascii_lowercase())) else {
            return false;
        };
        let Some(&[from, to]) = self.starts.get(first..first + 2).and_then(<[u16]>::first_chunk)
        else {
            return false;
        };
        if self.lengths[first] & length_bit(word.len()) == 0 {
            return false;
        }
        let words = &self.words[usize::from(from)..usize::from(to)];
        words.iter().any(|entry| entry.as_bytes().eq_ignore_ascii_case(word))
    }
}

const fn length_bit(length: usize) -> u32 {
    1 << (if length < 32 { length } else { 31 })
}

/// Names and terms of prose that are spelled like identifiers. A claim may use them although its
/// source spells them otherwise (`Postgres`, `JS`), so they are no anchors. Dashes and dots are left
/// out: `utf8` stands for `UTF-8`, `nodejs` for `Node.js`.
#[rustfmt::skip]
static NAMES: List = List::of(&[
    "2d", "2fa", "3d", "3g", "4g", "4k", "5g", "8k", "a11y", "activemq", "aes128", "aes256",
    "ai21", "airbnb", "airpods", "amd64", "angularjs", "arm64", "armv7", "armv8", "aspnet",
    "autocad", "av1", "b2b", "b2c", "base16", "base32", "base58", "base64", "base85", "bf16",
    "bfloat16", "bibtex", "big5", "bigquery", "bitbucket", "blake2", "blake3", "bunjs", "bzip2",
    "c11", "c17", "c89", "c99", "centos", "chatgpt", "circleci", "clickhouse", "cloudflare",
    "cloudformation", "cloudwatch", "cockroachdb", "couchbase", "couchdb", "covid19", "cp1252",
    "cpp11", "cpp17", "cpp20", "crc32", "css3", "d3js", "datadog", "deepmind", "deepseek",
    "denojs", "devops", "devsecops", "devtools", "directx", "doordash", "dvd", "dynamodb",
    "e2e", "ebay", "ec2", "ed25519", "elasticsearch", "es2015", "es2020", "es256", "es5", "es6",
    "etcd", "expressjs", "facebook", "fastapi", "fedex", "finops", "float16", "float32",
    "float64", "fp16", "fp32", "fp8", "freebsd", "g11n", "gb18030", "gb2312", "github",
    "gitlab", "gitops", "gpt3", "gpt4", "gpt4o", "gpt5", "graphql", "gzip", "h264", "h265",
    "hdmi", "hifi", "hs256", "html5", "http1", "http2", "http3", "hubspot", "huggingface",
    "i18n", "i386", "i686", "iaas", "id3", "ids", "ieee754", "ietf", "imac", "influxdb",
    "int16", "int32", "int4", "int64", "int8", "intellij", "ioc", "ios", "ipad", "iphone",
    "ipv4", "ipv6", "iso27001", "iso8601", "iso8859", "javascript", "jetbrains", "jquery",
    "k3s", "k8s", "katex", "l10n", "langchain", "langgraph", "latex", "latin1", "libreoffice",
    "lifi", "linkedin", "llamaindex", "log4j", "lz4", "m4a", "macbook", "macos", "mariadb",
    "mathjax", "mcdonald", "mcp0", "md5", "mlops", "mongodb", "mp3", "mp4", "mysql", "neovim",
    "net", "netbsd", "newrelic", "nextjs", "nodejs", "nosql", "numpy", "nuxtjs", "o1", "o11y",
    "o3", "o4", "oauth", "oauth2", "openai", "openapi", "openbsd", "opengl", "openid",
    "openoffice", "opensearch", "openssh", "openssl", "opensuse", "opentelemetry", "oss", "osx",
    "p256", "p2p", "paas", "pagerduty", "paypal", "pep257", "pep484", "pep8", "phd", "pip3",
    "postgresql", "powerpoint", "powershell", "pycharm", "python2", "python3", "pytorch", "r2",
    "rabbitmq", "reactjs", "readme", "redhat", "redis", "rfc2119", "rfc3339", "rfc5424",
    "rfc822", "rot13", "rs256", "rsa2048", "s3", "saas", "salesforce", "saml", "scifi",
    "scikit", "scipy", "servicenow", "sha1", "sha2", "sha224", "sha256", "sha3", "sha384",
    "sha512", "socketio", "spacex", "sqlalchemy", "sqlite", "sqlserver", "ssl3",
    "stackoverflow", "teamcity", "tensorflow", "threejs", "tiktok", "tls1", "tls12", "tls13",
    "todos", "typescript", "ubuntu", "uint16", "uint32", "uint64", "uint8", "utf16", "utf32",
    "utf8", "uuid4", "uuid7", "uuidv4", "uuidv7", "vim", "vp8", "vp9", "vscode", "vuejs", "w3c",
    "wasm32", "web2", "web3", "webassembly", "webgl", "webgpu", "webrtc", "websocket",
    "websockets", "webstorm", "whatsapp", "wifi", "win32", "win64", "wordpress", "x25519",
    "x64", "x86", "x8664", "y2k", "youtrack", "youtube", "zeromq", "zstd",
]);

/// The names of errors of POSIX and Windows sockets that programs print.
#[rustfmt::skip]
static ERRNO: List = List::of(&[
    "e2big", "eacces", "eaddrinuse", "eaddrnotavail", "eafnosupport", "eagain", "eai_again",
    "ealready", "ebadengine", "ebadf", "ebadmsg", "ebusy", "ecanceled", "echild",
    "econnaborted", "econnrefused", "econnreset", "edeadlk", "edestaddrreq", "edom", "edquot",
    "eexist", "efault", "efbig", "ehostdown", "ehostunreach", "eidrm", "eilseq", "einprogress",
    "eintegrity", "eintr", "einval", "eio", "eisconn", "eisdir", "elifecycle", "eloop",
    "emfile", "emlink", "emsgsize", "emultihop", "enametoolong", "enetdown", "enetreset",
    "enetunreach", "enfile", "enobufs", "enodata", "enodev", "enoent", "enoexec", "enolck",
    "enolink", "enomem", "enomsg", "enoprotoopt", "enospc", "enosys", "enotblk", "enotconn",
    "enotdir", "enotempty", "enotfound", "enotrecoverable", "enotsock", "enotsup", "enotty",
    "enxio", "eopnotsupp", "eoverflow", "eownerdead", "eperm", "epipe", "eproto",
    "eprotonosupport", "eprototype", "erange", "eresolve", "erofs", "eshutdown", "espipe",
    "esrch", "estale", "etime", "etimedout", "etoomanyrefs", "etxtbsy", "euclean",
    "ewouldblock", "exdev", "sigabrt", "sigalrm", "sigbus", "sigchld", "sigcont", "sigfpe",
    "sighup", "sigill", "sigint", "sigkill", "sigpipe", "sigquit", "sigsegv", "sigstop",
    "sigterm", "sigtrap", "sigtstp", "sigusr1", "sigusr2", "sigxcpu", "sigxfsz",
]);

/// Extensions of files. Left out: those that are words or domains before all (`com`, `io`, `net`,
/// `org`, `app`, `dev`) and those that close a sentence's last word in sloppy prose.
#[rustfmt::skip]
static EXTENSIONS: List = List::of(&[
    "7z", "a", "asm", "astro", "avi", "avif", "awk", "bak", "bash", "bat", "bib", "bin", "bmp",
    "bz2", "bzl", "c", "cc", "cer", "cfg", "cjs", "class", "cmake", "cmd", "conf", "cpp", "crt",
    "cs", "csproj", "csr", "css", "csv", "cxx", "dart", "db", "deb", "dll", "doc", "dockerfile",
    "docx", "dylib", "ebnf", "ejs", "el", "elf", "eml", "env", "erb", "erl", "ex", "exe", "exs",
    "fish", "flac", "fs", "fsx", "gemspec", "gguf", "gif", "git", "go", "gql", "gradle",
    "graphql", "gz", "h", "h5", "har", "hbs", "hcl", "heex", "hpp", "hs", "htm", "html", "hxx",
    "icns", "ico", "ini", "ino", "ipynb", "j2", "jar", "java", "jinja", "jks", "jpeg", "jpg",
    "js", "json", "json5", "jsonc", "jsonl", "jsx", "key", "keystore", "kt", "kts", "less",
    "lib", "lock", "log", "lua", "m4", "map", "md", "mdx", "mjs", "mk", "ml", "mli", "mm",
    "mod", "mov", "mp3", "mp4", "msi", "nim", "nix", "npy", "npz", "o", "obj", "odt", "ogg",
    "onnx", "orig", "out", "parquet", "patch", "pcap", "pdb", "pdf", "pem", "pfx", "php", "pid",
    "pkl", "pl", "plist", "pm", "png", "po", "ppt", "pptx", "prisma", "properties", "proto",
    "ps1", "psd", "pt", "pth", "pub", "pug", "pxd", "py", "pyc", "pyd", "pyi", "pyx", "qml",
    "r", "rake", "rar", "rb", "rbs", "rdb", "redb", "rej", "rkt", "rlib", "rpm", "rs", "rst",
    "rtf", "ru", "rules", "safetensors", "sass", "sbt", "scala", "scm", "scss", "service", "sh",
    "sln", "so", "socket", "sol", "sql", "sqlite", "sqlite3", "srt", "sum", "svelte", "svg",
    "swift", "swp", "tar", "tcl", "template", "tex", "tf", "tfvars", "tgz", "thrift", "tiff",
    "tmp", "tmpl", "toml", "tpl", "traj", "ts", "tsv", "tsx", "ttf", "txt", "vb", "vbs", "vim",
    "vsix", "vue", "war", "wasm", "wat", "wav", "webm", "webmanifest", "webp", "whl", "woff",
    "woff2", "wsdl", "xcodeproj", "xhtml", "xls", "xlsx", "xml", "xsd", "xsl", "xz", "yaml",
    "yml", "zig", "zip", "zsh", "zst",
]);

/// Top-level domains. Left out: country codes that are extensions or words (`rs`, `sh`, `py`, `pl`,
/// `md`, `so`, `in`, `is`, `it`, `me`, `to`, `no`, `as`, `at`, `be`, `by`, `my`, `id`).
#[rustfmt::skip]
static TOP_LEVEL: List = List::of(&[
    "ae", "ai", "app", "arpa", "au", "biz", "br", "ca", "ch", "cloud", "cluster", "cn", "co",
    "com", "corp", "cz", "de", "dev", "dk", "edu", "es", "eu", "example", "fi", "fm", "fr",
    "gg", "gov", "gr", "hk", "home", "hu", "ie", "il", "internal", "intranet", "invalid", "io",
    "jp", "kr", "lan", "local", "localdomain", "localhost", "ly", "mil", "mx", "net", "nl",
    "nz", "onion", "online", "org", "pt", "ro", "ru", "se", "sg", "site", "svc", "tech", "tr",
    "tv", "tw", "ua", "uk", "us", "xyz", "za",
]);

/// First components by which a path of plain words is known: folders that projects and systems share.
#[rustfmt::skip]
static FOLDERS: List = List::of(&[
    ".cache", ".cargo", ".circleci", ".config", ".git", ".github", ".local", ".ssh", ".venv",
    ".vscode", "ansible", "api", "app", "apps", "assets", "backend", "bench", "benches", "bin",
    "build", "charts", "ci", "cmd", "components", "conf", "config", "configs", "crates", "data",
    "deploy", "dev", "dist", "doc", "docker", "docs", "e2e", "etc", "example", "examples",
    "fixtures", "frontend", "helm", "home", "hooks", "include", "infra", "integration",
    "internal", "k8s", "lib", "libs", "media", "migrations", "mnt", "models", "modules",
    "node_modules", "ops", "opt", "origin", "out", "packages", "pages", "pkg", "proc", "public",
    "refs", "resources", "root", "schemas", "script", "scripts", "server", "spec", "specs",
    "src", "static", "sys", "target", "templates", "terraform", "test", "testdata", "tests",
    "third_party", "tmp", "tools", "upstream", "usr", "utils", "var", "vendor", "venv", "web",
    "www",
]);

/// Words that are joined with a number in prose: `top-10`, `mid-2026`, `step-1`. With any other word
/// before it a number is part of a name.
#[rustfmt::skip]
static COUNTED: List = List::of(&[
    "about", "above", "almost", "around", "at", "below", "beyond", "circa", "covid", "day",
    "days", "double", "early", "epoch", "ex", "fewer", "first", "fortune", "from", "grade",
    "half", "hour", "item", "last", "late", "least", "less", "level", "many", "max", "maximum",
    "mid", "min", "minimum", "minus", "month", "more", "most", "multi", "near", "nearly",
    "next", "non", "number", "only", "option", "over", "page", "part", "phase", "plus", "point",
    "post", "pre", "priority", "q", "quarter", "question", "round", "section", "semi", "sev",
    "severity", "single", "some", "sprint", "stage", "step", "sub", "table", "task", "tier",
    "to", "top", "triple", "type", "under", "up", "version", "vs", "wave", "week", "win", "x",
    "year", "zero",
]);

/// Words that stand before a colon and a number without being a host.
#[rustfmt::skip]
static LABELS: List = List::of(&[
    "age", "at", "bytes", "char", "chars", "code", "col", "column", "count", "depth",
    "duration", "elapsed", "eof", "epoch", "error", "errors", "exit", "fd", "from", "height",
    "id", "index", "int", "is", "iteration", "len", "length", "limit", "line", "lines", "max",
    "min", "ms", "msg", "no", "num", "number", "offset", "page", "pid", "port", "pos",
    "position", "ppid", "rank", "row", "rows", "seed", "seq", "since", "size", "status", "step",
    "time", "timeout", "to", "token", "tokens", "total", "uid", "user", "ver", "version",
    "width", "year",
]);

/// Units and endings that may be attached to a number.
#[rustfmt::skip]
static UNITS: List = List::of(&[
    "am", "b", "bit", "bits", "bn", "bp", "bps", "byte", "bytes", "c", "cm", "d", "day", "days",
    "deg", "dpi", "e", "em", "eur", "f", "fps", "fr", "ft", "g", "gb", "gbp", "gbps", "ghz",
    "gib", "h", "hr", "hrs", "hz", "k", "kb", "kbps", "kg", "khz", "kib", "km", "kv", "kw", "l",
    "lb", "lbs", "m", "ma", "mb", "mbps", "mg", "mhz", "mi", "mib", "min", "mins", "ml", "mm",
    "mo", "ms", "mw", "nd", "ns", "oz", "p", "pb", "pm", "pp", "ppm", "pt", "px", "qps", "rd",
    "rem", "rps", "s", "sec", "secs", "st", "t", "tb", "th", "tib", "tok", "tokens", "tps",
    "us", "usd", "v", "vh", "vw", "w", "wk", "wks", "x", "y", "yr", "yrs", "µs", "μs",
]);

/// Words that every sentence has.
#[rustfmt::skip]
static STOP: List = List::of(&[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at",
    "be", "because", "been", "before", "being", "but", "by", "can", "could", "did", "didn",
    "do", "does", "doesn", "doing", "don", "done", "for", "from", "had", "has", "have",
    "having", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "isn",
    "it", "its", "just", "let", "ll", "me", "more", "most", "my", "no", "nor", "not", "now",
    "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "re", "same",
    "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up",
    "us", "ve", "very", "was", "wasn", "we", "were", "what", "when", "where", "which", "while",
    "who", "whom", "why", "will", "with", "won", "would", "you", "your",
]);

/// Abbreviations after which a sentence goes on in any case, and after which it goes on unless a
/// capital follows.
static ALWAYS: List = List::of(&[
    "approx", "ca", "cf", "dr", "e.g", "eg", "fig", "i.e", "ie", "mr", "mrs", "ms", "prof", "resp",
    "st", "viz", "vs",
]);
static UNLESS: List = List::of(&[
    "a.k.a", "a.m", "al", "co", "corp", "dept", "est", "etc", "inc", "jr", "ltd", "p.m", "ph.d",
    "sr", "u.k", "u.s",
]);

/// Abbreviations that go on before a number; before anything else they may be words that end a
/// sentence (`no.`).
static NUMBERING: List = List::of(&[
    "art", "ch", "eq", "ext", "fig", "figs", "max", "no", "nos", "nr", "p", "pp", "rev", "sec",
    "sect", "ver", "vol", "vols",
]);

const NUMBER_WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

/// The number that a word says: zero to twenty.
pub(super) fn number_word(word: &str) -> Option<u8> {
    if !(3..=9).contains(&word.len()) {
        return None;
    }
    let at = NUMBER_WORDS.iter().position(|entry| entry.eq_ignore_ascii_case(word))?;
    u8::try_from(at).ok()
}

/// Whether a word is a name or a term of prose, dashes and dots left out.
pub(super) fn is_name(word: &[u8]) -> bool {
    if !word.iter().any(|b| matches!(b, b'-' | b'.' | b'_')) {
        return NAMES.has(word);
    }
    let mut joined = [0; LONGEST];
    let mut length = 0;
    for byte in word.iter().filter(|b| !matches!(b, b'-' | b'.' | b'_')) {
        let Some(place) = joined.get_mut(length) else { return false };
        *place = *byte;
        length += 1;
    }
    NAMES.has(&joined[..length])
}

/// Whether a word is the name of an error of the operating system.
pub(super) fn is_errno(word: &[u8]) -> bool {
    ERRNO.has(word)
}

/// Whether a word is the extension of a file.
pub(super) fn is_extension(word: &[u8]) -> bool {
    EXTENSIONS.has(word)
}

/// Whether a word is a top-level domain.
pub(super) fn is_top_level(word: &[u8]) -> bool {
    TOP_LEVEL.has(word)
}

/// Whether a path of plain words may begin with this one.
pub(super) fn is_folder(word: &[u8]) -> bool {
    FOLDERS.has(word)
}

/// Whether prose joins this word with numbers.
pub(super) fn is_counted(word: &[u8]) -> bool {
    COUNTED.has(word)
}

/// Whether programs print this word before a colon and a number.
pub(super) fn is_label(word: &[u8]) -> bool {
    LABELS.has(word)
}

/// Whether a word is a unit or an ending of numbers.
pub(super) fn is_unit(word: &[u8]) -> bool {
    UNITS.has(word)
}

/// Whether every sentence has this word.
pub(super) fn is_stop_word(word: &[u8]) -> bool {
    STOP.has(word)
}

/// Whether a word is an abbreviation, and if so, whether a sentence goes on after its full stop even
/// before a capital.
pub(super) fn is_abbreviation(word: &[u8]) -> Option<bool> {
    if ALWAYS.has(word) { Some(true) } else { UNLESS.has(word).then_some(false) }
}

/// Whether a word is an abbreviation that stands before a number.
pub(super) fn is_numbering(word: &[u8]) -> bool {
    NUMBERING.has(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_short_enough() {
        let lists = [
            &NAMES,
            &ERRNO,
            &EXTENSIONS,
            &TOP_LEVEL,
            &FOLDERS,
            &COUNTED,
            &LABELS,
            &UNITS,
            &STOP,
            &ALWAYS,
            &UNLESS,
            &NUMBERING,
        ];
        for List { words, .. } in lists {
            assert!(words.is_sorted_by(|a, b| a < b), "{words:?}");
            assert!(words.iter().all(|word| word.len() <= LONGEST && *word == word.to_lowercase()));
        }
    }
}
