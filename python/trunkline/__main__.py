"""``python -m trunkline``: the command line."""

if __name__ == "__main__":
    # Workers of a cluster import this module too, and need no command line.
    from trunkline.cli import main

    main()
