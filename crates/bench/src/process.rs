//! What processes have used: processor time and memory, of a process and everything it has started.

use std::path::Path;

use crate::Failure;

/// Ticks of the kernel's process clock in a second, on every Linux that this runs on.
const TICKS: f64 = 100.0;

/// Processes to look at: each with all that descend from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes(Vec<u32>);

impl Processes {
    /// These.
    pub(crate) fn of(roots: impl IntoIterator<Item = u32>) -> Self {
        Self(roots.into_iter().collect())
    }

    /// Seconds of processor time that they have used so far, those that have ended included.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Failure> {
        let mut ticks = 0;
        for pid in self.all()? {
            // One that has just ended is counted by its parent.
            let Some(stat) = stat(pid) else { continue };
            ticks += (11..15).filter_map(|field| stat.get(field)?.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(ticks as f64 / TICKS)
    }

    /// Their peak memory, in MiB; where one has children, which share pages with it, their memory now
    /// with shared pages counted once.
    pub(crate) fn peak_mib(&self) -> Result<f64, Failure> {
        let all = self.all()?;
        let (file, name) =
            if all.len() == self.0.len() { ("status", "VmHWM:") } else { ("smaps_rollup", "Pss:") };
        let kib = all.iter().filter_map(|pid| kib(&format!("/proc/{pid}/{file}"), name));
        Ok(kib.sum::<u64>() as f64 / 1024.0)
    }

    /// The memory that they hold now, in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        let kib = self.0.iter().filter_map(|pid| kib(&format!("/proc/{pid}/status"), "VmRSS:"));
        kib.sum::<u64>() as f64 / 1024.0
    }

    /// The roots and their descendants.
    fn all(&self) -> Result<Vec<u32>, Failure> {
        let mut parents = Vec::new();
        for entry in std::fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(parent) = stat(pid).and_then(|stat| stat.get(1)?.parse::<u32>().ok()) {
                parents.push((pid, parent));
            }
        }
        let mut found = self.0.clone();
        let mut at = 0;
        while let Some(&parent) = found.get(at) {
            found.extend(parents.iter().filter(|row| row.1 == parent).map(|row| row.0));
            at += 1;
        }
        Ok(found)
    }
}

/// The fields behind the name in `/proc/<pid>/stat`: the state first, then the parent.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

fn kib(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes that a folder's files take on disk.
pub(crate) fn disk_bytes(folder: &Path) -> Result<u64, Failure> {
    use std::os::unix::fs::MetadataExt as _;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes += if meta.is_dir() { disk_bytes(&entry.path())? } else { meta.blocks() * 512 };
    }
    Ok(bytes)
}
