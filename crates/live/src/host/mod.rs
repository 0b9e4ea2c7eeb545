//! What the live path asks of the host: namespaces, devices, kernel settings, counters.
//!
//! | file | holds |
//! |---|---|
//! | `testbed` | both sides, as one thing that is made and goes away |
//! | `namespace` | network namespaces held by descriptors; user namespaces |
//! | `tun`, `packet` | the devices by which packets leave a side and come back |
//! | `port` | an interface of this host whose frames are carried on |
//! | `settings` | what the kernel can be told of `[tcp]` |
//! | `counters` | what the kernel counted |
//! | `hosts` | hosts of a side, each with a namespace of its own |
//! | `limits` | how much of a run the host can hold, and how busy it is |
//! | `ipv6` | whether connections can run over IPv6 |
//! | `netlink` | devices, routes, neighbours |
//! | `orphans` | worker processes whose run is gone |
//! | `turns` | who comes first where there are more threads than cores |
//! | `sys` | system calls that no library wraps |

pub mod counters;
pub mod hosts;
pub mod ipv6;
pub mod limits;
pub mod namespace;
pub mod netlink;
pub mod orphans;
pub mod packet;
pub mod port;
pub mod settings;
pub mod sys;
pub mod testbed;
pub mod tun;
pub mod turns;
