//! What the figures were measured on.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::Failure;

/// How often the disk is asked for its word.
const SYNCS: usize = 201;

/// The machine, and how fast its disk promises.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) fdatasync_p50_ms: f64,
    pub(crate) fdatasync_p99_ms: f64,
}

impl Machine {
    /// Looks at it, and times `fdatasync` of 4 KiB appended to a file in this folder.
    pub(crate) fn measure(folder: &Path) -> Result<Self, Failure> {
        let mut file: File = tempfile::tempfile_in(folder)?;
        let mut times = Vec::with_capacity(SYNCS);
        for _ in 0..SYNCS {
            file.write_all(&[7; 4_096])?;
            let since = Instant::now();
            rustix::fs::fdatasync(&file)?;
            times.push(since.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(Self {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: std::thread::available_parallelism()?.get(),
            memory_gib: field("/proc/meminfo", "MemTotal")
                .and_then(|kib| kib.trim_end_matches(" kB").parse::<u64>().ok())
                .map_or(0, |kib| kib.div_ceil(1 << 20)),
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            fdatasync_p50_ms: times[SYNCS / 2],
            fdatasync_p99_ms: times[SYNCS * 99 / 100],
        })
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}, {} cores, {} GiB, Linux {}; fdatasync of 4 KiB: {:.2} ms in the median, {:.2} ms at p99",
            self.processor,
            self.cores,
            self.memory_gib,
            self.kernel,
            self.fdatasync_p50_ms,
            self.fdatasync_p99_ms
        )
    }
}

/// The first value of a field in one of the kernel's listings.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
