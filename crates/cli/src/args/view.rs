//! `flowloom view`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// `flowloom view`
#[derive(Debug, Args)]
pub struct View {
    /// Folders to show, with all monitors, runs and sweeps in them
    #[arg(value_name = "DIR", default_value = ".")]
    pub folders: Vec<PathBuf>,
    /// Address to listen at; port 0 is a free one. Other than loopback addresses need a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Name under which browsers may ask, with the port of a proxy if there is one; give it again for further names
    #[arg(long = "host", value_name = "NAME[:PORT]")]
    pub hosts: Vec<String>,
    /// File with the token that requests must have [default: a new one, printed in the link; none on loopback]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
}
