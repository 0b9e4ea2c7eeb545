//! Questions by SNMP and their answers.
//!
//! | file | holds |
//! |---|---|
//! | `oid` | object identifiers |
//! | `value` | values of answers |
//! | `session` | a target: addresses, versions, timeouts, repetitions |
//! | `walk` | columns of tables, row by row |

pub mod oid;
pub mod session;
pub mod value;
pub mod walk;
