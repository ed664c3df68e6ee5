//! Location of the agent's source, for the build of the package that contains the program.
//!
//! The program itself begins in `main.rs`. It uses the standard library only, so that one call of
//! the compiler makes it.

/// The agent's first source file, relative to the folder of a neighbouring crate. Not an absolute path:
/// a build reuses compiled files when the repository has moved.
pub const SOURCE: &str = "../guest/src/main.rs";
