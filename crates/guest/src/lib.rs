//! Where the source of the agent lies, for the build of what carries its program along.
//!
//! The program itself begins in `main.rs`. It uses the standard library only, so that one call of
//! the compiler makes it.

/// The agent's first source file.
pub const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/main.rs");
