"""``python -m trunkline``: the command line."""

if __name__ == "__main__":
    # Workers of a cluster import the module that was started, and need nothing of it.
    from trunkline.cli import main

    main()
