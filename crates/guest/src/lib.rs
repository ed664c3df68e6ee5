//! Where the source of the agent lies, for the build of what carries its program along.
//!
//! The program itself begins in `main.rs`. It uses the standard library only, so that one call of
//! the compiler makes it.

/// The agent's first source file, from the folder of a crate beside this one. Not the whole path: a
/// build goes on with what it has compiled when the repository has moved.
pub const SOURCE: &str = "../guest/src/main.rs";
