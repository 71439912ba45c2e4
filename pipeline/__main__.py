"""`python -m pipeline` is the same program as `framescribe`."""

from pipeline.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
