"""Commands behind programs that run another: sudo, env, ip netns exec, docker exec.

Source: the manual pages of these programs; tc(8) (``-netns``, ``-batch``).
"""

from trunkline.importers.common.fault import SourceToken

READ_PROGRAMS = ("tc", "ip", "ifconfig", "iptables", "ipchains", "nft")
"""Programs whose commands say something of queues or marks."""
BATCH_OPTIONS = ("-b", "-batch", "--batch")
_WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("ughpCTRDr", 0),
    "doas": ("uC", 0),
    "env": ("uCS", 0),
    "nice": ("n", 0),
    "ionice": ("cn", 0),
    "timeout": ("ks", 1),
    "exec": ("a", 0),
    "command": ("", 0),
    "time": ("fo", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "busybox": ("", 0),
}
"""Letters of their options that have a value, and their words before the command."""
_NSENTER_VALUED = "tSGWrw"
_CONTAINERS = (("ip", "netns", "exec"), ("docker", "exec"), ("podman", "exec"))


def unwrap_command(words: list[SourceToken]) -> tuple[str, list[SourceToken]]:
    """The command that is run in the end.

    words: Never empty.
    Returns namespace: Network namespace or container that it runs in; empty for the host's.
    Returns words: Words of the command; never empty.
    """
    namespace = ""
    position = 0
    while position < len(words):
        texts = [word.text for word in words[position : position + 3]]
        texts[0] = texts[0].rpartition("/")[2]
        container = next((each for each in _CONTAINERS if tuple(texts[: len(each)]) == each), None)
        if container is not None:
            position = _skip_options(words, position + len(container), "euw")
            namespace = words[position].text if position < len(words) else ""
            position += 1
        elif texts[0] == "nsenter":
            end = _skip_options(words, position + 1, _NSENTER_VALUED)
            options = [word.text for word in words[position + 1 : end]]
            namespace = options[options.index("-t") + 1] if "-t" in options[:-1] else "nsenter"
            position = end
        elif texts[0] in _WRAPPERS:
            valued, plain_words = _WRAPPERS[texts[0]]
            position = _skip_options(words, position + 1, valued) + plain_words
            while texts[0] in ("env", "sudo") and position < len(words):
                if "=" not in words[position].text:
                    break
                position += 1
        else:
            return namespace, words[position:]
    return "", words


def _skip_options(words: list[SourceToken], position: int, valued: str) -> int:
    """Skip the options; those of `valued` take the next word where they have no value."""
    while position < len(words) and words[position].text.startswith("-"):
        text = words[position].text
        if text == "--":
            return position + 1
        position += 2 if len(text) == 2 and text[1] in valued else 1
    return position


def is_batch(words: list[SourceToken]) -> bool:
    """Whether a command is tc that reads commands from its input."""
    if not words:
        return False
    command = unwrap_command(words)[1]
    return command[0].text.rpartition("/")[2] == "tc" and any(
        word.text in BATCH_OPTIONS for word in command
    )
