"""`rag.index()`: load, import what is new or changed, delete what is no longer there.

Internal: nothing here is part of the public interface.
"""
