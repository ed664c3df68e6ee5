"""Scripts of ``tc`` commands."""
