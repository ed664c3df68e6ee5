"""The engine as WebAssembly, which the package carries for pages."""

import base64
import functools
from pathlib import Path

MODULE_FILE = Path(__file__).parent / "vendor" / "engine.wasm.gz"


class EngineModuleMissing(RuntimeError):
    """The package was built without the engine for pages; the text says how to get it."""


@functools.cache
def load_engine_module() -> str:
    """Base64 of the module's gzip. Raises EngineModuleMissing: The package was built without it."""
    try:
        return base64.b64encode(MODULE_FILE.read_bytes()).decode()
    except OSError:
        raise EngineModuleMissing(
            "this build of Trunkline has no engine for pages; in a checkout, ./dev setup test "
            "compiles it (Rust's target wasm32-unknown-unknown is needed)"
        ) from None
