//! A small file system of its own for a journal, where this process may mount one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory. It goes when this is dropped, also from under whoever uses it.
#[derive(Debug)]
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// One of this size on a new folder; nothing, and a word about it, where that is not permitted.
    pub(crate) fn small(at: &Path, mib: u64) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let size = format!("size={mib}m");
        match mount(at, &["-t", "tmpfs", "-o", &size, "tmpfs"]) {
            Ok(()) => Some(Self(at.to_owned())),
            Err(why) => {
                eprintln!("NOT TESTED: a small file system; none can be mounted: {}", why.trim());
                None
            }
        }
    }

    /// Makes it larger.
    pub(crate) fn grow(&self, mib: u64) {
        mount(&self.0, &["-o", &format!("remount,size={mib}m")]).unwrap();
    }

    /// Lets nobody write, or lets them again. Nobody may have a file open for writing then.
    pub(crate) fn read_only(&self, whether: bool) {
        mount(&self.0, &["-o", if whether { "remount,ro" } else { "remount,rw" }]).unwrap();
    }
}

fn mount(at: &Path, arguments: &[&str]) -> Result<(), String> {
    let ran = Command::new("mount").args(arguments).arg(at).output();
    let ran = ran.map_err(|error| error.to_string())?;
    let said = || String::from_utf8_lossy(&ran.stderr).into_owned();
    if ran.status.success() { Ok(()) } else { Err(said()) }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: after a panic the daemon may still be at work in it.
        let gone = Command::new("umount").arg("--lazy").arg(&self.0).status();
        if !gone.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.0.display());
        }
    }
}
