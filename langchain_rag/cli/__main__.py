"""`python -m langchain_rag.cli`."""

from __future__ import annotations

import sys

from langchain_rag.cli import main

if __name__ == "__main__":
    sys.exit(main())
