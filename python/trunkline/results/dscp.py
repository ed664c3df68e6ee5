"""Names of the DiffServ code points (RFC 2474, 2597, 3246, 5865, 8622)."""

_CODE_POINT_NAMES = {0: "DF", 1: "LE", 44: "VOICE-ADMIT", 46: "EF"}
_CODE_POINT_NAMES.update({8 * k: f"CS{k}" for k in range(1, 8)})
_CODE_POINT_NAMES.update({8 * i + 2 * j: f"AF{i}{j}" for i in range(1, 5) for j in range(1, 4)})


def name_code_point(dscp: int) -> str:
    """Name of a code point, its number in decimal where it has none. dscp: Code point, 0 to 63."""
    return _CODE_POINT_NAMES.get(dscp, str(dscp))
