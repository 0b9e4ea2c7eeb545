//! One file per command.

pub mod agent;
pub mod calibrate;
pub mod compare;
pub mod convert;
pub mod describe;
pub mod doctor;
pub mod export;
pub mod extract;
pub mod fit;
pub mod fit_harpoon;
pub mod fit_swing;
pub mod internetwork;
pub mod lab_check;
pub mod lab_format;
pub mod lab_members;
pub mod lab_status;
pub mod live_guest;
pub mod live_worker;
pub mod model;
pub mod model_pipe;
pub mod model_queue;
pub mod overhead;
pub mod report;
pub mod run;
pub mod schema;
pub mod shell;
