//! The testbed, the emulator and workers, with the kernel's TCP in network namespaces of their own.

mod built;
mod datagrams;
mod emulator;
mod settings;
mod support;
mod testbed;
mod worker;
mod worker_path;
mod worker_process;
