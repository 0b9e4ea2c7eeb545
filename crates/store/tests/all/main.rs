//! Readers and writers of stored formats: captures, flow records, vectors of other tools, workloads, run folders.

mod capture_bad_input;
mod capture_corpus;
mod capture_erf_snoop;
mod capture_folders;
mod capture_formats;
mod capture_live;
mod capture_support;
mod capture_writer;
mod corpus;
mod datagrams;
mod flow_bad_input;
mod flow_merge;
mod flow_samples;
mod flow_slices;
mod integrity;
mod lessons;
mod payload;
mod real_captures;
mod run_folder_files;
mod support;
mod tables;
mod text_forms;
mod tmix;
mod workload_files;
mod zeek;
mod zeek_baseline;
