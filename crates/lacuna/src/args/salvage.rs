//! Arguments of `salvage`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Salvage {
    /// Folder of the damaged journal, with its keys; it is not changed
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    /// Folder of the new journal
    #[arg(value_name = "INTO")]
    pub(crate) into: PathBuf,
}
